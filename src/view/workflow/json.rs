//! Workflow commands as JSON.

use serde_json::Value;

use crate::base::json::parse;
use crate::base::text::escape_line;
use crate::model::json::{ChangeJson, CheckpointRef, TimeText, dropped};
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::ops::warning::Warning;
use crate::view::envelope::envelope;
use crate::view::place::{placed, placed_command};
use crate::view::restore;
use crate::view::workflow::answers::{
    AdviceJson, CheckAnswer, DocumentAnswer, DriftJson, LogRow, NextAnswer, RecoverAnswer,
    ReportJson, ResumeAnswer, RewindAnswer, RewoundFiles, RunListAnswer, RunRow, RunShowAnswer,
    RunStatusAnswer, RunStepAnswer, StatusParts, StepAnswer, TaskListAnswer, TroubleJson,
    Undecided,
};
use crate::view::workflow::questions;
use crate::view::workflow::run_json::{PhaseJson, RunJson};
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::drift::FileDrift;
use crate::workflow::engine::import_export::Exported;
use crate::workflow::engine::repair_run::ConflictOutcome;
use crate::workflow::engine::report::{Checked, Listed, Shown, Status};
use crate::workflow::engine::resume::ResumeOutcome;
use crate::workflow::engine::rewind::RewindOutcome;
use crate::workflow::engine::run_lifecycle::EndOutcome;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::rules::advice::Advice;

/// Answers with the run, or with the phase or task that was changed.
pub fn step(command: &str, outcome: &StepOutcome, exit: u8) -> String {
    let event = outcome.event.clone();
    let dropped = dropped(&outcome.evicted);
    if command.starts_with("workflow.") {
        let data = RunStepAnswer {
            run: RunJson::new(&outcome.run),
            event,
            dropped,
        };
        return envelope(command, exit, &data, &outcome.warnings);
    }
    let workflow = &outcome.run.workflow;
    let task = outcome.event.task.as_ref();
    let task = task.and_then(|id| workflow.tasks.iter().find(|task| task.id == *id));
    let phase = outcome.event.phase.as_ref();
    let phase = phase.or_else(|| task?.phase.as_ref());
    let phase = phase.and_then(|id| workflow.phases.iter().find(|phase| phase.id == *id));
    let data = StepAnswer {
        workflow: workflow.id.clone(),
        revision: outcome.run.tip.to_hex(),
        status: workflow.word().to_owned(),
        event,
        dropped,
        phase: phase.map(|phase| PhaseJson::new(workflow, phase)),
        task: task.cloned(),
    };
    envelope(command, exit, &data, &outcome.warnings)
}

pub fn status(status: &Status) -> String {
    let data = RunStatusAnswer {
        run: RunJson::new(&status.run),
        seen: seen(status),
    };
    envelope("workflow.status", 0, &data, &status.warnings)
}

pub fn check(checked: &Checked, exit: u8) -> String {
    let status = &checked.status;
    let data = CheckAnswer {
        id: status.run.workflow.id.clone(),
        seen: seen(status),
        order: checked.order.clone(),
    };
    envelope("workflow.check", exit, &data, &status.warnings)
}

fn seen(status: &Status) -> StatusParts {
    StatusParts {
        next: advice(&status.advice),
        report: report(status),
        recover: repairs(status),
        troubles: troubles(&status.conflicts),
        drift: status.drift.as_ref().map(drift),
    }
}

fn repairs(status: &Status) -> Vec<String> {
    let repairs = status.repairs.iter();
    repairs.map(|repair| repair.what.clone()).collect()
}

/// Returns what a user would be shown and asked before a run is resumed.
pub fn undecided(status: &Status) -> Value {
    let question = Undecided {
        question: questions::first_line(status),
        last_activity_at: TimeText::new(status.run.workflow.updated_ms),
        seen: seen(status),
    };
    serde_json::to_value(question).unwrap_or_default()
}

pub fn next(status: &Status, parallel: bool) -> String {
    let workflow = &status.run.workflow;
    let ready = || workflow.ready().into_iter();
    let data = NextAnswer {
        id: workflow.id.clone(),
        next: advice(&status.advice),
        report: report(status),
        recover: repairs(status),
        ready: parallel.then(|| {
            ready()
                .map(|phase| PhaseJson::new(workflow, phase))
                .collect()
        }),
    };
    envelope("workflow.next", 0, &data, &status.warnings)
}

pub fn list(listed: &Listed) -> String {
    let data = RunListAnswer {
        workflows: listed.runs.iter().map(brief).collect(),
        damaged: listed.lost.clone(),
        troubles: troubles(&listed.conflicts),
    };
    envelope("workflow.list", 0, &data, &listed.warnings)
}

pub fn show(shown: &Shown) -> String {
    let log = shown.log.iter().map(|logged| LogRow {
        event: logged.event.clone(),
        revision: logged.revision.clone(),
        time: TimeText::new(logged.time_ms),
    });
    let data = RunShowAnswer {
        run: RunJson::new(&shown.run),
        log: log.collect(),
        log_broken: shown.broken.clone(),
        troubles: troubles(&shown.conflicts),
    };
    envelope("workflow.show", 0, &data, &shown.warnings)
}

