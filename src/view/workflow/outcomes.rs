//! Outcomes of workflow commands as text.

use crate::base::text::{escape, escape_line};
use crate::base::time::{self, rfc3339_seconds};
use crate::view::words::{Output, evicted};
use crate::view::workflow::findings::{findings, remarks};
use crate::view::workflow::{questions, summary};
use crate::workflow::engine::repair_run::{ConflictOutcome, Take};
use crate::workflow::engine::report::Status;
use crate::workflow::engine::resume::{ResumeAction, ResumeOutcome};
use crate::workflow::engine::rewind::RewindOutcome;
use crate::workflow::engine::run_lifecycle::EndOutcome;
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::rules::advice::approve_command;
use crate::workflow::rules::event::Event;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// A new run: the result is only its id.
pub fn begun(outcome: &StepOutcome) -> Output {
    let workflow = &outcome.run.workflow;
    let talk = format!("Run begun; {}\n", summary::place(workflow));
    Output {
        result: format!("{}\n", workflow.id),
        talk,
    }
}

/// A transition: what happened, and where the run is now.
pub fn step(outcome: &StepOutcome) -> Output {
    let workflow = &outcome.run.workflow;
    let result = format!(
        "{}; {}\n",
        event_words(&outcome.event),
        summary::place(workflow)
    );
    let checkpoint = outcome
        .event
        .checkpoints
        .first()
        .map(|id| format!("checkpoint {}\n", id.get(..8).unwrap_or(id)));
    let ended = outcome
        .event
        .phase
        .as_ref()
        .and_then(|id| workflow.phase(id));
    let waiting = ended
        .filter(|phase| phase.status == PhaseStatus::AwaitingApproval)
        .map(|phase| {
            format!(
                "{} waits for its approval: {}\n",
                escape(&phase.id),
                escape_line(&approve_command(workflow, phase).to_string())
            )
        });
    Output {
        result,
        talk: checkpoint
            .into_iter()
            .chain(waiting)
            .chain([evicted(&outcome.evicted)])
            .collect(),
    }
}

/// Formats `Phase build started`; an event of the whole run is its verb.
fn event_words(event: &Event) -> String {
    let object = event.phase.as_ref().or(event.task.as_ref());
    let (Some(object), Some((noun, verb))) = (object, event.verb.split_once(' ')) else {
        return event.subject();
    };
    let noun = if noun == "phase" { "Phase" } else { "Task" };
    let done = match verb {
        "start" => "started",
        "fail" => "failed",
        "skip" => "skipped",
        "approve" => "approved",
        "await" => "waits for approval",
        "progress" => "goes on",
        "add" => "added",
        verb => verb,
    };
    format!("{noun} {} {done}", escape(object))
}

pub fn status(status: &Status, now_ms: i64, for_a_person: bool) -> Output {
    let workflow = &status.run.workflow;
    let mut result = summary::summary(workflow, time::shown(for_a_person));
    if workflow.status.is_open() {
        result.push_str(&format!("\nNext: {}\n", escape_line(&status.advice.words)));
    }
    let mut talk = String::new();
    if let Some(drift) = &status.drift {
        talk.push_str(&summary::drift(drift, now_ms));
    }
    talk.push_str(&remarks(status));
    Output { result, talk }
}

pub fn next(status: &Status, parallel: bool) -> Output {
    let workflow = &status.run.workflow;
    if parallel {
        let result = workflow
            .ready()
            .iter()
            .map(|phase| format!("{}\n", escape(&phase.id)))
            .collect();
        return Output {
            result,
            talk: String::new(),
        };
    }
    let phase = status
        .advice
        .phase
        .as_ref()
        .map(|id| format!("{}: ", escape(id)))
        .unwrap_or_default();
    Output {
        result: format!("{phase}{}\n", escape_line(&status.advice.words)),
        talk: remarks(status),
    }
}

