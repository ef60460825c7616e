//! `workflow resume` and `workflow recover`: the commands that ask, in the words and letters of each
//! profile.

use crate::base::cut_list::one_of;
use crate::base::text::escape;
use crate::base::time::{self, rfc3339_seconds, utc_seconds};
use crate::commands::prelude::*;
use crate::commands::workflow::report::{ago, changed, findings, remarks, summary, with_place};
use crate::error::Code;
use crate::error::sentence::Sentence;
use crate::workflow::documents::conflict::{Conflict, in_words};
use crate::workflow::documents::files::of_run;
use crate::workflow::documents::render;
use crate::workflow::documents::sync::{Imported, open_imported};
use crate::workflow::engine::recover::{self as repair_run, RecoverOutcome, Take};
use crate::workflow::engine::report::{self, Seen, Status};
use crate::workflow::engine::resume::{self as op, ResumeOptions, ResumeOutcome};
use crate::workflow::engine::runs::Runs;
use crate::workflow::engine::work::StepOptions;
use crate::workflow::profiles::dispatch::profile_of_path;
use crate::workflow::rules::dialog::{Chosen, Dialog};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::validate::is_stale;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::{listed, refused};

/// Maximum number of choices in a hint.
const LISTED_CHOICES: usize = 5;
const CORRUPTED: &str = "State appears corrupted. Start fresh? [y/N]";

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: state or none; what it replaces is kept aside
    #[arg(long, value_name = "SIDE", conflicts_with = "dry_run")]
    pub take: Option<Take>,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

type Recovered = (RecoverOutcome, Vec<Warning>);

pub fn resume(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &ResumeOptions,
) -> Result<(ResumeOutcome, Vec<Warning>)> {
    let (status, mut warnings) = report::status(context, options.run.as_deref(), true)?;
    op::check_open(&status)?;
    let question = Question {
        context,
        cmd,
        status: &status,
        first: Dialog::first(&status.run.workflow),
        is_sound: status.seen.report.valid,
    };
    let chosen = match &options.choose {
        Some(word) => question.answered(word, options.anyway)?,
        None => question.ask(options.anyway)?,
    };
    let (mut outcome, more) = op::resume(context, status, chosen)?;
    outcome.was_shown = options.choose.is_none();
    with_place(&mut outcome.status, &cmd.printer.place);
    warnings.extend(more);
    Ok((outcome, warnings))
}

/// What is to become of a run. Nothing is changed and no lock is held until the last answer is given.
struct Question<'q> {
    context: &'q Context,
    cmd: &'q CommandContext<'q>,
    status: &'q Status,
    first: Dialog,
    is_sound: bool,
}

