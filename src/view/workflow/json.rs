//! Workflow commands as JSON.

use serde_json::{Value, json};

use crate::base::time::{rfc3339, rfc3339_seconds};
use crate::error::problem::{Choice, WorkflowProblem};
use crate::model::state::object_id::ObjectId;
use crate::ops::warning::Warning;
use crate::view::envelope::{self, envelope, paths};
use crate::view::place::placed;
use crate::view::workflow::questions;
use crate::workflow::documents::conflict::{Conflict, finding_json};
use crate::workflow::documents::drift::FileDrift;
use crate::workflow::documents::shims::ShimsOutcome;
use crate::workflow::engine::import_export::Exported;
use crate::workflow::engine::make_mini_commit::MiniOutcome;
use crate::workflow::engine::repair_run::ConflictOutcome;
use crate::workflow::engine::report::{Compared, Listed, Shown, Status};
use crate::workflow::engine::resume::ResumeOutcome;
use crate::workflow::engine::rewind::RewindOutcome;
use crate::workflow::engine::run_lifecycle::EndOutcome;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transition::StepOutcome;
use crate::workflow::rules::advice::Advice;
use crate::workflow::rules::event::Event;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::validate::ValidationReport;
use crate::workflow::rules::workflow::Workflow;

pub fn step(command: &str, outcome: &StepOutcome, exit: u8) -> String {
    let mut data = run(&outcome.run);
    data["event"] = event(&outcome.event);
    data["evicted"] = envelope::evicted(&outcome.evicted);
    envelope(command, exit, &data, &outcome.warnings)
}

pub fn status(command: &str, status: &Status, exit: u8) -> String {
    let mut data = run(&status.run);
    add_status(&mut data, status);
    envelope(command, exit, &data, &status.warnings)
}

fn add_status(data: &mut Value, status: &Status) {
    data["next"] = advice(&status.advice);
    add_report(data, &status.report);
    data["recover"] = status
        .repairs
        .iter()
        .map(|repair| repair.what.clone())
        .collect();
    data["troubles"] = status.conflicts.iter().map(conflict).collect();
    data["drift"] = status.drift.as_ref().map_or(Value::Null, drift);
}

/// Returns what a user would be shown and asked before a run is resumed.
pub fn undecided(status: &Status) -> Value {
    let last_activity = rfc3339_seconds(status.run.workflow.updated_ms);
    let mut finding_json =
        json!({"question": questions::first_line(status), "last_activity": last_activity});
    add_status(&mut finding_json, status);
    finding_json
}

pub fn next(status: &Status, parallel: bool) -> String {
    let workflow = &status.run.workflow;
    let mut data = json!({"id": workflow.id, "next": advice(&status.advice)});
    add_report(&mut data, &status.report);
    data["recover"] = status
        .repairs
        .iter()
        .map(|repair| repair.what.clone())
        .collect();
    if parallel {
        data["ready"] = workflow
            .ready()
            .iter()
            .map(|found| phase(workflow, found))
            .collect();
    }
    envelope("workflow.next", 0, &data, &status.warnings)
}

pub fn list(listed: &Listed) -> String {
    let lost = listed
        .lost
        .iter()
        .map(|lost| json!({"id": lost.id, "damaged": true, "why": lost.why}));
    let data = json!({
        "workflows": listed.runs.iter().map(brief).collect::<Vec<_>>(),
        "damaged": lost.collect::<Vec<_>>(),
        "troubles": listed.conflicts.iter().map(conflict).collect::<Vec<_>>(),
    });
    envelope("workflow.list", 0, &data, &listed.warnings)
}

pub fn show(shown: &Shown) -> String {
    let mut data = run(&shown.run);
    let log = shown.log.iter().map(|logged| {
        let mut finding_json = event(&logged.event);
        finding_json["revision"] = logged.revision.clone().into();
        finding_json["time"] = rfc3339(logged.time_ms).into();
        finding_json
    });
    data["log"] = log.collect();
    data["log_broken"] = shown.broken.clone().into();
    data["troubles"] = shown.conflicts.iter().map(conflict).collect();
    envelope("workflow.show", 0, &data, &shown.warnings)
}

pub fn diff(compared: &Compared) -> String {
    let differences = compared
        .differences
        .iter()
        .map(|one| json!({"place": one.place, "before": one.before, "after": one.after}));
    let data = json!({"from": compared.from, "to": compared.to, "differences": differences.collect::<Vec<_>>()});
    envelope("workflow.diff", 0, &data, &compared.warnings)
}

pub fn lint(found: &Run, findings: &[Finding], exit: u8) -> String {
    let data = json!({"id": found.id(), "findings": findings.iter().map(finding_json).collect::<Vec<_>>()});
    envelope("workflow.lint", exit, &data, &[])
}

