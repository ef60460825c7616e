//! Repairs after an interruption, judged by the files on disk.

use crate::workflow::rules::change::{Change, Given};
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;

/// One repair.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What was found and will be done, in words.
    pub what: String,
    pub change: Change,
}

/// Returns all repairs, tasks first.
pub fn repairs(workflow: &Workflow, observations: &Observations) -> Vec<Repair> {
    let tasks = workflow.tasks.iter();
    let tasks = tasks.filter(|task| task.status == TaskStatus::Running);
    let phases = workflow.phases.iter();
    let phases = phases.filter(|phase| phase.status == PhaseStatus::InProgress);
    tasks
        .map(|task| of_task(task, observations))
        .chain(phases.filter_map(|phase| of_phase(workflow, phase, observations)))
        .collect()
}

fn of_task(task: &Task, observations: &Observations) -> Repair {
    let id = &task.id;
    let seen = task
        .output
        .as_ref()
        .map(|path| (path, observations.get(path)));
    let found = seen.and_then(|(path, found)| Some((path, found?.task_status()?)));
    let ended = match found {
        Some((path, TaskStatus::Complete)) => Some((path, "complete", Change::of_task("done", id))),
        Some((path, TaskStatus::Failed)) => {
            let change = Change::of_task("fail", id).noting(format!("as {path} says"));
            Some((path, "failed", change))
        }
        _ => None,
    };
    if let Some((path, status, change)) = ended {
        let what = format!("task {id} was running and its output {path} is there: it is {status}");
        return Repair { what, change };
    }
    let why = match seen {
        None => "its output is not known".to_owned(),
        Some((path, None)) => format!("its output {path} is outside this directory"),
        Some((path, Some(ObservedFile::Missing))) => format!("its output {path} is missing"),
        Some((path, Some(ObservedFile::There { status, .. }))) => {
            format!(
                "its output {path} says '{}'",
                status.as_deref().unwrap_or_default()
            )
        }
        Some((path, Some(_))) => format!("its output {path} was cut off"),
    };
    let attempt = task.attempts + u32::from(!task.is_next_counted);
    let given = Given {
        is_cut_off: true,
        ..Given::default()
    };
    Repair {
        what: format!(
            "task {id} was running and {why}: it is pending again, for attempt {attempt}"
        ),
        change: Change::of_task("reset", id).with(given),
    }
}

fn of_phase(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Option<Repair> {
    let id = &phase.id;
    let is_there = |path: &String| {
        observations
            .get(path)
            .is_some_and(ObservedFile::is_finished)
    };
    let (required, drafts): (Vec<_>, Vec<_>) =
        phase.outputs.iter().partition(|output| output.required);
    let is_done = required.iter().all(|output| is_there(&output.path))
        && !has_open_tasks(workflow, phase, observations);
    let (verb, what) = if required.is_empty() {
        return None;
    } else if is_done {
        let end = if phase.lacks_approval() {
            "it waits for its approval"
        } else {
            "it is done"
        };
        let what = format!("was in progress and all that it had to write is there: {end}");
        ("done", what)
    } else if phase.lacks_approval() && drafts.iter().any(|output| is_there(&output.path)) {
        let what =
            "was cut off at its approval: what it made is there and is shown again, not made again";
        ("await", what.to_owned())
    } else {
        return None;
    };
    let given = Given {
        observed: observations.clone(),
        ..Given::default()
    };
    Some(Repair {
        what: format!("phase {id} {what}"),
        change: Change::of_phase(verb, Some(id)).with(given),
    })
}

/// Whether a phase has open tasks. A task phase with an empty list counts as open.
fn has_open_tasks(workflow: &Workflow, phase: &Phase, observations: &Observations) -> bool {
    let mut tasks = workflow.tasks_of(phase).peekable();
    (phase.is_of_tasks() && tasks.peek().is_none())
        || tasks.any(|task| !is_done(task, observations))
}

/// Whether a task is complete and its output does not contradict that.
pub fn is_done(task: &Task, observations: &Observations) -> bool {
    let seen = task.output.as_ref().and_then(|path| observations.get(path));
    task.status == TaskStatus::Complete && seen.is_none_or(ObservedFile::is_finished)
}
