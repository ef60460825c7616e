//! `restore`, and what it shares with `undo`, `redo` and `rewind`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::interrupt::Interrupt;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::diff::DiffArgs;
use crate::cli::commands::lists;
use crate::cli::commands::select_args::{GlobArgs, PlanArgs, bytes_of, with_plan};
use crate::cli::contract::{ContractArgs, call};
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::picker::{self, PickedItem, PlanPreview, ShowLines};
use crate::cli::terminal::progress;
use crate::cli::{environment, exit_code};
use crate::config::settings::OwnFile;
use crate::error::{Error, Result};
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::{self, ListOptions};
use crate::ops::context::Context;
use crate::ops::contract::restore_contract;
use crate::ops::restore::commands::{self as restore_op, RestoreOptions};
use crate::ops::restore::restore_options::{Check, CommonOptions, Proposal, RestoreOutcome};
use crate::ops::restore::to_directory::{RestoreToOptions, restore_to};
use crate::ops::select::words::TypedWords;
use crate::view::picker::PickerChoice;
use crate::view::plan::Tense;
use crate::view::restore::{self, JsonParts};
use crate::view::{databases, plan, restore_contract as contract_view, words};

/// Restore the directory to a checkpoint
///
/// Saves the present state in a safety checkpoint first; `checkpoint undo` brings it back. Files that
/// were left out of the checkpoint (ignored, secrets) stay as they are. PATHs without SEL are restored
/// from @, where the directory stands; without any word, a terminal shows a list to choose from.
/// @FILE stands for the paths in a file (@- for those of stdin): one a line, or each ended by NUL.
#[derive(Clone, Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct RestoreArgs {
    /// A checkpoint (an id, @, latest~N, a reason, or a time), then paths; or SEL:PATH
    #[arg(value_name = "SEL|PATH")]
    pub words: Vec<OsString>,
    /// Only these files and directories; literal names, for patterns see --glob
    #[arg(value_name = "PATH", last = true)]
    pub only: Vec<OsString>,
    #[arg(skip)]
    has_dashes: bool,
    /// `@FILE`, and the paths in it.
    #[arg(skip)]
    lists: Vec<OsString>,
    #[arg(skip)]
    listed: Vec<Vec<u8>>,
    #[command(flatten)]
    pub globs: GlobArgs,
    /// Write the files of the checkpoint, but delete nothing
    #[arg(long)]
    pub overlay: bool,
    /// Also restore set-uid, set-gid and sticky bits
    #[arg(long)]
    pub restore_suid: bool,
    /// New or empty directory to write to, instead of changing this one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["overlay", "verify", "contract"])]
    pub to: Option<PathBuf>,
    /// Shell command to run afterwards; if it fails, exit with 5
    #[arg(long, value_name = "CMD", conflicts_with_all = ["dry_run", "contract"], value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub check: Option<String>,
    /// Finish an interrupted restore
    #[arg(long, conflicts_with_all = ["words", "only", "globs", "exclude", "overlay", "restore_suid", "dry_run", "to", "check"])]
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
            own_file: OwnFile::MayBeBad,
            contract: self.contract.wanted(),
            ..Properties::USUAL
        }
    }

    pub fn resolve(&self, cmd: &CommandContext<'_>) -> CommonOptions {
        CommonOptions {
            yes: cmd.global.yes,
            dry_run: self.dry_run,
            reads_back: self.verify,
            ..CommonOptions::default()
        }
    }

    /// As [`Self::resolve`], for a command that needs consent: an agent may need a plan.
    ///
    /// # Errors
    /// There is no consent.
    pub fn resolve_planned(
        &self,
        context: &Context,
        cmd: &CommandContext<'_>,
    ) -> Result<CommonOptions> {
        Ok(CommonOptions {
            plan: self.plan.resolve(context, cmd, self.dry_run)?,
            ..self.resolve(cmd)
        })
    }
}

