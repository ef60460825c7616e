//! Repairs after an interruption, judged by the files on disk.

use crate::workflow::rules::change::Change;
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::workflow::{
    Phase, PhaseOutput, PhaseStatus, Task, TaskStatus, Workflow,
};

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
    let (id, path) = (&task.id, task.output.as_deref().unwrap_or_default());
    let found = observations.get(path);
    let ended = |verb: &str, status: &str| Repair {
        what: format!("task {id} was running and its output {path} is there: it is {status}"),
        change: Change::of_task(verb, id),
    };
    let why = match (found, found.and_then(ObservedFile::task_status)) {
        (_, Some(TaskStatus::Complete)) => return ended("done", "complete"),
        (_, Some(TaskStatus::Failed)) => {
            let mut repair = ended("fail", "failed");
            repair.change.note = Some(format!("as {path} says"));
            return repair;
        }
        _ if task.output.is_none() => "is not known".to_owned(),
        (None, _) => format!("{path} is outside this directory"),
        (Some(ObservedFile::Missing), _) => format!("{path} is missing"),
        (Some(ObservedFile::There { status, .. }), _) => {
            format!("{path} says '{}'", status.as_deref().unwrap_or_default())
        }
        _ => format!("{path} was cut off"),
    };
    let attempt = task.attempts + u32::from(!task.is_next_counted);
    let again = format!("it is pending again, for attempt {attempt}");
    let what = format!("task {id} was running and its output {why}: {again}");
    let mut change = Change::of_task("reset", id);
    change.given.is_cut_off = true;
    Repair { what, change }
}

fn of_phase(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Option<Repair> {
    let is_there = |output: &&PhaseOutput| {
        let found = observations.get(&output.path);
        found.is_some_and(ObservedFile::is_finished)
    };
    let (required, drafts): (Vec<_>, Vec<_>) =
        phase.outputs.iter().partition(|output| output.required);
    let has_drafts = drafts.iter().any(is_there);
    // A task phase with an empty list of tasks is not done.
    let mut tasks = workflow.tasks_of(phase).peekable();
    let has_tasks = !phase.is_of_tasks() || tasks.peek().is_some();
    let has_done_them = has_tasks && tasks.all(|task| is_done(task, observations));
    let is_done = has_done_them && required.iter().all(is_there);
    let all = "in progress and all that it had to write is there";
    let drafts =
        "cut off at its approval: what it made is there and is shown again, not made again";
    let (verb, what) = match phase.lacks_approval() {
        _ if required.is_empty() => return None,
        true if is_done => ("done", format!("{all}: it waits for its approval")),
        false if is_done => ("done", format!("{all}: it is done")),
        true if has_drafts => ("await", drafts.to_owned()),
        _ => return None,
    };
    let mut change = Change::of_phase(verb, Some(&phase.id));
    change.given.observed = observations.clone();
    let what = format!("phase {} was {what}", phase.id);
    Some(Repair { what, change })
}

/// Whether a task is complete and its output does not contradict that.
pub fn is_done(task: &Task, observations: &Observations) -> bool {
    let seen = task.output.as_ref().and_then(|path| observations.get(path));
    task.status == TaskStatus::Complete && seen.is_none_or(ObservedFile::is_finished)
}