impl Question<'_> {
    fn workflow(&self) -> &Workflow {
        &self.status.run.workflow
    }

    /// Interprets an answer given with the command; it answers the further questions as well.
    fn answered(&self, word: &str, anyway: bool) -> Result<Chosen> {
        let chosen = self.first.understand_first(word);
        let chosen = chosen.ok_or_else(|| self.no_answer(word, &self.first))?;
        if chosen.goes_on() && !anyway && !self.is_sound {
            self.cmd.printer.talk(&remarks(&self.status.seen));
            let wrong = self.wrong().unwrap_or_default();
            let run = self.workflow().named();
            let what = format!("workflow {run} is inconsistent: {wrong}; nothing was changed");
            return Err(self.with_options(refused("unsound", what), &self.first));
        }
        if chosen == Chosen::Decline {
            return Err(self.undecided(&Dialog::after_no(self.workflow())));
        }
        Ok(chosen)
    }

    /// Asks until there is a decision; without a terminal it is the error that names the answers.
    fn ask(&self, anyway: bool) -> Result<Chosen> {
        let (workflow, first) = (self.workflow(), &self.first);
        if !self.cmd.prompt.may_ask {
            let mut shown = self.shown(false);
            if !self.is_sound && !anyway {
                shown += &format!("\n{CORRUPTED}");
            }
            self.cmd.printer.talk(&format!("{}\n", shown.trim_end()));
            return Err(self.undecided(first));
        }
        if !self.is_sound && !anyway {
            let text = format!("{}{CORRUPTED} ", remarks(&self.status.seen));
            if is_yes(&self.typed(&text)?) {
                return Ok(Chosen::StartFresh);
            }
        }
        let mut text = self.shown(true);
        loop {
            let typed = self.typed(&text)?;
            // The capitalized letter of a prompt is its default.
            let is_default = typed.trim().is_empty() && first.text.ends_with("[Y/n] ");
            let chosen = first.understand_first(if is_default { "y" } else { &typed });
            text = match chosen {
                None => {
                    let given = escape(typed.trim());
                    format!("'{given}' is not a valid answer.\n{}", first.text)
                }
                Some(Chosen::View) => format!("{}\n{}", details(workflow), first.text),
                Some(Chosen::Decline) => return self.decline(),
                Some(Chosen::StartFresh) if first.confirms_fresh() && !self.cmd.global.yes => {
                    let run = escape(workflow.named());
                    let again = format!("Archive {run} and start its plan again? [y/N] ");
                    return if is_yes(&self.typed(&again)?) {
                        Ok(Chosen::StartFresh)
                    } else {
                        Err(Error::declined())
                    };
                }
                Some(chosen) => return Ok(chosen),
            };
        }
    }

    fn decline(&self) -> Result<Chosen> {
        let mut dialog = Dialog::after_no(self.workflow());
        let mut typed = self.typed(&dialog.text)?;
        if matches!(&*typed.trim().to_ascii_lowercase(), "pick" | "p") {
            dialog = Dialog::pick(self.workflow());
            // Asked again until it is a phase that can begin.
            loop {
                typed = self.typed(&dialog.text)?;
                if typed.trim().is_empty() || dialog.understand(&typed).is_some() {
                    break;
                }
            }
        }
        let chosen = dialog.understand(&typed);
        chosen.ok_or_else(|| self.no_answer(typed.trim(), &dialog))
    }

    fn typed(&self, text: &str) -> Result<String> {
        let typed = self.cmd.prompt.words(&self.context.interrupt, text)?;
        typed.ok_or_else(|| self.undecided(&self.first))
    }

    /// The error if the user cannot be asked.
    fn undecided(&self, dialog: &Dialog) -> Error {
        let run = self.workflow().named();
        let wrong = self.wrong().into_iter();
        let wrong: String = wrong
            .map(|why| format!(" and inconsistent: {why}"))
            .collect();
        let what = format!("workflow {run} is open{wrong}; choose what to do with it");
        self.with_options(refused("decision_needed", what), dialog)
    }

    /// The error if the answer is none of those that were offered.
    fn no_answer(&self, given: &str, dialog: &Dialog) -> Error {
        let options = dialog.options(self.workflow(), self.is_sound);
        let what = if given.is_empty() {
            "no answer was given".to_owned()
        } else {
            format!("'{given}' is not a valid answer")
        };
        let keys: Vec<&str> = options.iter().map(|option| &*option.key).collect();
        let keys = Sentence::text(format!("choose one of {}", keys.join(", ")));
        let error = refused("no_answer", format!("{what}; nothing was changed"));
        error.next(keys).with_options(options)
    }

    fn with_options(&self, error: Error, dialog: &Dialog) -> Error {
        let options = dialog.options(self.workflow(), self.is_sound);
        let mut error = error.next(listed(&options, LISTED_CHOICES));
        let question = if self.is_sound {
            self.first.text.trim_end()
        } else {
            CORRUPTED
        };
        error.run_details().detail = Some(self.status.detail(question));
        error.with_options(options).with_state(self.workflow())
    }

    fn wrong(&self) -> Option<String> {
        let errors = &self.status.seen.report.errors;
        Some(one_of(in_words(errors.first()?), errors.len()))
    }

    /// Formats the state of the run and the first question.
    fn shown(&self, for_a_person: bool) -> String {
        let (workflow, seen) = (self.workflow(), &self.status.seen);
        let now_ms = self.context.now_ms;
        let beside = drift(seen, now_ms) + &remarks(seen);
        let text = &self.first.text;
        let head = match workflow.profile {
            Some(Profile::Phases) => {
                let run = escape(workflow.named());
                let started = rfc3339_seconds(workflow.created_ms);
                let offer = if is_stale(workflow, now_ms) {
                    "This state is old: answer n to archive it and start fresh.\n"
                } else {
                    ""
                };
                return format!(
                    "Detected interrupted workflow: {run} (started {started})\n{beside}{offer}{text}"
                );
            }
            Some(Profile::Registry) => registry(workflow, now_ms),
            _ => summary(workflow, time::shown(for_a_person)),
        };
        let gap = if beside.is_empty() { "" } else { "\n" };
        format!("{head}{gap}{beside}\n{text}")
    }
}

fn drift(seen: &Seen, now_ms: i64) -> String {
    let drift = seen.drift.iter().filter(|drift| !drift.changes.is_empty());
    drift.map(|drift| changed(drift, now_ms)).collect()
}

fn is_yes(answer: &str) -> bool {
    matches!(&*answer.trim().to_ascii_lowercase(), "y" | "yes")
}