impl RestoreArgs {
    pub fn resolve(self, common: CommonOptions) -> RestoreOptions {
        let flags = [
            ("--dry-run", self.common.dry_run),
            ("--overlay", self.overlay),
        ];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given);
        let mut options: Vec<Vec<u8>> = given.map(|(flag, _)| flag.into()).collect();
        options.extend(bytes_of(self.lists));
        for (name, patterns) in [
            ("--glob", &self.globs.globs),
            ("--exclude", &self.globs.exclude),
        ] {
            let patterns = bytes_of(patterns.clone()).into_iter();
            options.extend(patterns.flat_map(|pattern| [name.into(), pattern]));
        }
        RestoreOptions {
            words: TypedWords {
                words: bytes_of(self.words),
                paths: bytes_of(self.only),
                listed: self.listed,
                has_dashes: self.has_dashes,
                options,
            },
            globs: self.globs.resolve(),
            overlay: self.overlay,
            special_bits: self.restore_suid,
            common,
        }
    }

    /// As `resolve`, for another directory, given by its absolute path.
    pub fn resolve_to(self, to: PathBuf) -> RestoreToOptions {
        let dry_run = self.common.dry_run;
        let mut options = self.resolve(CommonOptions::default());
        let words = ["--to".into(), to.clone().into_os_string()];
        options.words.options.extend(bytes_of(words.into()));
        RestoreToOptions {
            words: options.words,
            globs: options.globs,
            to,
            special_bits: options.special_bits,
            dry_run,
        }
    }
}

/// Lets the user choose the checkpoint to restore; shows what would change only in this directory.
fn choose(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &RestoreOptions,
    writes_here: bool,
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
    let plan = |id: ObjectId, stop: &Interrupt| preview(context, options, id, stop);
    let plan: Option<&PlanPreview<'_>> = if writes_here { Some(&plan) } else { None };
    let choices = PickerChoice::all(&outcome, context.now_ms);
    let (interrupt, paint) = (&context.interrupt, cmd.printer.err_paint());
    let question = "Restore which checkpoint?";
    let show = |id: ObjectId| show_lines(context, cmd, id);
    let show: Option<&ShowLines<'_>> = if cmd.printer.can_page() {
        Some(&show)
    } else {
        None
    };
    let chosen = picker::choose(question, &choices, interrupt, paint, plan, show)?;
    Ok((choices[chosen.at].id.to_hex(), chosen))
}

/// Whether the user can choose from a list.
pub(super) fn may_choose(cmd: &CommandContext<'_>) -> bool {
    cmd.prompt.may_ask && progress::can_draw()
}

/// Shows in a pager what a choice would change.
pub(super) fn show_lines(context: &Context, cmd: &CommandContext<'_>, id: ObjectId) {
    let mut args = DiffArgs::default();
    args.words.push(id.to_hex().into());
    if let Err(why) = args.run(context, cmd) {
        let error = words::error(&why, cmd.printer.err_paint());
        cmd.printer.failure(&error);
    }
}

/// Plans the restore of a checkpoint that the user looks at in a list.
pub(super) fn preview(
    context: &Context,
    options: &RestoreOptions,
    id: ObjectId,
    stop: &Interrupt,
) -> Result<RestorePlan> {
    let options = RestoreOptions {
        words: TypedWords {
            words: vec![id.to_hex().into_bytes()],
            ..options.words.clone()
        },
        common: CommonOptions {
            dry_run: true,
            ..options.common.clone()
        },
        ..options.clone()
    };
    restore_op::preview(&context.stopped_by(stop), &options)
}

impl RunCommand for RestoreArgs {
    fn properties(&self) -> Properties {
        self.common.properties()
    }

    fn run(mut self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        self.has_dashes = cmd.words.iter().any(|word| word == "--");
        let is_list = |word: &OsString| lists::is_list(word.as_encoded_bytes());
        (self.lists, self.words) = self.words.drain(..).partition(is_list);
        self.listed = lists::expand(&self.lists)?;
        let is_alone = self.words.is_empty()
            && self.listed.is_empty()
            && self.only.is_empty()
            && self.globs.globs.is_empty();
        let mut chosen = None;
        if is_alone && !self.resume {
            let options = self.clone().resolve(CommonOptions::default());
            let (id, choice) = choose(context, cmd, &options, self.to.is_none())?;
            let _ = cmd.chosen.set(id.clone());
            (self.words, chosen) = (vec![id.into()], Some(choice));
        }
        let (to, check, wants) = (self.to.take(), self.check.take(), self.common.contract);
        let outcome = if self.resume {
            restore_op::resume(context, &self.common.resolve(cmd))?
        } else if let Some(to) = to {
            restore_to(context, &self.resolve_to(environment::absolute(&to)?))?
        } else {
            let common = self.common.resolve_planned(context, cmd)?;
            let mut consent =
                |proposal: &Proposal<'_>| cmd.consent_chosen(context, proposal, chosen.as_ref());
            restore_op::restore(context, &self.resolve(common), &mut consent)?
        };
        match check {
            Some(command) => print_checked(context, cmd, outcome, command),
            None => print_restored(context, cmd, "restore", wants, &outcome),
        }
    }
}

