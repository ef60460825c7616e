//! `workflow resume` and `workflow recover`: the commands that ask, in the words and letters of each
//! profile.

use crate::base::text::escape;
use crate::base::time::{self, rfc3339_seconds, utc_seconds};
use crate::commands::prelude::*;
use crate::commands::workflow::report::{ago, changed, findings, remarks, summary, with_place};
use crate::error::Code;
use crate::workflow::documents::conflict::{Conflict, ConflictKind, in_words};
use crate::workflow::documents::find_documents::render;
use crate::workflow::documents::import_edits::{self, Imported};
use crate::workflow::engine::repair_run::{self, RecoverOutcome, Take};
use crate::workflow::engine::report::{self, Status};
use crate::workflow::engine::resume::{self as op, ResumeOutcome};
use crate::workflow::engine::resume_questions::{Question, ResumeOptions};
use crate::workflow::engine::runs::Runs;
use crate::workflow::engine::step::StepOptions;
use crate::workflow::profiles::dispatch::profile_of_path;
use crate::workflow::rules::choices::{Chosen, voice};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::validate::is_stale;
use crate::workflow::rules::workflow::Workflow;

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: file, state or none; what it replaces is kept aside
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
    mut options: ResumeOptions,
) -> Result<(ResumeOutcome, Vec<Warning>)> {
    options.yes = cmd.global.yes;
    let mut detail = None;
    let mut ask = |question: &Question<'_>| {
        if cmd.prompt.may_ask && !matches!(question, Question::Refused(_)) {
            let text = question_words(question, context.now_ms);
            return cmd.prompt.words(&context.interrupt, &text);
        }
        if let Question::Resume(status) | Question::Unsound(status) | Question::Refused(status) =
            question
        {
            detail = Some(status.detail(&last_line(status)));
        }
        let text = without_terminal(question, context.now_ms);
        cmd.printer.talk(&text);
        Ok(None)
    };
    let (mut outcome, warnings) =
        op::resume(context, &options, &mut ask).map_err(|mut error| {
            if error.is_of_run() && error.run_details().detail.is_none() {
                error.run_details().detail = detail;
            }
            error
        })?;
    with_place(&mut outcome.status, &cmd.printer.place);
    Ok((outcome, warnings))
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
    let Some(Imported {
        store, conflicts, ..
    }) = import_edits::open_imported(context)?
    else {
        return Ok(None);
    };
    let meant = Runs::live(&store)?.pick(named).ok().cloned();
    let meant = meant.filter(|run| run.workflow.status.is_open());
    let print = |settled: Option<Recovered>| {
        if let Some(settled) = settled {
            cmd.print(context, &Done::from(settled));
        }
    };
    let mut last = None;
    for conflict in &conflicts {
        let is_in_way = match &meant {
            Some(run) => conflict.concerns(&run.workflow),
            None => named.is_none(),
        };
        if !is_in_way && (named.is_some() || conflict.run.is_some()) {
            continue;
        }
        print(last.take());
        let settled = match settle(context, cmd, conflict, false) {
            Err(error) if error.code == Code::DECLINED && !is_in_way => continue,
            settled => settled?,
        };
        if is_in_way && matches!(settled.0.take, Some(Take::None | Take::Copy)) {
            return Ok(Some(settled));
        }
        last = Some(settled);
    }
    if meant.is_some() {
        print(last.take());
    }
    Ok(last)
}