/// Formats the document in which the run is kept, else the complete state.
fn details(workflow: &Workflow) -> String {
    let own = of_run(workflow).next();
    let text = own.map_or_else(|| workflow.to_json(), |(_, value)| render(value));
    text.lines()
        .map(|line| format!("{}\n", escape(line)))
        .collect()
}

fn registry(workflow: &Workflow, now_ms: i64) -> String {
    let total = workflow.phases.len();
    let is_complete = |phase: &Phase| phase.status == PhaseStatus::Complete;
    let progress = match workflow.phases.iter().rposition(is_complete) {
        None => format!("No phase of {total} completed"),
        Some(at) => format!("Phase {} of {total} completed", at + 1),
    };
    let next = workflow
        .next()
        .and_then(|next| workflow.number_of(&next.id));
    let next = next.map_or("the end".to_owned(), |number| format!("Phase {number}"));
    let title = match &*workflow.description {
        "" => workflow.named(),
        description => description,
    };
    format!(
        "Found existing checkpoint for \"{}\"\nCreated: {} ({})\nProgress: {progress}\n\nOptions:\n  \
         (r)esume - Continue from {next}\n  (s)tart fresh - Delete checkpoint and restart\n  \
         (v)iew details - Show checkpoint contents\n  (d)elete - Remove checkpoint without starting\n",
        escape(title),
        utc_seconds(workflow.created_ms),
        ago(workflow.created_ms, now_ms),
    )
}

/// Settles conflicts first; returns the last of them if there is nothing left to resume. A file
/// without an owner does not keep the chosen run from being resumed.
pub fn settle_first(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &ResumeOptions,
) -> Result<Option<Recovered>> {
    if !cmd.prompt.may_ask || options.choose.is_some() {
        return Ok(None);
    }
    let named = options.run.as_deref();
    let Some(imported) = open_imported(context)? else {
        return Ok(None);
    };
    let Imported {
        store, conflicts, ..
    } = imported;
    let meant = Runs::live(&store)?.pick(named).ok().cloned();
    let meant = meant.filter(|run| run.workflow.status.is_open());
    let mut last: Option<Recovered> = None;
    for conflict in &conflicts {
        let is_in_way = match &meant {
            Some(run) => conflict.concerns(&run.workflow),
            None => named.is_none(),
        };
        if !is_in_way && (named.is_some() || conflict.run.is_some()) {
            continue;
        }
        if let Some(settled) = last.take() {
            cmd.print(context, &Done::from(settled));
        }
        let settled = match settle(context, cmd, conflict, false) {
            Err(error) if error.code == Code::DECLINED && !is_in_way => continue,
            settled => settled?,
        };
        if is_in_way && matches!(settled.0.take, Some(Take::None | Take::Copy)) {
            return Ok(Some(settled));
        }
        last = Some(settled);
    }
    match last {
        Some(settled) if meant.is_some() => {
            cmd.print(context, &Done::from(settled));
            Ok(None)
        }
        last => Ok(last),
    }
}

pub fn recover(
    context: &Context,
    cmd: &CommandContext<'_>,
    args: &RecoverArgs,
) -> Result<Recovered> {
    let named = args.what.as_deref();
    let imported = open_imported(context)?;
    let is_named = |conflict: &Conflict| {
        named.is_none_or(|named| conflict.path == named || conflict.run.as_deref() == Some(named))
    };
    let mut conflicts = imported.into_iter().flat_map(|imported| imported.conflicts);
    let conflict = conflicts.find(is_named);
    match (args.take, conflict) {
        (Some(take), conflict) => {
            let path = conflict.map(|conflict| conflict.path).or(args.what.clone());
            let path = path.ok_or_else(|| Error::usage("--take needs the path of a file"))?;
            repair_run::resolve_conflict(context, &path, take)
        }
        (None, Some(conflict)) => settle(context, cmd, &conflict, args.dry_run),
        (None, None) => {
            let options = StepOptions {
                run: args.what.clone(),
                ..StepOptions::default()
            };
            repair_run::repair(context, &options, args.dry_run)
        }
    }
}

/// Shows a file that cannot be understood, and asks what is to become of it.
fn settle(
    context: &Context,
    cmd: &CommandContext<'_>,
    conflict: &Conflict,
    dry_run: bool,
) -> Result<Recovered> {
    let (ask, answers) = answers(conflict);
    let shown = format!("{}{ask} ", content(conflict));
    let typed = if dry_run {
        None
    } else {
        cmd.prompt.words(&context.interrupt, &shown)?
    };
    let Some(typed) = typed else {
        cmd.printer.talk(&format!("{}\n", shown.trim_end()));
        let run = conflict.run.as_deref();
        let status = run.map(|id| report::status(context, Some(id), false));
        let status = status.transpose()?;
        return Err(conflict.problem(status.as_ref().map(|(status, _)| &status.run.workflow)));
    };
    let word = typed.trim().to_ascii_lowercase();
    let mut answers = answers.iter();
    let chosen = answers.find(|(words, _)| words.contains(&&*word));
    let (_, take) = chosen.ok_or_else(Error::declined)?;
    repair_run::resolve_conflict(context, &conflict.path, *take)
}