/// Runs the check; the restore is printed before, or in JSON together with the check.
fn print_checked(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut outcome: RestoreOutcome,
    command: String,
) -> Result<u8> {
    if !cmd.printer.json {
        print_restored(context, cmd, "restore", ContractArgs::default(), &outcome)?;
    }
    let dir = outcome.to.as_deref().unwrap_or(context.root.path());
    let _shield = context.interrupt.shield();
    let ended = match cmd.children(context).shell(&command, dir) {
        Ok(ended) => Some(ended),
        Err(error) if error.signal().is_some() => {
            let signal = error.signal().unwrap_or_default();
            let (done, hint) = (restore::check_done(&outcome), restore::way_back(&outcome));
            return Err(Error::interrupted_late(signal, &done, hint));
        }
        Err(error) => {
            cmd.printer
                .failure(&words::error(&error, cmd.printer.err_paint()));
            None
        }
    };
    let check = Check { command, ended };
    let code = if check.is_ok() {
        exit_code::of_restore(&outcome)
    } else {
        exit_code::PARTIAL
    };
    if check.is_ok() {
        cmd.printer.talk(&restore::check_passed(&check));
    } else {
        cmd.printer.failure(&restore::check_failed(
            &check,
            &outcome,
            cmd.printer.err_paint(),
        ));
    }
    outcome.check = Some(check);
    if cmd.printer.json {
        cmd.printer.result(&restore::json(
            "restore",
            &outcome,
            code,
            JsonParts::default(),
        ));
        print_failures(cmd, &outcome);
    }
    Ok(code)
}

/// Prints what was done, with its contract if there shall be one: it reads the files again, and exits
/// as partial on a mismatch.
pub(super) fn print_restored(
    context: &Context,
    cmd: &CommandContext<'_>,
    command: &str,
    wants: ContractArgs,
    outcome: &RestoreOutcome,
) -> Result<u8> {
    let values = restore_contract::values(context, outcome)?;
    let values = values.as_deref();
    let (mut code, mut contract) = (exit_code::of_restore(outcome), None);
    if wants.contract {
        let facts = restore_contract::of_restore(context, outcome)?;
        if !(facts.is_match() || outcome.dry_run || facts.is_values_alone) {
            code = exit_code::PARTIAL;
        }
        let call = call(context, cmd);
        contract = Some(contract_view::document(outcome, &facts, values, &call));
    }
    let contract = contract.as_ref();
    if cmd.printer.json {
        let given = JsonParts { values, contract };
        cmd.printer
            .result(&restore::json(command, outcome, code, given));
    } else {
        let paint = cmd.printer.out_paint();
        let to = outcome.to.as_ref();
        let said = to.map(|to| restore::restore_to(outcome, to, paint));
        let for_a_person = cmd.printer.for_a_person();
        let mut said = said.unwrap_or_else(|| restore::human(outcome, paint, for_a_person));
        match contract {
            Some(contract) => said.result = contract.text(wants.form()),
            None => (said.result).push_str(&values.map(restore::values).unwrap_or_default()),
        }
        if let Some(digest) = &outcome.plan_digest {
            let chosen = cmd.chosen.get().map(OsString::from);
            let words: Vec<OsString> = cmd.words.iter().cloned().chain(chosen).collect();
            let command = with_plan(&words, digest);
            said.talk.push_str(&restore::plan_named(digest, command));
        }
        cmd.print_output(&said, &outcome.warnings);
    }
    print_failures(cmd, outcome);
    Ok(code)
}

/// Prints failures beside the answer, because the other files are restored by then.
fn print_failures(cmd: &CommandContext<'_>, outcome: &RestoreOutcome) {
    let tense = if outcome.dry_run {
        Tense::Planned
    } else {
        Tense::Done
    };
    let way_on = "everything else is restored; 'checkpoint undo' takes it back";
    let mut failures = databases::failures(&outcome.databases, way_on, cmd.printer.err_paint());
    failures.push_str(&plan::unreadable(
        &outcome.plan,
        tense,
        cmd.printer.err_paint(),
    ));
    if !failures.is_empty() {
        cmd.printer.failure(&failures);
    }
}
