//! Transitions of tasks.

use crate::workflow::rules::change::kinds::TaskChange;
use crate::workflow::rules::phase::Task;
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::RunError;

/// # Errors
/// There is no such task, it exists already, or its status does not allow the change.
pub fn apply(workflow: &mut Workflow, change: &TaskChange, now_ms: i64) -> Result<(), RunError> {
    match change {
        TaskChange::Add {
            id,
            name,
            phase,
            output,
        } => {
            let current = || workflow.current().map(|phase| phase.id.clone());
            let task = Task {
                name: name.clone(),
                phase: phase.clone().or_else(current),
                output: output.clone(),
                ..Task::new(id)
            };
            return add(workflow, task);
        }
        TaskChange::Start { id, agent } => {
            let from = [TaskStatus::Pending, TaskStatus::Failed];
            let task = in_state(workflow, id, &from, "start")?;
            task.status = TaskStatus::Running;
            task.attempts += u32::from(!std::mem::take(&mut task.is_next_counted));
            (task.started_ms, task.completed_ms) = (Some(now_ms), None);
            task.agent = agent.clone().or(task.agent.take());
        }
        TaskChange::Done { id, note } => {
            let task = in_state(workflow, id, &[TaskStatus::Running], "done")?;
            task.status = TaskStatus::Complete;
            task.completed_ms = Some(now_ms);
            task.note = note.clone().or(task.note.take());
        }
        TaskChange::Fail { id, error } => {
            let task = in_state(workflow, id, &[TaskStatus::Running], "fail")?;
            task.status = TaskStatus::Failed;
            task.completed_ms = Some(now_ms);
            task.note = Some(error.clone());
        }
        TaskChange::Reset { id, cut_off } => {
            let task = find(workflow, id)?;
            task.status = TaskStatus::Pending;
            task.attempts += u32::from(*cut_off && !task.is_next_counted);
            task.is_next_counted |= cut_off;
            (task.started_ms, task.completed_ms) = (None, None);
        }
    }
    Ok(())
}

fn add(workflow: &mut Workflow, task: Task) -> Result<(), RunError> {
    if task.id.trim().is_empty() || task.id.chars().any(char::is_control) {
        return Err(RunError::BadId);
    }
    if workflow.task(&task.id).is_some() {
        return Err(RunError::TaskExists(task.id));
    }
    if let Some(phase) = task
        .phase
        .as_deref()
        .filter(|phase| workflow.phase(phase).is_none())
    {
        return Err(RunError::UnknownPhase(phase.to_owned()));
    }
    workflow.tasks.push(task);
    Ok(())
}

fn find<'w>(workflow: &'w mut Workflow, id: &str) -> Result<&'w mut Task, RunError> {
    workflow
        .tasks
        .iter_mut()
        .find(|task| task.id == id)
        .ok_or_else(|| RunError::NoSuchTask(id.to_owned()))
}

fn in_state<'w>(
    workflow: &'w mut Workflow,
    id: &str,
    from: &[TaskStatus],
    verb: &'static str,
) -> Result<&'w mut Task, RunError> {
    let task = find(workflow, id)?;
    if from.contains(&task.status) {
        return Ok(task);
    }
    Err(RunError::WrongTaskState {
        task: id.to_owned(),
        status: task.status.into_str(),
        verb,
    })
}
