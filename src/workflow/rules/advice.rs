//! What to do next, in the words of the protocol that the run follows.

use crate::base::shell_word::shell_word;
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::recover::is_done;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// The next step for the worker on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Stable code in JSON.
    pub action: &'static str,
    pub words: String,
    /// The phase concerned.
    pub phase: Option<String>,
}

impl Advice {
    fn new(action: &'static str, words: impl Into<String>, phase: Option<&Phase>) -> Self {
        Self {
            action,
            words: words.into(),
            phase: phase.map(|phase| phase.id.clone()),
        }
    }
}

/// Returns the next step, judged by the state and the files on disk.
pub fn advice(workflow: &Workflow, observations: &Observations) -> Advice {
    if workflow.is_all_settled() || !workflow.status.is_open() {
        return Advice::new("complete", format!("workflow {}", workflow.word()), None);
    }
    let Some(phase) = workflow.next() else {
        return Advice::new("plan", "no phase can begin: look at the plan", None);
    };
    if phase.status == PhaseStatus::AwaitingApproval {
        let (id, command) = (&phase.id, approve_command(workflow, phase));
        let words = format!(
            "show again what {id} made, and have it approved ('{command}'); nothing is made again"
        );
        return Advice::new("approve", words, Some(phase));
    }
    let known = workflow
        .profiles
        .contains(&Profile::Phases)
        .then(|| by_agents(workflow, phase, observations))
        .flatten();
    if phase.status == PhaseStatus::Pending
        && known
            .as_ref()
            .is_some_and(|advice| advice.action != "spawn" && advice.action != "continue")
    {
        let words = format!(
            "start {}; what it writes is there already, from before it was begun",
            phase.name
        );
        return Advice::new("start", words, Some(phase));
    }
    known.unwrap_or_else(|| plainly(phase))
}

/// Returns the command line that approves a phase.
pub fn approve_command(workflow: &Workflow, phase: &Phase) -> String {
    let word = |text: &str| shell_word(text.as_bytes());
    format!(
        "checkpoint phase approve {} -w {}",
        word(&phase.id),
        word(&workflow.id)
    )
}

fn plainly(phase: &Phase) -> Advice {
    match phase.status {
        PhaseStatus::Failed => {
            Advice::new("retry", format!("start {} again", phase.name), Some(phase))
        }
        PhaseStatus::Pending => Advice::new("start", format!("start {}", phase.name), Some(phase)),
        _ => {
            let so_far = phase
                .progress
                .as_ref()
                .map(|text| format!(" ({text})"))
                .unwrap_or_default();
            Advice::new(
                "continue",
                format!("continue {}{so_far}", phase.name),
                Some(phase),
            )
        }
    }
}

/// Returns the next step for the five phases of an agent team.
fn by_agents(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Option<Advice> {
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
    let say = |action, words: &str| Some(Advice::new(action, words, Some(phase)));
    match phase.id.as_str() {
        "REQUIREMENTS" if usable("demand") => say("advance", "advance to ARCHITECTURE"),
        "REQUIREMENTS" => say("spawn", "re-spawn PM agent"),
        "ARCHITECTURE" if usable("final_design") && phase.lacks_approval() => {
            let command = approve_command(workflow, phase);
            say(
                "approve",
                &format!(
                    "have ARCHITECTURE approved ('{command}'), then advance to IMPLEMENTATION"
                ),
            )
        }
        "ARCHITECTURE" if usable("final_design") => say("advance", "advance to IMPLEMENTATION"),
        "ARCHITECTURE" if usable("designs") => say("spawn", "spawn Roundtable"),
        "ARCHITECTURE" => say("spawn", "re-spawn Architects"),
        "IMPLEMENTATION" => {
            let all = workflow.tasks.len();
            let done = workflow
                .tasks
                .iter()
                .filter(|task| is_done(task, observations))
                .count();
            if all > 0 && done == all {
                say("advance", "advance to VERIFICATION")
            } else {
                say(
                    "continue",
                    &format!("continue execution loop ({done} of {all} tasks complete)"),
                )
            }
        }
        "VERIFICATION" if usable("verification") => say("advance", "advance to REFLECTION"),
        "VERIFICATION" => say("spawn", "re-spawn QA"),
        "REFLECTION" if usable("reflection") => say("advance", "workflow complete"),
        "REFLECTION" => say("spawn", "re-spawn Reflector"),
        _ => None,
    }
}
