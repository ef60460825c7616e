//! Questions before a run is resumed, in the words and letters of each profile.

use crate::base::text::escape;
use crate::base::time::{self, rfc3339_seconds, utc_seconds};
use crate::view::workflow::findings::remarks;
use crate::view::workflow::summary::{self, in_words};
use crate::workflow::documents::conflict::{Conflict, ConflictKind};
use crate::workflow::documents::find_documents::render;
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
        Question::Unsound(status) => format!("{}{CORRUPTED} ", remarks(status)),
        Question::Refused(status) => remarks(status),
        Question::AbandonOrPick => {
            "Abandon pipeline or pick a different phase? (abandon/pick) ".to_owned()
        }
        Question::Pick(workflow) => pick(workflow),
        Question::Restart(workflow) => {
            format!(
                "Archive {} and start its plan again? [y/N] ",
                escape(workflow.named())
            )
        }
        Question::Again(workflow, given) => {
            format!(
                "'{}' is not a valid answer.\n{}",
                escape(given),
                letters(workflow)
            )
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
pub fn first_line(status: &Status) -> String {
    let asked = if status.report.errors.is_empty() {
        letters(&status.run.workflow)
    } else {
        CORRUPTED.to_owned()
    };
    asked.trim_end().to_owned()
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
    let drift = status
        .drift
        .as_ref()
        .filter(|drift| drift.count() > 0)
        .map(|drift| summary::drift(drift, now_ms));
    let beside = format!("{}{}", drift.unwrap_or_default(), remarks(status));
    let gap = if beside.is_empty() { "" } else { "\n" };
    match voice(workflow) {
        Some(Profile::Registry) => format!(
            "{}{gap}{beside}\n{}",
            registry(workflow, now_ms),
            letters(workflow)
        ),
        Some(Profile::Phases) => {
            let started = rfc3339_seconds(workflow.created_ms);
            let head = format!(
                "Detected interrupted workflow: {} (started {started})\n",
                escape(workflow.named())
            );
            let is_stale = is_stale(workflow, now_ms);
            let offer = if is_stale {
                "This state is old: answer n to archive it and start fresh.\n"
            } else {
                ""
            };
            format!("{head}{beside}{offer}{}", letters(workflow))
        }
        _ => format!(
            "{}{gap}{beside}\n{}",
            summary::summary(workflow, time::shown(for_a_person)),
            letters(workflow)
        ),
    }
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
        in_words(workflow.created_ms, now_ms),
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
    match &conflict.kind {
        ConflictKind::Malformed { findings, raw } => {
            let listed: String = findings
                .iter()
                .map(|finding| format!("  {}\n", super::findings::finding(finding)))
                .collect();
            let text = String::from_utf8_lossy(raw);
            let shown: String = text
                .lines()
                .map(|line| format!("  | {}\n", escape(line)))
                .collect();
            let ask = if conflict.path.starts_with("memory/") {
                CORRUPTED
            } else if conflict.path.starts_with(".claude/checkpoints/") {
                "Delete the corrupted checkpoint? It is kept in the archive. [y/N]"
            } else {
                "Attempt manual recovery or start fresh? (recover/fresh)"
            };
            format!(
                "State file is malformed: {}\n{listed}It says:\n{shown}{ask} ",
                escape(&conflict.path)
            )
        }
        ConflictKind::Gone => format!(
            "{} was removed, and its workflow {} is open.\nHas it ended, or should the file be written again? (ended/anew) ",
            conflict.path,
            conflict.run.as_deref().unwrap_or_default(),
        ),
        ConflictKind::BothChanged { file, state } => {
            let lines = |text: String| {
                text.lines()
                    .map(|line| format!("  | {}\n", escape(line)))
                    .collect::<String>()
            };
            format!(
                "{} was edited while the workflow moved on.\nThe file says:\n{}The recorded state says:\n{}Which counts? (file/state) ",
                conflict.path,
                lines(render(file)),
                lines(render(state))
            )
        }
    }
}
