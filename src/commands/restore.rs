//! `restore`, and what it shares with `undo`, `redo` and `rewind`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::answer::table::state_words;
use crate::answer::{ContractDocument, ContractForm, Tense, contract, plan, words};
use crate::base::Interrupt;
use crate::base::cut_list::and_more;
use crate::base::json::embedded;
use crate::base::time::ago;
use crate::commands::args::{
    self, ContractArgs, GlobArgs, PlanArgs, bytes_of, call, typed_words, write_plan,
};
use crate::commands::diff::DiffArgs;
use crate::commands::prelude::*;
use crate::model::json::patterns;
use crate::model::{CommandEnd, ObjectId, RelPath, RestorePlan, Verb};
use crate::ops::browse::list;
use crate::ops::contract::create_facts;
use crate::ops::restore::commands as restore_op;
use crate::ops::restore::restore_patch::restore_patch;
use crate::ops::{
    CommonOptions, DatabaseFate, DatabaseReport, ListOptions, RestoreOptions, RestoreOutcome,
    TakenStep, TypedWords,
};
use crate::shell::terminal::picker::{self, Picker};
use crate::shell::terminal::progress;
use crate::shell::{PickedItem, PickerChoice};

const NO_LIST: &str = "nothing was changed; @FILE reads paths from a file, which is relative to \
    the current directory, not to -C; a path that begins with @ is typed with ./ before it, \
    and 'checkpoint list' shows the checkpoints";

/// Maximum number of paths of one kind in a question, and of those that changed since a step.
const LISTED_PATHS: usize = 10;

/// Restore the directory to a checkpoint
///
/// Saves the present state in a safety checkpoint first; `checkpoint undo` brings it back. Files that
/// were left out of the checkpoint (ignored, secrets) stay as they are. A PATH that the checkpoint does
/// not hold is deleted. PATHs without SEL are restored from @, where the directory stands; without any
/// word, a terminal shows a list to choose from.
/// @FILE stands for the paths in a file (@- for those of stdin): one a line, or each ended by NUL.
#[derive(Clone, Debug, clap::Args)]
pub struct RestoreArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub only: Vec<OsString>,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Write the files of the checkpoint, but delete nothing
    #[arg(long)]
    pub overlay: bool,
    /// Also restore set-uid, set-gid and sticky bits
    #[arg(long)]
    pub restore_suid: bool,
    /// New or empty directory to write to, instead of changing this one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["overlay", "verify", "contract", "digest"])]
    pub to: Option<PathBuf>,
    /// Shell command to run in the root afterwards; if it fails, exit with 5
    #[arg(long, value_name = "CMD", conflicts_with_all = ["dry_run", "contract"], value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub check: Option<String>,
    /// Apply this patch to the directory, as diff prints it, of lines within files only; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "only", "globs", "exclude", "overlay", "restore_suid", "to", "resume", "contract"])]
    pub patch: Option<PathBuf>,
    /// Finish an interrupted restore
    #[arg(long, conflicts_with_all = ["words", "only", "globs", "exclude", "overlay", "restore_suid", "to", "check"])]
    pub resume: bool,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Clone, Debug, clap::Args)]
pub struct CommonArgs {
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Read every written file back afterwards, and compare its content
    #[arg(long, conflicts_with = "dry_run")]
    pub verify: bool,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub contract: ContractArgs,
}

impl CommonArgs {
    /// Properties of all commands that restore.
    pub fn properties(&self) -> Properties {
        Properties {
            may_take_long: true,
            has_dry_run: true,
            contract: self.contract.wanted(),
            ..Properties::USUAL
        }
    }

    /// Returns what was typed; `again` is the command without consent, if it needs any.
    ///
    /// # Errors
    /// An agent needs a plan that it was shown.
    pub fn resolve(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        again: Option<&CommandWords>,
    ) -> Result<CommonOptions> {
        let plan = again.map(|again| self.plan.resolve(context, self.dry_run, again));
        Ok(CommonOptions {
            yes: cmd.global.yes,
            dry_run: self.dry_run,
            reads_back: self.verify,
            plan: plan.transpose()?.flatten(),
            ..CommonOptions::default()
        })
    }
}

