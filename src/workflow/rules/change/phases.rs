//! Transitions of phases.

use serde_json::Value;

use crate::workflow::rules::advice::approve_command;
use crate::workflow::rules::change::kinds::{Finish, PhaseChange, Start};
use crate::workflow::rules::derived::may_run_in_parallel;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::OutputFlaw;
use crate::workflow::words::next_step::phase_command;
use crate::workflow::words::run_error::{RunError, approves, ends, shows_state, starts};

/// # Errors
/// There is no such phase, or its state does not allow the change.
pub fn apply(workflow: &mut Workflow, change: &PhaseChange, now_ms: i64) -> Result<(), RunError> {
    match change {
        PhaseChange::Start(begin) => start(workflow, begin, now_ms),
        PhaseChange::Progress { phase, text } => {
            let phase = under_way(workflow, phase.as_deref(), "progress")?;
            phase.progress = Some(text.clone());
            Ok(())
        }
        PhaseChange::Done(end) => finish(workflow, end, now_ms),
        PhaseChange::Fail {
            phase,
            error,
            is_final,
        } => {
            let phase = under_way(workflow, phase.as_deref(), "fail")?;
            phase.status = PhaseStatus::Failed;
            phase.last_error = Some(error.clone());
            workflow.last_error = Some(Value::from(error.as_str()));
            if *is_final {
                workflow.end(RunStatus::Failed, now_ms);
            }
            Ok(())
        }
        PhaseChange::Skip { phase, reason } => skip(workflow, phase, reason, now_ms),
        PhaseChange::Approve { phase } => approve(workflow, phase.as_deref(), now_ms),
        PhaseChange::Await { phase } => {
            under_way(workflow, Some(phase), "approve")?.status = PhaseStatus::AwaitingApproval;
            Ok(())
        }
        PhaseChange::Reset { phase } => {
            let known = known(workflow, phase)?;
            if !known.status.is_under_way() {
                return Err(wrong_state(workflow, known, "put back"));
            }
            find(workflow, phase)?.status = PhaseStatus::Pending;
            Ok(())
        }
    }
}

/// # Errors
/// There is no such phase, it has begun, or a dependency is not settled.
fn start(workflow: &mut Workflow, start: &Start, now_ms: i64) -> Result<(), RunError> {
    let id = to_start(workflow, start.phase.as_deref())?;
    check_start(workflow, &id, start.force)?;
    let phase = find(workflow, &id)?;
    phase.status = PhaseStatus::InProgress;
    phase.attempts += 1;
    (phase.started_ms, phase.completed_ms) = (Some(now_ms), None);
    let error = phase.last_error.take().map(Value::from);
    phase.before = start.before.clone().or(phase.before.take());
    phase.head.clone_from(&start.head);
    if error.is_some() && workflow.last_error == error {
        workflow.last_error = None;
    }
    Ok(())
}

/// Returns the id of the phase to start; the next one if none is named.
pub fn to_start(workflow: &Workflow, named: Option<&str>) -> Result<String, RunError> {
    if let Some(id) = named {
        return known(workflow, id).map(|phase| phase.id.clone());
    }
    let failed = workflow
        .phases
        .iter()
        .find(|phase| phase.status == PhaseStatus::Failed);
    let next = failed.or_else(|| {
        workflow
            .remaining()
            .find(|phase| workflow.unmet(phase).is_empty())
    });
    let waiting = || {
        workflow
            .running()
            .find(|phase| phase.status == PhaseStatus::AwaitingApproval)
    };
    next.map(|phase| phase.id.clone())
        .ok_or_else(|| match waiting() {
            Some(phase) => RunError::ApprovalFirst {
                phase: phase.id.clone(),
                command: approve_command(workflow, phase),
            },
            None => RunError::NothingToStart {
                run: workflow.named().to_owned(),
            },
        })
}

