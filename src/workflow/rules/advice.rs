//! What to do next, in the words of the protocol that the run follows.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::sentence::CommandWords;
use crate::model::json::published_as;
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::recover::is_done;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;
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

    /// Returns the advice for a run that was archived while it was open.
    pub fn of_archived(run: &str) -> Self {
        let plan = starts_from_plan(run);
        Self::new(
            "complete",
            format!("none: workflow {run} is archived; {plan}"),
        )
    }
}

/// Returns the next step, judged by the state and the files on disk.
pub fn advice(workflow: &Workflow, observations: &Observations) -> Advice {
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
fn by_agents(
    workflow: &Workflow,
    phase: &Phase,
    observations: &Observations,
) -> Option<(&'static str, String)> {
    let is_there = |part: &str| {
        let output = phase
            .outputs
            .iter()
            .find(|output| output.path.contains(part));
        let found = output.and_then(|output| observations.get(&output.path));
        found.is_some_and(ObservedFile::is_finished)
    };
    let made_or_by = |part, next: &str, agent: &str| {
        if is_there(part) {
            ("advance", format!("advance to {next}"))
        } else {
            ("spawn", format!("re-spawn {agent}"))
        }
    };
    Some(match phase.id.as_str() {
        "REQUIREMENTS" => made_or_by("demand", "ARCHITECTURE", "PM agent"),
        "ARCHITECTURE" if is_there("final_design") && phase.lacks_approval() => {
            ("approve", String::new())
        }
        "ARCHITECTURE" if !is_there("final_design") && is_there("designs") => {
            ("spawn", "spawn Roundtable".to_owned())
        }
        "ARCHITECTURE" => made_or_by("final_design", "IMPLEMENTATION", "Architects"),
        "IMPLEMENTATION" => {
            let (tasks, all) = (workflow.tasks.iter(), workflow.tasks.len());
            let done = tasks.filter(|task| is_done(task, observations)).count();
            if all > 0 && done == all {
                ("advance", "advance to VERIFICATION".to_owned())
            } else {
                let words = format!("continue execution loop ({done} of {all} tasks complete)");
                ("continue", words)
            }
        }
        "VERIFICATION" => made_or_by("verification", "REFLECTION", "QA"),
        "REFLECTION" if is_there("reflection") => ("advance", "workflow complete".to_owned()),
        "REFLECTION" => made_or_by("reflection", "", "Reflector"),
        _ => return None,
    })
}