pub fn resume(outcome: &ResumeOutcome) -> String {
    let before = &outcome.before;
    let data = ResumeAnswer {
        run: RunJson::new(&outcome.run),
        done: outcome.done.into_str(),
        report: report(before),
        drift: before.drift.as_ref().map(drift),
        last_activity_at: TimeText::new(before.run.workflow.updated_ms),
        recovered: outcome.repaired.clone(),
        next: advice(&outcome.advice),
    };
    envelope("workflow.resume", 0, &data, &outcome.warnings)
}

pub fn recover(found: &Run, repaired: &[String], dry_run: bool, warnings: &[Warning]) -> String {
    let data = RecoverAnswer {
        run: Some(RunJson::new(found)),
        recovered: repaired.to_vec(),
        dry_run,
        file: None,
        put_aside: None,
        started: None,
    };
    envelope("workflow.recover", 0, &data, warnings)
}

pub fn settled(path: &str, outcome: &ConflictOutcome) -> String {
    let data = RecoverAnswer {
        run: None,
        recovered: Vec::new(),
        dry_run: false,
        file: Some(path.to_owned()),
        put_aside: outcome.kept_as.clone(),
        started: outcome.started.clone(),
    };
    envelope("workflow.recover", 0, &data, &outcome.warnings)
}

pub fn rewind(outcome: &RewindOutcome) -> String {
    let data = RewindAnswer {
        run: RunJson::new(&outcome.run),
        to_phase_id: outcome.to.clone(),
        dry_run: outcome.dry_run,
        state_rewound: outcome.state.is_some(),
        rewound: outcome.files.as_ref().map(rewound),
    };
    envelope("workflow.rewind", 0, &data, &outcome.warnings)
}

fn rewound(files: &RestoreOutcome) -> RewoundFiles {
    RewoundFiles {
        restored_from: CheckpointRef::new(&files.target),
        safety: files.safety.as_ref().map(CheckpointRef::new),
        changes: restore::changes(&files.plan),
    }
}

pub fn ended(command: &str, outcome: &EndOutcome) -> String {
    envelope(command, 0, outcome, &outcome.warnings)
}

/// Returns the exported document.
pub fn document(exported: &Exported) -> String {
    let data = DocumentAnswer {
        document: parse(exported.text.as_bytes()).unwrap_or_default(),
        troubles: troubles(&exported.conflicts),
    };
    envelope("workflow.export", 0, &data, &exported.warnings)
}

pub fn tasks(status: &Status, only: Option<&str>) -> String {
    let workflow = &status.run.workflow;
    let tasks = workflow
        .tasks
        .iter()
        .filter(|task| only.is_none_or(|phase| task.phase.as_deref() == Some(phase)));
    let data = TaskListAnswer {
        id: workflow.id.clone(),
        tasks: tasks.cloned().collect(),
        troubles: troubles(&status.conflicts),
    };
    envelope("task.list", 0, &data, &status.warnings)
}

fn brief(run: &Run) -> RunRow {
    let workflow = &run.workflow;
    RunRow {
        id: run.id().to_owned(),
        kind: workflow.kind.clone(),
        project: workflow.project.clone(),
        description: workflow.description.clone(),
        status: workflow.word().to_owned(),
        is_archived: !run.is_live(),
        created_at: TimeText::new(workflow.created_ms),
        updated_at: TimeText::new(workflow.updated_ms),
        current: workflow.current().map(|phase| phase.id.clone()),
        phase_count: workflow.phases.len(),
        completed_count: workflow.completed().count(),
        percent: workflow.percent(),
        revision: run.tip.to_hex(),
    }
}

fn advice(advice: &Advice) -> AdviceJson {
    let command = advice.command.clone().map(placed_command);
    AdviceJson {
        action: advice.action,
        command: command.and_then(|command| command.to_run()),
        words: escape_line(&placed(&advice.words)),
        phase_id: advice.phase.clone(),
    }
}

fn report(status: &Status) -> ReportJson {
    let report = &status.report;
    ReportJson {
        valid: report.errors.is_empty(),
        errors: report.errors.clone(),
        remarks: report.remarks.clone(),
    }
}

fn troubles(conflicts: &[Conflict]) -> Vec<TroubleJson> {
    let trouble = |conflict: &Conflict| {
        let detail = conflict.detail();
        let part = |name: &str| detail.get(name).cloned();
        TroubleJson {
            file: conflict.path.clone(),
            what: conflict.in_words(),
            workflow: conflict.run.clone(),
            findings: part("findings"),
            raw: part("raw"),
            in_file: part("file"),
            in_store: part("state"),
        }
    };
    conflicts.iter().map(trouble).collect()
}

fn drift(drift: &FileDrift) -> DriftJson {
    DriftJson {
        phase_id: drift.phase.clone(),
        checkpoint: CheckpointRef::new(&drift.checkpoint),
        begun_at: TimeText::new(drift.since_ms),
        changes: ChangeJson::all("added", &drift.added)
            .chain(ChangeJson::all("changed", &drift.changed))
            .chain(ChangeJson::all("deleted", &drift.deleted))
            .collect(),
    }
}