/// # Errors
/// The phase has begun, or a dependency is not settled.
fn check_start(workflow: &Workflow, id: &str, force: bool) -> Result<(), RunError> {
    let phase = known(workflow, id)?;
    if !matches!(phase.status, PhaseStatus::Pending | PhaseStatus::Failed) {
        return Err(wrong_state(workflow, phase, "start"));
    }
    if force {
        return Ok(());
    }
    let unmet = workflow.unmet(phase);
    if !unmet.is_empty() {
        let waiting = unmet
            .iter()
            .filter_map(|id| workflow.phase(id))
            .find(|phase| phase.status == PhaseStatus::AwaitingApproval);
        return Err(RunError::DependenciesUnmet {
            phase: id.to_owned(),
            unmet: unmet.join(", "),
            command: waiting.map(|phase| approve_command(workflow, phase)),
        });
    }
    let other = workflow
        .running()
        .find(|other| other.id != id && !may_run_in_parallel(phase, other));
    other.map_or(Ok(()), |other| {
        Err(RunError::NotSideBySide {
            phase: id.to_owned(),
            other: other.id.clone(),
            both_commit: phase.commits && other.commits,
        })
    })
}

/// Completes a phase, or makes it wait for a required approval.
///
/// # Errors
/// No such phase is under way, a required output is missing, or a task is open.
fn finish(workflow: &mut Workflow, finish: &Finish, now_ms: i64) -> Result<(), RunError> {
    let id = under_way(workflow, finish.phase.as_deref(), "done")?
        .id
        .clone();
    if !finish.force {
        check_finish(workflow, &id, finish)?;
    }
    let phase = find(workflow, &id)?;
    for output in &mut phase.outputs {
        output.sha256 = finish
            .present
            .iter()
            .find(|(path, _)| *path == output.path)
            .and_then(|(_, sum)| sum.clone());
    }
    phase.commit_sha = finish.commit_sha.clone().or(phase.commit_sha.take());
    phase.after = finish.after.clone().or(phase.after.take());
    if phase.requires_approval && phase.approved_ms.is_none() {
        phase.status = PhaseStatus::AwaitingApproval;
    } else {
        complete(phase, now_ms);
    }
    workflow.note(&finish.decisions, &finish.files);
    end_if_settled(workflow, now_ms);
    Ok(())
}

fn check_finish(workflow: &Workflow, id: &str, finish: &Finish) -> Result<(), RunError> {
    let Some(phase) = workflow.phase(id) else {
        return Ok(());
    };
    let is_present = |path: &str| finish.present.iter().any(|(there, _)| there == path);
    let lacking = phase
        .outputs
        .iter()
        .filter(|output| output.required && !is_present(&output.path));
    let told = |path: &str| {
        let flaw = finish.flaws.iter().find(|(flawed, _)| flawed == path);
        let flaw = flaw.map_or(&OutputFlaw::Missing, |(_, flaw)| flaw);
        format!("{path} {flaw}")
    };
    let lacking: Vec<String> = lacking
        .map(|output| told(&output.path))
        .chain(finish.task_flaws.clone())
        .collect();
    let phase_id = id.to_owned();
    if !lacking.is_empty() {
        return Err(RunError::OutputsMissing {
            phase: phase_id,
            lacking,
        });
    }
    let open: Vec<String> = workflow
        .tasks_of(phase)
        .filter(|task| task.status != TaskStatus::Complete)
        .map(|task| format!("{} ({})", task.id, task.status.into_str()))
        .collect();
    if open.is_empty() {
        Ok(())
    } else {
        Err(RunError::TasksOpen {
            phase: phase_id,
            open,
        })
    }
}

/// # Errors
/// There is no such phase, or it is settled.
fn skip(workflow: &mut Workflow, id: &str, reason: &str, now_ms: i64) -> Result<(), RunError> {
    let stands = known(workflow, id)?;
    if stands.status.is_settled() {
        return Err(wrong_state(workflow, stands, "skip"));
    }
    let phase = find(workflow, id)?;
    phase.status = PhaseStatus::Skipped;
    phase.completed_ms = Some(now_ms);
    phase.progress = (!reason.is_empty())
        .then(|| reason.to_owned())
        .or(phase.progress.take());
    end_if_settled(workflow, now_ms);
    Ok(())
}