/// `was_shown`: findings and changed files were shown already with a question.
pub fn resume(outcome: &ResumeOutcome, was_shown: bool, now_ms: i64) -> Output {
    let workflow = &outcome.run.workflow;
    let mut talk = String::new();
    if !was_shown && matches!(outcome.done, ResumeAction::Resumed | ResumeAction::Picked) {
        let drift = outcome
            .before
            .drift
            .as_ref()
            .filter(|drift| drift.count() > 0);
        talk.extend(drift.map(|drift| summary::drift(drift, now_ms)));
        talk.push_str(&findings(&outcome.before));
    }
    talk.extend(
        outcome
            .repaired
            .iter()
            .map(|what| format!("recovered: {}\n", escape(what))),
    );
    let next = workflow.next().map(|phase| {
        if is_phases(workflow) {
            phase.id.clone()
        } else {
            phase.name.clone()
        }
    });
    match outcome.done {
        ResumeAction::Viewed => {}
        ResumeAction::Resumed | ResumeAction::Picked => {
            let from = next
                .map(|next| format!(" from {} phase", escape(&next)))
                .unwrap_or_default();
            talk.push_str(&format!(
                "Resuming workflow {}{from}\n",
                escape(workflow.named())
            ));
            talk.push_str(&format!(
                "Last activity: {}\n",
                rfc3339_seconds(outcome.before.run.workflow.updated_ms)
            ));
            let completed: Vec<String> = workflow
                .completed()
                .map(|phase| escape(&phase.id))
                .collect();
            let completed = if completed.is_empty() {
                "nothing yet".to_owned()
            } else {
                completed.join(", ")
            };
            talk.push_str(&format!("Completed: {completed}\n"));
        }
        ResumeAction::StartedFresh => {
            talk.push_str(&format!(
                "Started {}; the old run was archived\n",
                workflow.id
            ));
        }
        ResumeAction::Deleted => talk.push_str("Deleted; the archive keeps it\n"),
        ResumeAction::Abandoned => talk.push_str("Abandoned; the archive keeps it\n"),
    }
    let result = match outcome.done {
        ResumeAction::Deleted | ResumeAction::Abandoned => String::new(),
        ResumeAction::Viewed => questions::details(workflow),
        _ => format!("Next: {}\n", escape_line(&outcome.advice.words)),
    };
    Output { result, talk }
}

fn is_phases(workflow: &Workflow) -> bool {
    workflow.profiles.first() == Some(&Profile::Phases)
}

pub fn rewind(outcome: &RewindOutcome) -> Output {
    let workflow = &outcome.run.workflow;
    let would = if outcome.dry_run { "would go" } else { "went" };
    let mut result = String::new();
    if let Some(files) = &outcome.files {
        let counts = format!(
            "{} written, {} deleted",
            files.plan.write.len() + files.plan.chmod.len(),
            files.plan.delete.len()
        );
        let undo = if files.safety.is_some() {
            "; 'checkpoint undo' takes this back"
        } else {
            ""
        };
        result.push_str(&format!(
            "The files {would} back to before {} ({counts}){undo}.\n",
            escape(&outcome.to)
        ));
    }
    if outcome.takes_state {
        result.push_str(&format!(
            "Workflow {} {would} back to before {}.\n",
            escape(workflow.named()),
            escape(&outcome.to)
        ));
    }
    Output {
        result,
        talk: String::new(),
    }
}

pub fn recovered(id: &str, repaired: &[String], dry_run: bool) -> Output {
    if repaired.is_empty() {
        return Output {
            result: format!("Nothing to recover in {}.\n", escape(id)),
            talk: String::new(),
        };
    }
    let word = if dry_run { "would be" } else { "was" };
    let listed: String = repaired
        .iter()
        .map(|what| format!("  {}\n", escape(what)))
        .collect();
    Output {
        result: format!("In {} this {word} repaired:\n{listed}", escape(id)),
        talk: String::new(),
    }
}

pub fn settled(path: &str, side: Take, outcome: &ConflictOutcome) -> Output {
    let path = escape(path);
    let kept = outcome.kept_as.as_ref();
    let kept = kept.map(|to| format!("; what it said is kept as {}", escape(to)));
    let done = match (side, &kept) {
        (Take::File, _) => format!("Imported {path}"),
        (Take::State, _) => format!("Wrote {path} from the recorded state"),
        (Take::None, Some(_)) => format!("Put {path} aside"),
        (Take::None, None) => format!("Ended the workflow of {path}"),
        (Take::Copy, _) => format!("Left {path} for you to fix"),
    };
    let started = outcome
        .started
        .as_ref()
        .map(|id| format!("Started {id}; the old run was archived\n"));
    Output {
        result: format!(
            "{done}{}.\n{}",
            kept.unwrap_or_default(),
            started.unwrap_or_default()
        ),
        talk: String::new(),
    }
}

pub fn ended(outcome: &EndOutcome) -> Output {
    let (aside, purged, gone) = if outcome.dry_run {
        ("Would archive", "Would delete", "Would remove")
    } else {
        ("Archived", "Deleted", "Removed")
    };
    let lines = outcome.archived.iter().map(|id| format!("{aside} {id}\n"));
    let purged = outcome
        .purged
        .iter()
        .map(|id| format!("{purged} {id} with all its transitions\n"));
    let removed = outcome.removed_folders.iter().chain(&outcome.removed_files);
    let removed = removed.map(|path| format!("{gone} {}\n", escape(path)));
    let result: String = lines.chain(purged).chain(removed).collect();
    if result.is_empty() {
        return Output {
            result: "Nothing to clean up.\n".to_owned(),
            talk: String::new(),
        };
    }
    Output {
        result,
        talk: String::new(),
    }
}