impl RestoreArgs {
    /// Returns the words as typed, with the paths of lists.
    ///
    /// # Errors
    /// A list cannot be read.
    fn typed(&self, cmd: &CommandContext<'_>) -> Result<TypedWords> {
        let is_list = |word: &OsString| args::is_list(word.as_encoded_bytes());
        let (lists, words): (Vec<_>, Vec<_>) = self.words.iter().cloned().partition(is_list);
        let listed = args::expand(&lists).map_err(|error| error.advise(NO_LIST))?;
        let mut options = lists;
        for glob in &self.globs.globs {
            options.extend(["--glob".into(), glob.clone()]);
        }
        for glob in &self.globs.exclude {
            options.extend(["--exclude".into(), glob.clone()]);
        }
        if let Some(to) = &self.to {
            options.extend(["--to".into(), to.into()]);
        }
        options.extend(self.overlay.then(|| "--overlay".into()));
        options.extend(self.restore_suid.then(|| "--restore-suid".into()));
        let mut act_options: Vec<OsString> = Vec::new();
        if let Some(line) = &self.check {
            act_options.extend(["--check".into(), line.into()]);
        }
        act_options.extend(self.common.verify.then(|| "--verify".into()));
        act_options.extend(self.common.contract.contract.then(|| "--contract".into()));
        Ok(TypedWords {
            act_options: bytes_of(act_options),
            listed,
            has_dashes: cmd.words.iter().any(|word| word == "--"),
            options: bytes_of(options),
            ..typed_words(words, self.only.clone())
        })
    }

    /// Applies the patch in a file, or of standard input for `-`.
    fn apply_patch(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
        file: &Path,
    ) -> Result<Done<RestoreAnswer>> {
        let bytes = match &context.input {
            Some(input) if file == "-" => input.clone(),
            _ => args::content(file)?,
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = if name == "-" { "of stdin" } else { &*name };
        let typed = file.as_os_str().as_encoded_bytes();
        let again = CommandWords::new(["restore", "--patch"]).with([typed]);
        let common = self.common.resolve(context, cmd, Some(&again))?;
        let mut consent = |planned: &_| consent(context, cmd, planned, None, None);
        let outcome = restore_patch(context, (&bytes, name), &common, &mut consent)?;
        answer(context, cmd, self.common.contract, again, outcome)
    }
}

impl Command for RestoreArgs {
    type Answer = RestoreAnswer;

