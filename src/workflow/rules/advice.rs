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
use crate::workflow::words::next_step::{NextStep, phase_command};

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
    fn new(step: &NextStep, phase: Option<&Phase>) -> Self {
        Self {
            action: step.into_str(),
            words: step.to_string(),
            command: step.command().cloned(),
            phase: phase.map(|phase| phase.id.clone()),
        }
    }
}

/// Returns the next step, judged by the state and the files on disk.
pub fn advice(workflow: &Workflow, observations: &Observations) -> Advice {
    if workflow.is_all_settled() || !workflow.status.is_open() {
        return Advice::new(&NextStep::Complete(workflow.word()), None);
    }
    let Some(phase) = workflow.next() else {
        return Advice::new(&NextStep::Plan, None);
    };
    if phase.status == PhaseStatus::AwaitingApproval {
        let step = NextStep::Approve {
            phase: phase.id.clone(),
            command: approve_command(workflow, phase),
        };
        return Advice::new(&step, Some(phase));
    }
    let known = workflow
        .profiles
        .contains(&Profile::Phases)
        .then(|| by_agents(workflow, phase, observations))
        .flatten();
    let step = match known {
        Some(step)
            if phase.status == PhaseStatus::Pending
                && !matches!(step.into_str(), "spawn" | "continue") =>
        {
            NextStep::StartOver(phase.name.clone())
        }
        Some(step) => step,
        None => plainly(phase),
    };
    Advice::new(&step, Some(phase))
}

/// Returns the advice for a run that was archived while it was open.
pub fn of_archived(run: &str) -> Advice {
    Advice::new(
        &NextStep::Archived {
            run: run.to_owned(),
        },
        None,
    )
}

/// Returns the command that approves a phase.
pub fn approve_command(workflow: &Workflow, phase: &Phase) -> CommandWords {
    phase_command("approve", &phase.id, workflow.named())
}

fn plainly(phase: &Phase) -> NextStep {
    match phase.status {
        PhaseStatus::Failed => NextStep::Retry(phase.name.clone()),
        PhaseStatus::Pending => NextStep::Start(phase.name.clone()),
        _ => NextStep::Continue {
            phase: phase.name.clone(),
            progress: phase.progress.clone(),
        },
    }
}

/// Returns the next step for the five phases of an agent team.
fn by_agents(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Option<NextStep> {
    let output = |part: &str| {
        phase
            .outputs
            .iter()
            .find(|output| output.path.contains(part))
    };
    let usable = |part: &str| {
        output(part).is_some_and(|output| {
            observations
                .get(&output.path)
                .is_some_and(ObservedFile::is_finished)
        })
    };
    Some(match phase.id.as_str() {
        "REQUIREMENTS" if usable("demand") => NextStep::Advance("ARCHITECTURE"),
        "REQUIREMENTS" => NextStep::Respawn("PM agent"),
        "ARCHITECTURE" if usable("final_design") && phase.lacks_approval() => {
            NextStep::ApproveArchitecture {
                command: approve_command(workflow, phase),
            }
        }
        "ARCHITECTURE" if usable("final_design") => NextStep::Advance("IMPLEMENTATION"),
        "ARCHITECTURE" if usable("designs") => NextStep::Spawn("Roundtable"),
        "ARCHITECTURE" => NextStep::Respawn("Architects"),
        "IMPLEMENTATION" => {
            let all = workflow.tasks.len();
            let done = workflow
                .tasks
                .iter()
                .filter(|task| is_done(task, observations))
                .count();
            if all > 0 && done == all {
                NextStep::Advance("VERIFICATION")
            } else {
                NextStep::ContinueTasks { done, all }
            }
        }
        "VERIFICATION" if usable("verification") => NextStep::Advance("REFLECTION"),
        "VERIFICATION" => NextStep::Respawn("QA"),
        "REFLECTION" if usable("reflection") => NextStep::AdvanceToEnd,
        "REFLECTION" => NextStep::Respawn("Reflector"),
        _ => return None,
    })
}