/// Formats what is wrong with a file, and all that is in it.
fn content(conflict: &Conflict) -> String {
    let mut text = format!("State file is malformed: {}\n", escape(&conflict.path));
    text.extend(
        conflict
            .findings
            .iter()
            .map(|one| format!("  {}\n", in_words(one))),
    );
    text += "It says:\n";
    let raw = String::from_utf8_lossy(&conflict.raw);
    text.extend(raw.lines().map(|line| format!("  | {}\n", escape(line))));
    text
}

/// Returns the question about a file, and the words of each answer to it.
fn answers(conflict: &Conflict) -> (&'static str, Vec<(&'static [&'static str], Take)>) {
    const YES: &[&str] = &["y", "yes"];
    match profile_of_path(&conflict.path) {
        Some(Profile::Phases) => (CORRUPTED, vec![(YES, Take::None)]),
        Some(Profile::Registry) => (
            "Delete the corrupted checkpoint? It is kept in the archive. [y/N]",
            vec![(YES, Take::None)],
        ),
        _ => {
            let recovered = conflict.run.as_ref().map_or(Take::Copy, |_| Take::State);
            (
                "Attempt manual recovery or start fresh? (recover/fresh)",
                vec![
                    (&["recover", "manual", "manual recovery"], recovered),
                    (&["fresh", "start fresh"], Take::None),
                ],
            )
        }
    }
}

impl Text for ResumeOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let workflow = &self.status.run.workflow;
        let seen = &self.status.seen;
        if self.done.goes_on() && !self.was_shown {
            out.talk.push_str(&drift(seen, out.context.now_ms));
            out.talk.push_str(&findings(seen));
        }
        for what in &self.recovered {
            talkln!(out, "recovered: {}", escape(what));
        }
        match self.done {
            Chosen::View => return out.result.push_str(&details(workflow)),
            Chosen::Delete => return talkln!(out, "Deleted; the archive keeps it"),
            Chosen::Abandon => return talkln!(out, "Abandoned; the archive keeps it"),
            Chosen::StartFresh => {
                talkln!(out, "Started {}; the old run was archived", workflow.id);
            }
            Chosen::Resume | Chosen::Pick(_) | Chosen::Decline => {
                let is_phases = workflow.profile == Some(Profile::Phases);
                let next = workflow.next();
                let next = next.map(|next| if is_phases { &next.id } else { &next.name });
                let from = next.map(|next| format!(" from {} phase", escape(next)));
                let (named, from) = (escape(workflow.named()), from.unwrap_or_default());
                talkln!(out, "Resuming workflow {named}{from}");
                let last = rfc3339_seconds(self.last_activity_at.ms());
                talkln!(out, "Last activity: {last}");
                let completed = workflow.completed().map(|phase| escape(&phase.id));
                let completed: Vec<String> = completed.collect();
                match &*completed.join(", ") {
                    "" => talkln!(out, "Completed: nothing yet"),
                    ids => talkln!(out, "Completed: {ids}"),
                }
            }
        }
        outln!(out, "Next: {}", seen.next.words);
    }
}

impl Text for RecoverOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let (Some(path), Some(take)) = (&self.file, self.take) {
            let path = escape(path);
            let done = match take {
                Take::State => format!("Wrote {path} from the recorded state"),
                Take::None => format!("Put {path} aside"),
                Take::Copy => format!("Left {path} for you to fix"),
            };
            let kept = self.kept_as.as_ref();
            let kept = kept.map(|to| format!("; what it said is kept as {}", escape(to)));
            outln!(out, "{done}{}.", kept.unwrap_or_default());
            if let Some(id) = &self.started {
                outln!(out, "Started {id}; the old run was archived");
            }
            return;
        }
        let id = self.run.as_ref().map(|run| escape(run.workflow.named()));
        let id = id.unwrap_or_default();
        let word = if self.dry_run { "would be" } else { "was" };
        if self.reopened {
            outln!(out, "Workflow {id} {word} reopened.");
        } else if self.recovered.is_empty() {
            outln!(out, "Nothing to recover in {id}.");
        }
        if self.recovered.is_empty() {
            return;
        }
        outln!(out, "In {id} this {word} repaired:");
        for what in &self.recovered {
            outln!(out, "  {}", escape(what));
        }
    }
}