pub fn recover(
    context: &Context,
    cmd: &CommandContext<'_>,
    args: &RecoverArgs,
) -> Result<Recovered> {
    let named = args.what.as_deref();
    let imported = import_edits::open_imported(context)?;
    let is_named = |conflict: &Conflict| {
        named.is_none_or(|named| conflict.path == named || conflict.run.as_deref() == Some(named))
    };
    let conflicts = imported.into_iter().flat_map(|imported| imported.conflicts);
    let conflict = conflicts.into_iter().find(is_named);
    match (args.take, conflict) {
        (Some(take), conflict) => {
            let path = conflict.map(|conflict| conflict.path);
            let path = path
                .or_else(|| args.what.clone())
                .ok_or_else(|| Error::usage("--take needs the path of a file"))?;
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

/// Shows a file that could not be imported, and asks how to settle the conflict.
fn settle(
    context: &Context,
    cmd: &CommandContext<'_>,
    conflict: &Conflict,
    dry_run: bool,
) -> Result<Recovered> {
    let status = conflict.run.as_deref();
    let status = status.map(|id| report::status(context, Some(id), false));
    let status = status.transpose()?;
    let shown = conflict_question(conflict);
    let answer = if dry_run {
        None
    } else {
        cmd.prompt.words(&context.interrupt, &shown)?
    };
    let Some(answer) = answer else {
        cmd.printer.talk(&format!("{}\n", shown.trim_end()));
        let state = status.as_ref().map(|(status, _)| &status.run.workflow);
        return Err(conflict.problem(state));
    };
    let take = side(conflict, &answer).ok_or_else(Error::declined)?;
    repair_run::resolve_conflict(context, &conflict.path, take)
}

impl Text for ResumeOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let workflow = &self.status.run.workflow;
        let seen = &self.status.seen;
        let goes_on = matches!(self.done, Chosen::Resume | Chosen::Pick(_));
        if goes_on && !self.was_shown {
            let drift = seen.drift.iter().filter(|drift| !drift.changes.is_empty());
            out.talk
                .extend(drift.map(|drift| changed(drift, out.context.now_ms)));
            out.talk.push_str(&findings(seen));
        }
        for what in &self.recovered {
            talkln!(out, "recovered: {}", escape(what));
        }
        match self.done {
            Chosen::View => {
                out.result.push_str(&details(workflow));
                return;
            }
            Chosen::Resume | Chosen::Pick(_) | Chosen::Decline => {
                let is_phases = workflow.profiles.first() == Some(&Profile::Phases);
                let next = workflow
                    .next()
                    .map(|next| if is_phases { &next.id } else { &next.name });
                let from = next.map(|next| format!(" from {} phase", escape(next)));
                let (named, from) = (escape(workflow.named()), from.unwrap_or_default());
                talkln!(out, "Resuming workflow {named}{from}");
                let last = rfc3339_seconds(self.last_activity_at.ms());
                talkln!(out, "Last activity: {last}");
                let completed = workflow.completed().map(|phase| escape(&phase.id));
                let completed: Vec<String> = completed.collect();
                let none = || "nothing yet".to_owned();
                let completed = Some(completed.join(", ")).filter(|ids| !ids.is_empty());
                talkln!(out, "Completed: {}", completed.unwrap_or_else(none));
            }
            Chosen::StartFresh => {
                talkln!(out, "Started {}; the old run was archived", workflow.id);
            }
            Chosen::Delete => return talkln!(out, "Deleted; the archive keeps it"),
            Chosen::Abandon => return talkln!(out, "Abandoned; the archive keeps it"),
        }
        outln!(out, "Next: {}", seen.next.words);
    }
}

impl Text for RecoverOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let (Some(path), Some(take)) = (&self.file, self.take) {
            let path = escape(path);
            let kept = self.kept_as.as_ref();
            let done = match take {
                Take::File => format!("Imported {path}"),
                Take::State => format!("Wrote {path} from the recorded state"),
                Take::None if kept.is_some() => format!("Put {path} aside"),
                Take::None => format!("Ended the workflow of {path}"),
                Take::Copy => format!("Left {path} for you to fix"),
            };
            let kept = kept.map(|to| format!("; what it said is kept as {}", escape(to)));
            outln!(out, "{done}{}.", kept.unwrap_or_default());
            if let Some(id) = &self.started {
                outln!(out, "Started {id}; the old run was archived");
            }
            return;
        }
        let id = self.run.as_ref().map(|run| escape(run.workflow.named()));
        let id = id.unwrap_or_default();
        if self.recovered.is_empty() {
            return outln!(out, "Nothing to recover in {id}.");
        }
        let word = if self.dry_run { "would be" } else { "was" };
        outln!(out, "In {id} this {word} repaired:");
        for what in &self.recovered {
            outln!(out, "  {}", escape(what));
        }
    }
}