/// Records an approval; a phase may be complete without one.
///
/// # Errors
/// The phase has not begun, or is approved already.
fn approve(workflow: &mut Workflow, named: Option<&str>, now_ms: i64) -> Result<(), RunError> {
    let phase = under_way(workflow, named, "approve")?;
    if phase.approved_ms.is_some() {
        return Err(RunError::AlreadyApproved(phase.id.clone()));
    }
    phase.approved_ms = Some(now_ms);
    if phase.status == PhaseStatus::AwaitingApproval {
        let is_present = |path: &str| {
            phase
                .outputs
                .iter()
                .any(|output| output.path == path && output.sha256.is_some())
        };
        let lacks = phase
            .outputs
            .iter()
            .any(|output| output.required && !is_present(&output.path));
        // A required output may still be missing: then the phase goes on.
        phase.status = if lacks {
            PhaseStatus::InProgress
        } else {
            PhaseStatus::Complete
        };
        if !lacks {
            complete(phase, now_ms);
        }
    }
    end_if_settled(workflow, now_ms);
    Ok(())
}

fn complete(phase: &mut Phase, now_ms: i64) {
    phase.status = PhaseStatus::Complete;
    phase.completed_ms = Some(now_ms);
    phase.last_error = None;
}

fn end_if_settled(workflow: &mut Workflow, now_ms: i64) {
    if workflow.is_all_settled() {
        workflow.last_error = None;
        workflow.end(RunStatus::Complete, now_ms);
    }
}

fn find<'w>(workflow: &'w mut Workflow, id: &str) -> Result<&'w mut Phase, RunError> {
    workflow
        .phase_mut(id)
        .ok_or_else(|| RunError::UnknownPhase(id.to_owned()))
}

fn under_way<'w>(
    workflow: &'w mut Workflow,
    named: Option<&str>,
    verb: &'static str,
) -> Result<&'w mut Phase, RunError> {
    let id = under_way_id(workflow, named)?;
    let stands = known(workflow, &id)?;
    let fits = match verb {
        "approve" if stands.status == PhaseStatus::Complete => true,
        "approve" | "fail" => stands.status.is_under_way(),
        _ => stands.status == PhaseStatus::InProgress,
    };
    if fits {
        find(workflow, &id)
    } else {
        Err(wrong_state(workflow, stands, verb))
    }
}

/// Returns the id of the named phase, or without a name of the only one under way.
pub fn under_way_id(workflow: &Workflow, named: Option<&str>) -> Result<String, RunError> {
    if let Some(id) = named {
        return known(workflow, id).map(|phase| phase.id.clone());
    }
    let running: Vec<&str> = workflow.running().map(|phase| &*phase.id).collect();
    match running[..] {
        [only] => Ok(only.to_owned()),
        [] if !workflow.status.is_open() => Err(RunError::WorkflowEnded {
            run: workflow.id.clone(),
            status: workflow.word(),
        }),
        [] => Err(RunError::NothingUnderWay),
        _ => Err(RunError::SeveralUnderWay {
            phases: running.join(", "),
        }),
    }
}

fn wrong_state(workflow: &Workflow, phase: &Phase, verb: &'static str) -> RunError {
    RunError::WrongPhaseState {
        code: match phase.status {
            PhaseStatus::Complete => "already_complete",
            PhaseStatus::InProgress if verb == "start" => "already_started",
            PhaseStatus::Pending => "not_started",
            _ => "invalid_transition",
        },
        phase: phase.id.clone(),
        status: phase.status.into_str(),
        verb,
        next: match phase.status {
            PhaseStatus::AwaitingApproval => approves(&approve_command(workflow, phase)),
            PhaseStatus::InProgress => ends(&phase_command("done", &phase.id, workflow.named())),
            PhaseStatus::Pending if workflow.unmet(phase).is_empty() => {
                starts(&phase_command("start", &phase.id, workflow.named()))
            }
            _ => shows_state(workflow.named()),
        },
    }
}

fn known<'w>(workflow: &'w Workflow, id: &str) -> Result<&'w Phase, RunError> {
    workflow.phase(id).ok_or_else(|| RunError::NoSuchPhase {
        run: workflow.named().to_owned(),
        phase: id.to_owned(),
        known: workflow.phases.iter().map(|one| one.id.clone()).collect(),
    })
}