pub fn resume(outcome: &ResumeOutcome) -> String {
    let mut data = run(&outcome.run);
    data["done"] = outcome.done.into_str().into();
    add_report(&mut data, &outcome.before.report);
    data["drift"] = outcome.before.drift.as_ref().map_or(Value::Null, drift);
    data["last_activity"] = rfc3339_seconds(outcome.before.run.workflow.updated_ms).into();
    data["recovered"] = outcome.repaired.clone().into();
    data["next"] = advice(&outcome.advice);
    envelope("workflow.resume", 0, &data, &outcome.warnings)
}

pub fn recover(found: &Run, repaired: &[String], dry_run: bool, warnings: &[Warning]) -> String {
    let mut data = run(found);
    data["recovered"] = repaired.into();
    data["dry_run"] = dry_run.into();
    envelope("workflow.recover", 0, &data, warnings)
}

pub fn settled(path: &str, outcome: &ConflictOutcome) -> String {
    let data = json!({"path": path, "put_aside": outcome.kept_as, "started": outcome.started});
    envelope("workflow.recover", 0, &data, &outcome.warnings)
}

pub fn rewind(outcome: &RewindOutcome, exit: u8) -> String {
    let mut data = run(&outcome.run);
    data["to"] = outcome.to.clone().into();
    data["dry_run"] = outcome.dry_run.into();
    data["state_rewound"] = outcome.state.is_some().into();
    let hex = |id: ObjectId| id.to_hex();
    data["files"] = outcome.files.as_ref().map_or(Value::Null, |files| {
        json!({
            "restored_from": hex(files.target.id),
            "safety": files.safety.map(hex),
            "written": files.plan.write.len(),
            "deleted": files.plan.delete.len(),
        })
    });
    envelope("workflow.rewind", exit, &data, &outcome.warnings)
}

pub fn ended(command: &str, outcome: &EndOutcome) -> String {
    let data = json!({
        "archived": outcome.archived,
        "purged": outcome.purged,
        "removed_folders": outcome.removed_folders,
        "removed_files": outcome.removed_files,
        "dry_run": outcome.dry_run,
    });
    envelope(command, 0, &data, &outcome.warnings)
}

pub fn mini_commit(outcome: &MiniOutcome) -> String {
    let data = json!({
        "due": outcome.message.is_some(),
        "message": outcome.message,
        "checkpoint": outcome.checkpoint.map(ObjectId::to_hex),
        "commit": outcome.commit,
    });
    let warnings = outcome
        .step
        .as_ref()
        .map(|step| &*step.warnings)
        .unwrap_or_default();
    envelope("workflow.mini_commit", 0, &data, warnings)
}

/// Returns the exported document.
pub fn document(command: &str, exported: &Exported) -> String {
    let value: Value = serde_json::from_str(&exported.text).unwrap_or_default();
    let mut data = json!({"document": value});
    if !exported.conflicts.is_empty() {
        data["troubles"] = exported.conflicts.iter().map(conflict).collect();
    }
    envelope(command, 0, &data, &exported.warnings)
}

pub fn shims(outcome: &ShimsOutcome) -> String {
    envelope(
        "workflow.shims",
        0,
        &json!({"written": outcome.written, "left": outcome.left}),
        &[],
    )
}

pub fn tasks(status: &Status, only: Option<&str>) -> String {
    let tasks = status
        .run
        .workflow
        .tasks
        .iter()
        .filter(|task| only.is_none_or(|phase| task.phase.as_deref() == Some(phase)));
    let conflicts: Vec<Value> = status.conflicts.iter().map(conflict).collect();
    let id = &status.run.workflow.id;
    let data =
        json!({"id": id, "tasks": tasks.map(task).collect::<Vec<_>>(), "troubles": conflicts});
    envelope("task.list", 0, &data, &status.warnings)
}

/// Adds the details of a failure beyond its message.
pub fn add_problem(finding_json: &mut Value, problem: &WorkflowProblem) {
    if !problem.options.is_empty() {
        finding_json["options"] = problem.options.iter().map(choice).collect();
    }
    let state = problem
        .state
        .as_deref()
        .and_then(|state| serde_json::from_value(state.clone()).ok());
    if let Some(state) = state {
        finding_json["state"] = state_of(&state);
    }
    if let Some(detail) = &problem.detail {
        finding_json["detail"] = (**detail).clone();
    }
}

fn choice(choice: &Choice) -> Value {
    json!({"key": choice.key, "label": choice.label, "command": placed(&choice.command)})
}

fn brief(run: &Run) -> Value {
    let workflow = &run.workflow;
    json!({
        "id": run.id(),
        "type": workflow.kind,
        "project": workflow.project,
        "description": workflow.description,
        "status": workflow.word(),
        "archived": !run.is_live(),
        "created_at": rfc3339_seconds(workflow.created_ms),
        "updated_at": rfc3339_seconds(workflow.updated_ms),
        "current": workflow.current().map(|phase| &phase.id),
        "phases": workflow.phases.len(),
        "completed": workflow.completed().count(),
        "percent": workflow.percent(),
        "revision": run.tip.to_hex(),
    })
}