    fn properties(&self) -> Properties {
        self.common.properties()
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<RestoreAnswer>> {
        let check = self.check.clone();
        let done = match &self.patch {
            Some(file) => self.apply_patch(context, cmd, file)?,
            None => self.restore(context, cmd)?,
        };
        match check {
            Some(command_line) => checked(context, cmd, done, command_line),
            None => Ok(done),
        }
    }
}

impl RestoreArgs {
    fn restore(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<RestoreAnswer>> {
        let mut options = RestoreOptions {
            words: self.typed(cmd)?,
            to: self.to.as_deref().map(environment::absolute).transpose()?,
            globs: self.globs.resolve(),
            overlay: self.overlay,
            special_bits: self.restore_suid,
            common: CommonOptions::default(),
        };
        let (mut chosen, words) = (None, &options.words);
        let named = [&words.words, &words.listed, &words.paths];
        let is_bare = options.globs.only.is_empty() && named.iter().all(|words| words.is_empty());
        if is_bare && !self.resume {
            let (id, choice) = choose(context, cmd, &options)?;
            (options.words.words, chosen) = (vec![id.into()], Some(choice));
        }
        let resume = self.resume.then(|| b"--resume".to_vec());
        options.words.options.extend(resume);
        let again = options.words.again();
        // To finish what was begun needs no plan, but keeps to one that is named.
        let may_do = !self.resume || self.common.plan.digest.is_some();
        let needs_consent = may_do && options.to.is_none();
        options.common = self
            .common
            .resolve(context, cmd, needs_consent.then_some(&again))?;
        let dry_run = self.common.dry_run.then(|| b"--dry-run".to_vec());
        options.words.options.extend(dry_run);
        let mut consent = |planned: &_| consent(context, cmd, planned, None, chosen.as_ref());
        let outcome = if self.resume {
            restore_op::resume(context, &options.common)?
        } else {
            restore_op::restore(context, &options, &mut consent)?
        };
        answer(context, cmd, self.common.contract, again, outcome)
    }
}

/// Lets the user choose the checkpoint to restore.
fn choose(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &RestoreOptions,
) -> Result<(String, PickedItem)> {
    if !may_choose(cmd) {
        return Err(Error::usage(
            "no checkpoint is named: 'checkpoint list' shows them",
        ));
    }
    let listed = ListOptions {
        tells: true,
        ..ListOptions::default()
    };
    let (outcome, _) = list::list(context, &listed)?;
    if !outcome.exists {
        return Err(context.no_store());
    }
    let choices = PickerChoice::all(&outcome, context.now_ms);
    let chosen = pick(context, cmd, "Restore which checkpoint?", &choices, options)?;
    Ok((choices[chosen.at].id.to_hex(), chosen))
}

/// Whether the user can choose from a list.
pub(super) fn may_choose(cmd: &CommandContext<'_>) -> bool {
    cmd.prompt.may_ask && progress::can_draw()
}

/// Lets the user choose from a list; unless another directory is written, with what a restore with
/// these options would change.
pub(super) fn pick(
    context: &Context,
    cmd: &CommandContext<'_>,
    question: &str,
    choices: &[PickerChoice],
    options: &RestoreOptions,
) -> Result<PickedItem> {
    let plan = |id: ObjectId, stop: &Interrupt| {
        let options = RestoreOptions {
            words: TypedWords::of_checkpoint(id.to_hex()),
            common: CommonOptions {
                dry_run: true,
                ..CommonOptions::default()
            },
            ..options.clone()
        };
        restore_op::preview(&context.stopped_by(stop), &options)
    };
    let show = |id: ObjectId| {
        let mut args = DiffArgs::default();
        args.words.push(id.to_hex().into());
        if let Err(why) = RunCommand::run(args, context, cmd) {
            cmd.printer.error(&why);
        }
    };
    Picker {
        question,
        choices,
        paint: cmd.printer.err_paint(),
        context,
        plan: options.to.is_none().then_some(&plan),
        show: cmd.printer.can_page().then_some(&show),
    }
    .choose(&context.interrupt)
}

/// Asks for consent. A choice is the consent to the plan that was seen with it; `named` is what the
/// user named, if not the target itself.
pub(super) fn consent(
    context: &Context,
    cmd: &CommandContext<'_>,
    planned: &RestoreOutcome,
    named: Option<&str>,
    chosen: Option<&PickedItem>,
) -> Result<()> {
    let seen = chosen.and_then(|chosen| chosen.seen.as_ref());
    let is_seen = planned.plan.is_empty() || seen == Some(&planned.plan);
    if planned.databases.is_empty() && is_seen {
        return Ok(());
    }
    if chosen.is_some() {
        picker::forget_typed();
    }
    let mut counts = plan::counts(&planned.plan, &planned.databases, Tense::Planned);
    if planned.verb == Verb::Undo && named.is_some() {
        counts.push_str(" in the first of them");
    }
    let summary = match planned.since.as_deref() {
        Some([]) => counts.clone(),
        Some(since) => format!(
            "{counts}, and take back work done since: {}",
            and_more(since, LISTED_PATHS)
        ),
        None => format!("{counts}, and perhaps take back work done since"),
    };
    let again = "Files changed since this was shown. It is now:\n";
    let lead = if planned.is_shown_again { again } else { "" };
    let listed = plan::listing_of(planned, context, LISTED_PATHS, cmd.printer.err_paint());
    let what = what(planned, named);
    let question = format!("{lead}{listed}{what}? This will {counts}.");
    cmd.ask(context, &summary, &question)
}

/// Formats what the user is asked to do.
fn what(planned: &RestoreOutcome, named: Option<&str>) -> String {
    let step = planned.step.as_ref();
    let step = step.map(|step| format!("{}, {}", restore_of(step), ago(0, step.age_ms)));
    match (planned.verb, step, named, &planned.story) {
        (Verb::Undo, _, Some(several), _) => format!("Undo {several}"),
        (Verb::Undo, Some(step), ..) => format!("Undo {step}"),
        (Verb::Redo, Some(step), ..) => format!("Redo {step}"),
        (Verb::Undo | Verb::Redo, None, ..) => "Go on with the interrupted undo".to_owned(),
        (_, _, Some(named), _) => format!("Go back to {named}"),
        (_, _, None, Some((story, reason))) => {
            format!("Go back to {}", state_words(story, reason.as_deref()))
        }
        (_, _, None, None) => format!("Restore {}", planned.target.named()),
    }
}

fn restore_of(step: &TakenStep) -> String {
    let reason = step.reason.as_deref().map(escape);
    let reason = reason.map(|it| format!(" ({it})")).unwrap_or_default();
    format!("the restore to {}{reason}", step.restored.short())
}

/// What `restore`, `undo`, `redo` and `rewind` did.
#[derive(Serialize, JsonSchema)]
pub struct RestoreAnswer {
    #[serde(flatten)]
    pub outcome: RestoreOutcome,
    check: Option<Check>,
    /// The values that the checkpoint holds.
    #[serde(rename = "state", serialize_with = "embedded")]
    #[schemars(extend("type" = ["object", "null"]))]
    values: Option<String>,
    contract: Option<ContractDocument>,
    /// The form of the contract as text.
    #[serde(skip)]
    form: Option<ContractForm>,
    /// The command without consent.
    #[serde(skip)]
    again: CommandWords,
    /// The agent to whose prompt was gone back.
    #[serde(skip)]
    pub agent: Option<String>,
    /// The restores that were undone, if several.
    #[serde(skip)]
    pub several: Option<String>,
}

/// The command of `--check`.
#[derive(Serialize, JsonSchema)]
struct Check {
    command_line: String,
    /// Null if it could not be started.
    exit: Option<CommandEnd>,
    ok: bool,
}

/// Adds to an outcome the values of the checkpoint, and its contract if there shall be one: that
/// reads the files again, and a mismatch is a failure in part.
pub(super) fn answer(
    context: &Context,
    cmd: &CommandContext<'_>,
    wants: ContractArgs,
    again: CommandWords,
    mut outcome: RestoreOutcome,
) -> Result<Done<RestoreAnswer>> {
    let values = create_facts::values(context, &outcome)?;
    let has_failed = |one: &DatabaseReport| matches!(one.fate, DatabaseFate::Failed(_));
    let mut is_partial =
        outcome.databases.iter().any(has_failed) || !outcome.plan.unreadable.is_empty();
    let (mut contract, form) = (None, wants.wanted());
    if form.is_some() {
        let facts = create_facts::of_restore(context, &outcome)?;
        is_partial |= !(facts.is_match() || outcome.dry_run || facts.is_values_alone);
        let call = call(context, cmd);
        let document = contract::restore_document(&outcome, &facts, values.as_deref(), &call);
        contract = Some(document);
    }
    let warnings = std::mem::take(&mut outcome.warnings);
    let answer = RestoreAnswer {
        outcome,
        check: None,
        values,
        contract,
        form,
        again,
        agent: None,
        several: None,
    };
    Ok(Done::new(answer, warnings).exit_if(is_partial, exit_code::PARTIAL))
}

/// Runs the check. The restore is printed before, or in JSON together with the check.
fn checked(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut done: Done<RestoreAnswer>,
    command_line: String,
) -> Result<Done<RestoreAnswer>> {
    if !cmd.printer.json {
        cmd.print(context, &done);
        done.warnings.clear();
    }
    let outcome = &done.answer.outcome;
    let dir = outcome.to.as_deref().unwrap_or(context.root.path());
    let _shield = context.interrupt.shield();
    let exit = match cmd.children(context).shell(&command_line, dir) {
        Err(error) if error.signal().is_some() => {
            let (signal, done) = (error.signal().unwrap_or_default(), state_after(outcome));
            return Err(Error::interrupted_late(signal, &done, way_back(outcome)));
        }
        ended => ended.inspect_err(|why| cmd.printer.error(why)).ok(),
    };
    let ok = exit.is_some_and(CommandEnd::is_success);
    done.answer.check = Some(Check {
        command_line,
        exit,
        ok,
    });
    Ok(done.exit_if(!ok, exit_code::PARTIAL))
}

/// Describes the state after a check that failed.
fn state_after(outcome: &RestoreOutcome) -> String {
    let short = outcome.target.id.short();
    match (&outcome.to, &outcome.safety) {
        (Some(to), _) => format!("{short} stays in {}", escape_path(to)),
        (None, Some(safety)) => format!(
            "the restore to {short} is done, safety checkpoint {}",
            safety.id.short()
        ),
        (None, None) => format!("the directory was already at {short}"),
    }
}

fn way_back(outcome: &RestoreOutcome) -> Option<Sentence> {
    let safety = outcome.safety.as_ref();
    safety.map(|_| Sentence::new("'checkpoint undo' takes the restore back", &[]))
}

impl Text for RestoreAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        if let Some(check) = &self.check {
            if check.ok {
                talkln!(out, "check passed: {}", escape(&check.command_line));
            }
            return;
        }
        if outcome.dry_run {
            write_planned(outcome, out);
        } else if outcome.nothing_to_do {
            write_nothing(outcome, out);
        } else {
            write_done(outcome, self.several.as_deref(), out);
        }
        if let (Some(contract), Some(form)) = (&self.contract, self.form) {
            out.result = contract.text(form);
        } else if let Some(values) = &self.values {
            outln!(out, "Its values:\n{}", values.trim_end_matches('\n'));
        }
        write_plan(out, outcome.plan_digest.as_deref(), &self.again);
        if let Some(agent) = self.agent.as_deref().filter(|_| !outcome.dry_run) {
            let went = ["only files went back", "no file had to go back"];
            let went = went[usize::from(outcome.nothing_to_do)];
            let how = match agent {
                "claude" => "for the conversation, in Claude Code: /rewind, Restore conversation",
                "codex" => "for the conversation, in Codex: Esc Esc",
                "gemini" => "for the conversation, in Gemini CLI: /rewind, Rewind conversation",
                "opencode" => "for the conversation, in opencode: /undo",
                _ => "the conversation goes on as it is",
            };
            talkln!(out, "{went}; {how}");
        }
    }

