//! What to do next, in the words of the protocol that the run follows.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::sentence::CommandWords;
use crate::model::json::published_as;
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::recover::is_done;
use crate::workflow::rules::workflow::{Phase, PhaseStatus, Profile, Workflow};
use crate::workflow::words::{phase_command, starts_from_plan};

/// The next step for the worker on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "AdviceJson")]
pub struct Advice {
    /// Stable code in JSON.
    pub action: &'static str,
    pub words: String,
    /// The command that the words name, as words to run.
    pub command: Option<CommandWords>,
    /// The phase concerned.
    #[serde(rename = "phase_id")]
    pub phase: Option<String>,
}

published_as! { CommandWords, Option<Vec<String>>, CommandWords::to_run; }

impl Advice {
    fn new(action: &'static str, words: impl Into<String>) -> Self {
        Self {
            action,
            words: words.into(),
            command: None,
            phase: None,
        }
    }
}

/// Returns the next step, judged by the state and the files on disk.
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
        phase: Some(id.clone()),
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