const CORRUPTED: &str = "State appears corrupted. Start fresh? [y/N]";

/// Formats the question up to where the answer is typed.
fn question_words(question: &Question<'_>, now_ms: i64) -> String {
    match question {
        Question::Resume(status) => resume_question(status, now_ms, true),
        Question::Unsound(status) => format!("{}{CORRUPTED} ", remarks(&status.seen)),
        Question::Refused(status) => remarks(&status.seen),
        Question::AbandonOrPick => {
            "Abandon pipeline or pick a different phase? (abandon/pick) ".to_owned()
        }
        Question::Pick(workflow) => pick(workflow),
        Question::Restart(workflow) => {
            let named = escape(workflow.named());
            format!("Archive {named} and start its plan again? [y/N] ")
        }
        Question::Again(workflow, given) => {
            let (given, letters) = (escape(given), letters(workflow));
            format!("'{given}' is not a valid answer.\n{letters}")
        }
        Question::Details(status) => {
            let workflow = &status.run.workflow;
            format!("{}\n{}", details(workflow), letters(workflow))
        }
    }
}

/// Formats it without a terminal: all details, and the question itself.
fn without_terminal(question: &Question<'_>, now_ms: i64) -> String {
    let shown = match question {
        Question::Resume(status) => resume_question(status, now_ms, false),
        Question::Unsound(status) => {
            format!("{}\n{CORRUPTED}", resume_question(status, now_ms, false))
        }
        other => question_words(other, now_ms),
    };
    format!("{}\n", shown.trim_end())
}

/// Returns the last line of the first question.
fn last_line(status: &Status) -> String {
    if status.seen.report.valid {
        letters(&status.run.workflow).trim_end().to_owned()
    } else {
        CORRUPTED.to_owned()
    }
}

/// Formats the document in which the run is kept, else the complete state.
fn details(workflow: &Workflow) -> String {
    let is_own = |path: &str| voice(workflow).is_some() && profile_of_path(path) == voice(workflow);
    let document = workflow.documents.iter().find(|(path, _)| is_own(path));
    document
        .map_or_else(|| workflow.to_json(), |(_, value)| render(value))
        .lines()
        .map(|line| format!("{}\n", escape(line)))
        .collect()
}

fn resume_question(status: &Status, now_ms: i64, for_a_person: bool) -> String {
    let workflow = &status.run.workflow;
    let drift = status.seen.drift.iter();
    let drift = drift.filter(|drift| !drift.changes.is_empty());
    let drift: String = drift.map(|drift| changed(drift, now_ms)).collect();
    let beside = drift + &remarks(&status.seen);
    let letters = letters(workflow);
    let head = match voice(workflow) {
        Some(Profile::Phases) => {
            let (named, started) = (
                escape(workflow.named()),
                rfc3339_seconds(workflow.created_ms),
            );
            let offer = if is_stale(workflow, now_ms) {
                "This state is old: answer n to archive it and start fresh.\n"
            } else {
                ""
            };
            return format!(
                "Detected interrupted workflow: {named} (started {started})\n{beside}{offer}{letters}"
            );
        }
        Some(Profile::Registry) => registry(workflow, now_ms),
        _ => summary(workflow, time::shown(for_a_person)),
    };
    let gap = if beside.is_empty() { "" } else { "\n" };
    format!("{head}{gap}{beside}\n{letters}")
}

/// Returns the last line of a question.
fn letters(workflow: &Workflow) -> String {
    let next = workflow.next();
    match voice(workflow) {
        Some(Profile::Registry) => "Choice [r/s/v/d]: ".to_owned(),
        Some(Profile::Phases) => {
            format!(
                "Resume workflow from {}? [Y/n] ",
                next.map_or("its end".to_owned(), |phase| escape(&phase.id))
            )
        }
        _ => format!(
            "Resume from \"{}\"? (y/n/restart) ",
            next.map_or("its end".to_owned(), |phase| escape(&phase.name))
        ),
    }
}

