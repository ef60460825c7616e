//! Repairs after an interruption, judged by the files on disk.

use crate::workflow::rules::change::{Change, Finish, PhaseChange, TaskChange};
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::validate::task_output;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::OutputFlaw;
use crate::workflow::words::reasons::{CutOff, RepairReason, as_output_says};

/// One repair.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What was found and will be done, in words.
    pub what: String,
    pub change: Change,
}

impl Repair {
    fn new(reason: &RepairReason, change: Change) -> Self {
        Self {
            what: reason.to_string(),
            change,
        }
    }
}

/// Returns all repairs, tasks first.
pub fn repairs(workflow: &Workflow, observations: &Observations) -> Vec<Repair> {
    let tasks = workflow
        .tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Running)
        .map(|task| of_task(task, observations));
    let phases = workflow
        .phases
        .iter()
        .filter(|phase| phase.status == PhaseStatus::InProgress);
    tasks
        .chain(phases.filter_map(|phase| of_phase(workflow, phase, observations)))
        .collect()
}

fn of_task(task: &Task, observations: &Observations) -> Repair {
    let id = task.id.clone();
    let seen = task
        .output
        .as_ref()
        .and_then(|path| Some((path, observations.get(path)?)));
    let (path, status, change) =
        match seen.and_then(|(path, found)| Some((path, found.task_status()?))) {
            Some((path, TaskStatus::Complete)) => (
                path,
                "complete",
                TaskChange::Done {
                    id: id.clone(),
                    note: None,
                },
            ),
            Some((path, TaskStatus::Failed)) => (
                path,
                "failed",
                TaskChange::Fail {
                    id: id.clone(),
                    error: as_output_says(path),
                },
            ),
            _ => return cut_off(task, seen),
        };
    let reason = RepairReason::OutputThere {
        task: id,
        path: path.clone(),
        status,
    };
    Repair::new(&reason, Change::Task(change))
}

fn cut_off(task: &Task, seen: Option<(&String, &ObservedFile)>) -> Repair {
    let why = match (seen, &task.output) {
        (Some((path, ObservedFile::Broken(_) | ObservedFile::Empty)), _) => {
            CutOff::Output(path.clone())
        }
        (Some((path, ObservedFile::There { status, .. })), _) => CutOff::Status {
            path: path.clone(),
            status: status.clone().unwrap_or_default(),
        },
        (Some((path, ObservedFile::Missing)), _) => CutOff::Missing(path.clone()),
        (None, Some(path)) => CutOff::Outside(path.clone()),
        (None, None) => CutOff::Unknown,
    };
    let reason = RepairReason::TaskCutOff {
        task: task.id.clone(),
        why,
        attempt: task.attempts + u32::from(!task.is_next_counted),
    };
    let change = TaskChange::Reset {
        id: task.id.clone(),
        cut_off: true,
    };
    Repair::new(&reason, Change::Task(change))
}

