//! What to do next, in the words of the protocol that the run follows, and what to repair after an
//! interruption; both are judged by the state and the files on disk.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CommandWords;
use crate::model::json::published_as;
use crate::workflow::words::{phase_command, starts_from_plan};
use crate::workflow::{
    Change, Observations, ObservedFile, Phase, PhaseOutput, PhaseStatus, Profile, Task, TaskStatus,
    Workflow,
};

/// The next step for the worker on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// Stable code in JSON.
    pub action: &'static str,
    pub words: String,
    /// The command that the words name, as words to run.
    pub command: Option<CommandWords>,
    /// The phase concerned.
    pub phase_id: Option<String>,
}

published_as! { CommandWords, Option<Vec<String>>, CommandWords::to_run; }

impl Advice {
    fn new(action: &'static str, words: impl Into<String>) -> Self {
        Self {
            action,
            words: words.into(),
            command: None,
            phase_id: None,
        }
    }
}

/// Returns the next step.
pub fn advice(workflow: &Workflow, observations: &Observations) -> Advice {
    if workflow.is_archived && workflow.status.is_open() {
        let (run, plan) = (&workflow.id, starts_from_plan(&workflow.id));
        let words = format!("none: workflow {run} is archived; {plan}");
        return Advice::new("complete", words);
    }
    if workflow.is_all_settled() || !workflow.status.is_open() {
        return Advice::new("complete", format!("workflow {}", workflow.word()));
    }
    let Some(phase) = workflow.next() else {
        return Advice::new("plan", "no phase can start: check the plan");
    };
    let approve = phase_command("approve", &phase.id, workflow.named());
    let is_of_agents = workflow.profile == Some(Profile::Phases);
    let of_agents = is_of_agents.then(|| by_agents(workflow, phase, observations));
    let (name, id) = (&phase.name, &phase.id);
    let (action, words) = match (phase.status, of_agents.flatten()) {
        (PhaseStatus::AwaitingApproval, _) => (
            "approve",
            format!(
                "show again what {id} made, and have it approved ('{approve}'); nothing is made again"
            ),
        ),
        (PhaseStatus::Pending, Some((action, _))) if !matches!(action, "spawn" | "continue") => (
            "start",
            format!("start {name}; what it writes is there already, from before it was begun"),
        ),
        (_, Some(("approve", _))) => (
            "approve",
            format!("have ARCHITECTURE approved ('{approve}'), then advance to IMPLEMENTATION"),
        ),
        (_, Some(known)) => known,
        (PhaseStatus::Failed, None) => ("retry", format!("start {name} again")),
        (PhaseStatus::Pending, None) => ("start", format!("start {name}")),
        (_, None) => {
            let progress = phase.progress.iter().map(|text| format!(" ({text})"));
            let progress: String = progress.collect();
            ("continue", format!("continue {name}{progress}"))
        }
    };
    Advice {
        phase_id: Some(id.clone()),
        command: (action == "approve").then_some(approve),
        ..Advice::new(action, words)
    }
}

/// Returns the next step for the five phases of an agent team.
fn by_agents(run: &Workflow, phase: &Phase, seen: &Observations) -> Option<(&'static str, String)> {
    if phase.id == "IMPLEMENTATION" {
        let (tasks, all) = (run.tasks.iter(), run.tasks.len());
        let done = tasks.filter(|task| is_done(task, seen)).count();
        let text = format!("continue execution loop ({done} of {all} tasks complete)");
        let advance = ("advance", "advance to VERIFICATION".to_owned());
        let is_over = all > 0 && done == all;
        return Some(if is_over { advance } else { ("continue", text) });
    }
    let (part, next, agent) = match &*phase.id {
        "REQUIREMENTS" => ("demand", "advance to ARCHITECTURE", "PM agent"),
        "ARCHITECTURE" => ("final_design", "advance to IMPLEMENTATION", "Architects"),
        "VERIFICATION" => ("verification", "advance to REFLECTION", "QA"),
        "REFLECTION" => ("reflection", "workflow complete", "Reflector"),
        _ => return None,
    };
    let is_there = |part: &str| {
        let mut outputs = phase.outputs.iter();
        let output = outputs.find(|output| output.path.contains(part));
        let found = output.and_then(|output| seen.get(&output.path));
        found.is_some_and(ObservedFile::is_finished)
    };
    let is_architecture = phase.id == "ARCHITECTURE";
    Some(match is_there(part) {
        true if is_architecture && phase.lacks_approval() => ("approve", String::new()),
        true => ("advance", next.to_owned()),
        false if is_architecture && is_there("designs") => ("spawn", "spawn Roundtable".to_owned()),
        false => ("spawn", format!("re-spawn {agent}")),
    })
}

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
fn is_done(task: &Task, observations: &Observations) -> bool {
    let seen = task.output.as_ref().and_then(|path| observations.get(path));
    task.status == TaskStatus::Complete && seen.is_none_or(ObservedFile::is_finished)
}