fn run(run: &Run) -> Value {
    let mut data = state_of(&run.workflow);
    // A state read from a file has no revision.
    data["revision"] = (*run.tip.as_bytes() != [0; 20])
        .then(|| run.tip.to_hex())
        .into();
    data["archived_as"] = run.archived_as.clone().into();
    data
}

fn state_of(workflow: &Workflow) -> Value {
    let ids = |phases: &mut dyn Iterator<Item = &Phase>| {
        phases.map(|phase| phase.id.clone()).collect::<Vec<_>>()
    };
    json!({
        "id": workflow.id,
        "type": workflow.kind,
        "project": workflow.project,
        "description": workflow.description,
        "profiles": workflow.profiles.iter().map(<&str>::from).collect::<Vec<_>>(),
        "status": workflow.word(),
        "created_at": rfc3339_seconds(workflow.created_ms),
        "updated_at": rfc3339_seconds(workflow.updated_ms),
        "finished_at": workflow.finished_ms.map(rfc3339_seconds),
        "resume_count": workflow.resume_count,
        "interrupted": workflow.interrupted.as_ref().map(|cut| json!({"reason": cut.reason, "at": rfc3339_seconds(cut.at_ms)})),
        "current": workflow.current().map(|phase| &phase.id),
        "completed": ids(&mut workflow.completed()),
        "remaining": ids(&mut workflow.remaining()),
        "ready": ids(&mut workflow.ready().into_iter()),
        "percent": workflow.percent(),
        "phases": workflow.phases.iter().map(|found| phase(workflow, found)).collect::<Vec<_>>(),
        "tasks": workflow.tasks.iter().map(task).collect::<Vec<_>>(),
        "branch": workflow.context.branch,
        "key_decisions": workflow.context.key_decisions,
        "file_paths": workflow.context.file_paths,
        "state": workflow.state,
        "last_error": workflow.last_error,
    })
}

fn phase(workflow: &Workflow, phase: &Phase) -> Value {
    json!({
        "number": workflow.number_of(&phase.id),
        "id": phase.id,
        "name": phase.name,
        "status": phase.status.into_str(),
        "dependencies": phase.dependencies,
        "unmet": workflow.unmet(phase),
        "writes": phase.writes,
        "commits": phase.commits,
        "requires_approval": phase.requires_approval,
        "approved_at": phase.approved_ms.map(rfc3339_seconds),
        "started_at": phase.started_ms.map(rfc3339_seconds),
        "completed_at": phase.completed_ms.map(rfc3339_seconds),
        "progress": phase.progress,
        "commit_sha": phase.commit_sha,
        "attempts": phase.attempts,
        "last_error": phase.last_error,
        "outputs": phase.outputs.iter().map(|output| json!({"path": output.path, "required": output.required})).collect::<Vec<_>>(),
        "checkpoints": {"before": phase.before, "after": phase.after},
    })
}

fn task(task: &Task) -> Value {
    json!({
        "id": task.id,
        "name": task.name,
        "phase": task.phase,
        "status": task.status.into_str(),
        "attempts": task.attempts,
        "started_at": task.started_ms.map(rfc3339_seconds),
        "completed_at": task.completed_ms.map(rfc3339_seconds),
        "output": task.output,
        "agent": task.agent,
        "note": task.note,
    })
}

fn event(event: &Event) -> Value {
    json!({
        "event": event.verb,
        "phase": event.phase,
        "task": event.task,
        "actor": event.actor,
        "session": event.session,
        "checkpoints": event.checkpoints,
        "note": event.note,
    })
}

fn advice(advice: &Advice) -> Value {
    json!({"action": advice.action, "words": advice.words, "phase": advice.phase})
}

fn add_report(data: &mut Value, report: &ValidationReport) {
    data["valid"] = report.errors.is_empty().into();
    data["errors"] = report.errors.iter().map(finding_json).collect();
    data["remarks"] = report.remarks.iter().map(finding_json).collect();
}

fn conflict(conflict: &Conflict) -> Value {
    let mut finding_json = conflict.detail();
    finding_json["what"] = conflict.in_words().into();
    finding_json["workflow"] = conflict.run.clone().into();
    finding_json
}

fn drift(drift: &FileDrift) -> Value {
    json!({
        "phase": drift.phase,
        "checkpoint": drift.checkpoint.to_hex(),
        "since": rfc3339(drift.since_ms),
        "added": paths(drift.added.iter()),
        "changed": paths(drift.changed.iter()),
        "deleted": paths(drift.deleted.iter()),
    })
}