    fn failures(&self, paint: Paint) -> String {
        let (outcome, prefix) = (&self.outcome, paint.red("checkpoint:"));
        let mut text = String::new();
        for report in &outcome.databases {
            if let DatabaseFate::Failed(why) = &report.fate {
                let database = &report.database;
                text.push_str(&format!(
                    "{prefix} database {database} was not restored: {why}; \
                     everything else is restored; 'checkpoint undo' takes it back\n"
                ));
            }
        }
        let (stayed, rest) = if outcome.dry_run {
            ("would be left unchanged", "would be restored")
        } else {
            ("was left unchanged", "is restored")
        };
        for (path, why) in &outcome.plan.unreadable {
            let why = why.in_words();
            let line = format!("{prefix} {path} {stayed}: {why}; everything else {rest}\n");
            text.push_str(&line);
        }
        if let Some(check) = self.check.as_ref().filter(|check| !check.ok) {
            let how = check.exit.map(CommandEnd::in_words);
            let how = how.unwrap_or_else(|| "it could not be started".to_owned());
            let (line, done) = (escape(&check.command_line), state_after(outcome));
            let what = format!("the check failed with {how}: {line}; {done}");
            let line = words::advised(&what, way_back(outcome).as_ref());
            text.push_str(&format!("{prefix} {line}\n"));
        }
        text
    }
}

/// Formats a target as the sentences that programs know name it.
fn target(outcome: &RestoreOutcome) -> String {
    let target = &outcome.target;
    let (id, reason) = (target.id.short(), escape(&target.record.reason));
    format!("`{id}` ({reason})")
}

fn write_planned(outcome: &RestoreOutcome, out: &mut Out<'_>) {
    let listed = plan::listing_of(outcome, out.context, usize::MAX, out.paint);
    let target = target(outcome);
    let counts = plan::counts(&outcome.plan, &outcome.databases, Tense::Planned);
    let what = match (&outcome.to, outcome.verb, &outcome.step) {
        (Some(to), ..) => format!("Writing checkpoint {target} to {}", escape_path(to)),
        (_, Verb::Undo, Some(step)) => format!("Undoing {}", restore_of(step)),
        (_, Verb::Redo, Some(step)) => format!("Redoing {}", restore_of(step)),
        _ => format!("Restoring {target}"),
    };
    outln!(out, "{listed}{what} would {counts}.");
    write_left(outcome, out);
}

/// Names the databases that are left unchanged.
fn write_left(outcome: &RestoreOutcome, out: &mut Out<'_>) {
    for report in &outcome.databases {
        let how = match report.fate {
            DatabaseFate::Unchanged => "is already as it was then",
            DatabaseFate::Left => {
                "did not exist then; it was left, because another program may have it open"
            }
            _ => continue,
        };
        talkln!(out, "database {} {how}", report.database);
    }
}

fn write_nothing(outcome: &RestoreOutcome, out: &mut Out<'_>) {
    let target = outcome.target.named();
    let is_part = outcome.is_limited() || outcome.overlay;
    let already = ["Already at", "Those paths are already as in"][usize::from(is_part)];
    outln!(out, "{already} {target}; nothing to do.");
    write_left(outcome, out);
    write_stays(outcome, out);
    if let Some(beyond) = &outcome.beyond {
        let short = beyond.id.short();
        talkln!(out, "to go back a step further: checkpoint restore {short}");
    }
}

/// Lists files that stay although the target lacks them.
fn write_stays(outcome: &RestoreOutcome, out: &mut Out<'_>) {
    for path in &outcome.plan.left_alone {
        let path = out.context.shown(path);
        talkln!(
            out,
            "left unchanged: {path}: it is not captured, or was not then"
        );
    }
}

/// Whether the target does not hold a path that was asked for.
fn only_goes(plan: &RestorePlan, path: &RelPath) -> bool {
    let comes = plan.write.contains_key(path) || plan.make_dirs.contains_key(path);
    let goes = plan.delete.contains_key(path) || plan.remove_dirs.contains(path);
    !comes && (goes || plan.left_alone.contains(path))
}

fn write_done(outcome: &RestoreOutcome, several: Option<&str>, out: &mut Out<'_>) {
    let target = target(outcome);
    let done = plan::counts(&outcome.plan, &outcome.databases, Tense::Done);
    if let Some(to) = &outcome.to {
        let dir = escape_path(to);
        for path in &outcome.paths {
            outln!(out, "Wrote `{path}` of checkpoint {target} to {dir}.");
        }
        if outcome.paths.is_empty() {
            outln!(out, "Wrote checkpoint {target} to {dir}.");
        }
        talkln!(out, "{done}");
        return;
    }
    let safety = outcome.safety.as_ref();
    let safety = safety.map(|safety| safety.id.short()).unwrap_or_default();
    let (gone, held): (Vec<_>, Vec<_>) =
        (outcome.paths.iter()).partition(|path| only_goes(&outcome.plan, path));
    let mut asked_for = patterns(outcome.filter.only.as_ref());
    asked_for.extend(held.into_iter().map(RelPath::to_string));
    let mut named = match (outcome.verb, &outcome.step, several) {
        (Verb::Undo, _, Some(several)) => format!("undid {several}; "),
        (Verb::Undo, Some(step), None) => format!("undid {}; ", restore_of(step)),
        (Verb::Redo, Some(step), _) => format!("redid {}; ", restore_of(step)),
        _ => String::new(),
    };
    if out.is_for_a_person && !named.is_empty() {
        // The sentence below is for programs, and says this less plainly.
        let (first, rest) = (named[..1].to_uppercase(), &named[1..named.len() - 2]);
        outln!(out, "{first}{rest}.");
        named.clear();
    } else if asked_for.is_empty() && gone.is_empty() || outcome.verb != Verb::Restore {
        outln!(
            out,
            "Restored to checkpoint {target}. Safety checkpoint created at `{safety}` — use this to undo the restore."
        );
    } else {
        named = format!("safety checkpoint {safety}; ");
        for path in asked_for {
            outln!(out, "Restored `{path}` from checkpoint {target}.");
        }
        for path in gone {
            let of = ["", "the captured files of "];
            let of = of[usize::from(outcome.plan.left_alone.contains(path))];
            outln!(
                out,
                "Deleted {of}`{path}`, which checkpoint {target} does not hold."
            );
        }
    }
    let back = match outcome.verb {
        Verb::Undo if outcome.calls_off => {
            format!("'checkpoint restore {safety}' brings back what was here")
        }
        Verb::Undo if several.is_some() => "each 'checkpoint redo' repeats one".to_owned(),
        Verb::Undo => "'checkpoint redo' repeats it".to_owned(),
        Verb::Resume if outcome.met_edits() => format!(
            "safety checkpoint {safety} holds what was edited meanwhile: 'checkpoint undo' brings it back, \
             and then what was here before"
        ),
        _ => "'checkpoint undo' takes it back".to_owned(),
    };
    talkln!(out, "{done}; {named}{back}");
    write_left(outcome, out);
    let since = plan::made_since(outcome, Tense::Done, LISTED_PATHS);
    out.talk.push_str(&since);
    write_stays(outcome, out);
    out.talk
        .push_str(&words::eviction_lines("evicted", &outcome.evicted));
}