fn of_phase(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Option<Repair> {
    let usable = |path: &str| {
        observations
            .get(path)
            .is_some_and(ObservedFile::is_finished)
    };
    let mut required = phase
        .outputs
        .iter()
        .filter(|output| output.required)
        .peekable();
    required.peek()?;
    if required.all(|output| usable(&output.path)) && !has_open_tasks(workflow, phase, observations)
    {
        let reason = if phase.lacks_approval() {
            RepairReason::PhaseLacksApproval(phase.id.clone())
        } else {
            RepairReason::PhaseDone(phase.id.clone())
        };
        let finish = Finish {
            phase: Some(phase.id.clone()),
            present: present(phase, observations),
            ..Finish::default()
        };
        return Some(Repair::new(
            &reason,
            Change::Phase(PhaseChange::Done(finish)),
        ));
    }
    let drafts = phase
        .outputs
        .iter()
        .any(|output| !output.required && usable(&output.path));
    (phase.lacks_approval() && drafts).then(|| {
        let change = PhaseChange::Await {
            phase: phase.id.clone(),
        };
        let reason = RepairReason::CutOffAtApproval(phase.id.clone());
        Repair::new(&reason, Change::Phase(change))
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
    task.status == TaskStatus::Complete && seen.is_none_or(ObservedFile::bears_out_completion)
}

/// Returns the present outputs of a phase, as `phase done` takes them.
pub fn present(phase: &Phase, observations: &Observations) -> Vec<(String, Option<String>)> {
    let of = |path: &String| match observations.get(path)? {
        ObservedFile::There { sum, .. } => Some((path.clone(), sum.clone())),
        _ => None,
    };
    phase
        .outputs
        .iter()
        .filter_map(|output| of(&output.path))
        .collect()
}

/// Returns what is wrong with each unusable output of a phase.
pub fn flaws(phase: &Phase, observations: &Observations) -> Vec<(String, OutputFlaw)> {
    let of = |path: &String| Some((path.clone(), observations.get(path)?.flaw()?));
    phase
        .outputs
        .iter()
        .filter_map(|output| of(&output.path))
        .collect()
}

/// As [`flaws`], for its completed tasks.
pub fn task_flaws(workflow: &Workflow, phase: &Phase, observations: &Observations) -> Vec<String> {
    let of = |task: &Task| {
        let found = task_output(task, observations)?;
        Some(format!("{} ({})", found.what, found.place))
    };
    workflow.tasks_of(phase).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::phase::PhaseOutput;

    fn there(status: Option<&str>) -> ObservedFile {
        ObservedFile::There {
            sum: Some("ab".into()),
            status: status.map(str::to_owned),
        }
    }

    fn running() -> Workflow {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        let mut phase = Phase::new("IMPLEMENTATION", "x");
        phase.status = PhaseStatus::InProgress;
        workflow.phases = vec![phase];
        let task = Task {
            status: TaskStatus::Running,
            output: Some("o.json".into()),
            attempts: 1,
            ..Task::new("task-001")
        };
        workflow.tasks = vec![task];
        workflow
    }

    fn after(workflow: &Workflow, observations: &Observations) -> Workflow {
        let repairs = repairs(workflow, observations);
        repairs.iter().fold(workflow.clone(), |workflow, repair| {
            workflow
                .after(&repair.change, 9)
                .expect("it can be repaired")
        })
    }

    #[test]
    fn a_task_cut_off_before_its_output_is_tried_again() {
        for found in [
            ObservedFile::Missing,
            ObservedFile::Empty,
            ObservedFile::Broken("x".into()),
        ] {
            let repaired = after(&running(), &Observations::from([("o.json".into(), found)]));
            assert_eq!(
                (repaired.tasks[0].status, repaired.tasks[0].attempts),
                (TaskStatus::Pending, 2)
            );
        }
    }

    #[test]
    fn a_task_cut_off_after_its_output_has_the_status_that_it_wrote() {
        for (status, expected) in [
            (None, TaskStatus::Complete),
            (Some("completed"), TaskStatus::Complete),
            (Some("failed"), TaskStatus::Failed),
        ] {
            let repaired = after(
                &running(),
                &Observations::from([("o.json".into(), there(status))]),
            );
            assert_eq!(
                (repaired.tasks[0].status, repaired.tasks[0].attempts),
                (expected, 1)
            );
        }
    }

    #[test]
    fn a_phase_cut_off_at_its_approval_is_shown_again() {
        let mut workflow = running();
        workflow.tasks.clear();
        let phase = &mut workflow.phases[0];
        phase.requires_approval = true;
        phase.outputs = vec![
            PhaseOutput {
                path: "final.json".into(),
                required: true,
                sha256: None,
            },
            PhaseOutput {
                path: "designs/".into(),
                required: false,
                sha256: None,
            },
        ];
        let designs = Observations::from([
            ("designs/".into(), there(None)),
            ("final.json".into(), ObservedFile::Missing),
        ]);
        assert_eq!(
            after(&workflow, &designs).phases[0].status,
            PhaseStatus::AwaitingApproval
        );
        let nothing = Observations::from([
            ("designs/".into(), ObservedFile::Empty),
            ("final.json".into(), ObservedFile::Missing),
        ]);
        assert!(repairs(&workflow, &nothing).is_empty());
        let both = Observations::from([
            ("designs/".into(), there(None)),
            ("final.json".into(), there(None)),
        ]);
        assert!(matches!(
            repairs(&workflow, &both)[0].change,
            Change::Phase(PhaseChange::Done(_))
        ));
    }
}
