//! Questions before a run is resumed, in the words and letters of each profile.

use crate::base::text::escape;
use crate::base::time::{self, rfc3339_seconds, utc_seconds};
use crate::commands::workflow::report::{ago, changed, remarks, summary};
use crate::workflow::documents::conflict::{Conflict, in_words};
use crate::workflow::documents::render;
use crate::workflow::engine::recover::Take;
use crate::workflow::engine::report::Status;
use crate::workflow::engine::resume_questions::Question;
use crate::workflow::profiles::dispatch::profile_of_path;
use crate::workflow::rules::choices::voice;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::validate::is_stale;
use crate::workflow::rules::workflow::Workflow;

const CORRUPTED: &str = "State appears corrupted. Start fresh? [y/N]";

/// Formats the question up to where the answer is typed.
pub fn question(question: &Question<'_>, now_ms: i64) -> String {
    match question {
        Question::Resume(status) => resume(status, now_ms, true),
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
pub fn without_terminal(question: &Question<'_>, now_ms: i64) -> String {
    let shown = match question {
        Question::Resume(status) => resume(status, now_ms, false),
        Question::Unsound(status) => format!("{}\n{CORRUPTED}", resume(status, now_ms, false)),
        other => self::question(other, now_ms),
    };
    format!("{}\n", shown.trim_end())
}

/// Returns the last line of the first question.
pub fn last_line(status: &Status) -> String {
    if status.seen.report.valid {
        letters(&status.run.workflow).trim_end().to_owned()
    } else {
        CORRUPTED.to_owned()
    }
}

/// Formats the document in which the run is kept, else the complete state.
pub fn details(workflow: &Workflow) -> String {
    let is_own = |path: &str| voice(workflow).is_some() && profile_of_path(path) == voice(workflow);
    let document = workflow.documents.iter().find(|(path, _)| is_own(path));
    document
        .map_or_else(|| workflow.to_json(), |(_, value)| render(value))
        .lines()
        .map(|line| format!("{}\n", escape(line)))
        .collect()
}

fn resume(status: &Status, now_ms: i64, for_a_person: bool) -> String {
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
pub fn conflict(conflict: &Conflict) -> String {
    let path = escape(&conflict.path);
    let found = conflict.findings.iter();
    let found: String = found.map(|one| format!("  {}\n", in_words(one))).collect();
    let raw = String::from_utf8_lossy(&conflict.raw);
    let lines = raw.lines();
    let shown: String = lines
        .map(|line| format!("  | {}\n", escape(line)))
        .collect();
    let ask = match profile_of_path(&conflict.path) {
        Some(Profile::Phases) => CORRUPTED,
        Some(Profile::Registry) => {
            "Delete the corrupted checkpoint? It is kept in the archive. [y/N]"
        }
        _ => "Attempt manual recovery or start fresh? (recover/fresh)",
    };
    format!("State file is malformed: {path}\n{found}It says:\n{shown}{ask} ")
}

/// Interprets an answer; only the words of the question are valid.
pub fn side(conflict: &Conflict, answer: &str) -> Option<Take> {
    let word = answer.trim().to_ascii_lowercase();
    let is_pipeline = profile_of_path(&conflict.path) == Some(Profile::Pipeline);
    Some(match word.as_str() {
        "recover" | "manual" | "manual recovery" if is_pipeline => {
            conflict.run.as_ref().map_or(Take::Copy, |_| Take::State)
        }
        "fresh" | "start fresh" if is_pipeline => Take::None,
        "y" | "yes" if !is_pipeline => Take::None,
        _ => return None,
    })
}
