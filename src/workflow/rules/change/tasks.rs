//! Transitions of tasks.

use crate::error::problem::WorkflowProblem;
use crate::workflow::rules::change::kinds::Change;
use crate::workflow::rules::phase::Task;
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;

/// # Errors
/// There is no such task, it exists already, or its status does not allow the change.
pub fn apply(workflow: &mut Workflow, change: &Change, now_ms: i64) -> Result<(), WorkflowProblem> {
    match change {
        Change::AddTask {
            id,
            name,
            phase,
            output,
            agent,
        } => {
            let task = Task {
                name: name.clone(),
                phase: phase
                    .clone()
                    .or_else(|| workflow.current().map(|phase| phase.id.clone())),
                output: output.clone(),
                agent: agent.clone(),
                ..Task::new(id)
            };
            add(workflow, task)
        }
        Change::StartTask { id, agent } => {
            let task = in_state(
                workflow,
                id,
                &[TaskStatus::Pending, TaskStatus::Failed],
                "start",
            )?;
            task.status = TaskStatus::Running;
            task.attempts += u32::from(!std::mem::take(&mut task.is_next_counted));
            (task.started_ms, task.completed_ms) = (Some(now_ms), None);
            task.agent = agent.clone().or(task.agent.take());
            Ok(())
        }
        Change::FinishTask { id, output, note } => {
            let task = in_state(workflow, id, &[TaskStatus::Running], "done")?;
            task.status = TaskStatus::Complete;
            task.completed_ms = Some(now_ms);
            task.output = output.clone().or(task.output.take());
            task.note = note.clone().or(task.note.take());
            Ok(())
        }
        Change::FailTask { id, error } => {
            let task = in_state(workflow, id, &[TaskStatus::Running], "fail")?;
            task.status = TaskStatus::Failed;
            task.completed_ms = Some(now_ms);
            task.note = Some(error.clone());
            Ok(())
        }
        Change::ResetTask { id, cut_off } => {
            let task = find(workflow, id)?;
            task.status = TaskStatus::Pending;
            task.attempts += u32::from(*cut_off && !task.is_next_counted);
            task.is_next_counted |= cut_off;
            (task.started_ms, task.completed_ms) = (None, None);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add(workflow: &mut Workflow, task: Task) -> Result<(), WorkflowProblem> {
    if task.id.trim().is_empty() || task.id.chars().any(char::is_control) {
        return Err(WorkflowProblem::refused(
            "bad_id",
            "a task needs a name in one line",
        ));
    }
    if workflow.task(&task.id).is_some() {
        return Err(WorkflowProblem::refused(
            "task_exists",
            format!("there is a task {} already", task.id),
        ));
    }
    if let Some(phase) = task
        .phase
        .as_deref()
        .filter(|phase| workflow.phase(phase).is_none())
    {
        return Err(WorkflowProblem::no_such(
            "no_such_phase",
            format!("there is no phase {phase}"),
        ));
    }
    workflow.tasks.push(task);
    Ok(())
}

fn find<'w>(workflow: &'w mut Workflow, id: &str) -> Result<&'w mut Task, WorkflowProblem> {
    let missing = || {
        WorkflowProblem::no_such("no_such_task", format!("there is no task {id}"))
            .hint("'checkpoint task list' shows them")
    };
    workflow
        .tasks
        .iter_mut()
        .find(|task| task.id == id)
        .ok_or_else(missing)
}

fn in_state<'w>(
    workflow: &'w mut Workflow,
    id: &str,
    from: &[TaskStatus],
    verb: &str,
) -> Result<&'w mut Task, WorkflowProblem> {
    let task = find(workflow, id)?;
    if from.contains(&task.status) {
        return Ok(task);
    }
    let what = format!(
        "task {id} is {}; 'task {verb}' does not lead on from there",
        task.status.into_str()
    );
    Err(WorkflowProblem::refused("invalid_transition", what))
}