fn registry(workflow: &Workflow, now_ms: i64) -> String {
    let total = workflow.phases.len();
    let last = workflow
        .phases
        .iter()
        .rposition(|phase| phase.status == PhaseStatus::Complete);
    let progress = match last {
        None => format!("No phase of {total} completed"),
        Some(at) => format!("Phase {} of {total} completed", at + 1),
    };
    let number = |phase: &Phase| workflow.number_of(&phase.id).unwrap_or_default();
    let next = workflow.next().map_or("the end".to_owned(), |phase| {
        format!("Phase {}", number(phase))
    });
    format!(
        "Found existing checkpoint for \"{}\"\nCreated: {} ({})\nProgress: {progress}\n\nOptions:\n  \
         (r)esume - Continue from {next}\n  (s)tart fresh - Delete checkpoint and restart\n  \
         (v)iew details - Show checkpoint contents\n  (d)elete - Remove checkpoint without starting\n",
        escape(if workflow.description.is_empty() {
            workflow.named()
        } else {
            &workflow.description
        }),
        utc_seconds(workflow.created_ms),
        ago(workflow.created_ms, now_ms),
    )
}

fn pick(workflow: &Workflow) -> String {
    let line = |phase: &Phase| {
        let number = workflow.number_of(&phase.id).unwrap_or_default();
        let unmet = workflow.unmet(phase);
        let waits = if unmet.is_empty() {
            String::new()
        } else {
            format!(", waits for {}", escape(&unmet.join(", ")))
        };
        format!(
            "  {number} {} ({}{waits})\n",
            escape(&phase.name),
            escape(&phase.id)
        )
    };
    let listed: String = workflow.remaining().map(line).collect();
    format!("Remaining:\n{listed}Which phase? ")
}

/// Formats the question about a conflict, with the complete content of the file.
fn conflict_question(conflict: &Conflict) -> String {
    let path = escape(&conflict.path);
    let listed = |text: &str| {
        let lines = text.lines();
        lines
            .map(|line| format!("  | {}\n", escape(line)))
            .collect::<String>()
    };
    match &conflict.kind {
        ConflictKind::Malformed { findings, raw } => {
            let found = findings.iter().map(|one| format!("  {}\n", in_words(one)));
            let (found, shown) = (
                found.collect::<String>(),
                listed(&String::from_utf8_lossy(raw)),
            );
            let ask = match profile_of_path(&conflict.path) {
                Some(Profile::Phases) => CORRUPTED,
                Some(Profile::Registry) => {
                    "Delete the corrupted checkpoint? It is kept in the archive. [y/N]"
                }
                _ => "Attempt manual recovery or start fresh? (recover/fresh)",
            };
            format!("State file is malformed: {path}\n{found}It says:\n{shown}{ask} ")
        }
        ConflictKind::Gone => {
            let run = conflict.run.as_deref().unwrap_or_default();
            format!(
                "{path} was removed, and its workflow {run} is open.\nHas it ended, or should the file be written again? (ended/anew) "
            )
        }
        ConflictKind::BothChanged { file, state } => {
            let (file, state) = (listed(&render(file)), listed(&render(state)));
            format!(
                "{path} was edited while the workflow moved on.\nThe file says:\n{file}The recorded state says:\n{state}Which counts? (file/state) "
            )
        }
    }
}

/// Interprets an answer; only the words of the question are valid.
fn side(conflict: &Conflict, answer: &str) -> Option<Take> {
    let word = answer.trim().to_ascii_lowercase();
    let is_pipeline = profile_of_path(&conflict.path) == Some(Profile::Pipeline);
    Some(match (&conflict.kind, word.as_str()) {
        (ConflictKind::BothChanged { .. }, "file") => Take::File,
        (ConflictKind::BothChanged { .. }, "state") | (ConflictKind::Gone, "anew") => Take::State,
        (ConflictKind::Gone, "ended") => Take::None,
        (ConflictKind::Malformed { .. }, "recover" | "manual" | "manual recovery")
            if is_pipeline =>
        {
            conflict.run.as_ref().map_or(Take::Copy, |_| Take::State)
        }
        (ConflictKind::Malformed { .. }, "fresh" | "start fresh") if is_pipeline => Take::None,
        (ConflictKind::Malformed { .. }, "y" | "yes") if !is_pipeline => Take::None,
        _ => return None,
    })
}
