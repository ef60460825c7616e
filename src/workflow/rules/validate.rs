//! Validates a run: its plan, order, times and files.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::base::cut_list::first_of;
use crate::base::time::{age, rfc3339_seconds};
use crate::workflow::plan;
use crate::workflow::profiles::phases::{known_names, named_unbegun};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::observation::{self, Observations, ObservedFile};
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::{Flaw, OutputFlaw};
use crate::workflow::words::next_step::phase_command;

/// Age in milliseconds after which a run is reported as old.
pub const STALE_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Time in milliseconds without a change after which a run is reported as idle.
const IDLE_MS: i64 = 24 * 60 * 60 * 1000;
/// Tolerated difference between the clocks of two machines, in milliseconds.
const SKEW_MS: i64 = 5 * 60 * 1000;

/// Result of a validation. A run with errors should not be resumed unseen.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ReportJson")]
pub struct ValidationReport {
    /// Whether there are no errors.
    pub valid: bool,
    pub errors: Vec<Finding>,
    /// Remarks that are no errors.
    pub remarks: Vec<Finding>,
}

pub fn validate(workflow: &Workflow, observations: &Observations, now_ms: i64) -> ValidationReport {
    let mut report = ValidationReport {
        errors: plan::check(&workflow.phases),
        ..ValidationReport::default()
    };
    for phase in &workflow.phases {
        outputs(phase, observations, &mut report);
        report.errors.extend(unknown(workflow, phase));
        report.errors.extend(order(workflow, phase));
        report.errors.extend(times(workflow, phase, now_ms));
        report.remarks.extend(open_tasks(workflow, phase));
    }
    report.errors.extend(
        named_unbegun(workflow).and_then(|(phase, word)| before_its_turn(workflow, phase, word)),
    );
    report.errors.extend(
        workflow
            .tasks
            .iter()
            .filter_map(|task| task_output(task, observations)),
    );
    named_files(workflow, observations, &mut report);
    let list = workflow.documents.get(EXECUTION_FILE);
    let lacks_tasks = list.is_some_and(|list| list.get("tasks").is_none());
    report
        .remarks
        .extend(lacks_tasks.then(|| Flaw::NoTasks.at(EXECUTION_FILE)));
    report.errors.extend(interrupted_write(workflow));
    report.errors.extend(last_change(workflow));
    if workflow.created_ms > now_ms + SKEW_MS {
        report
            .errors
            .push(future("created_at", workflow.created_ms));
    } else if workflow.status.is_open() {
        report.remarks.extend(staleness(workflow, now_ms));
    }
    report.valid = report.errors.is_empty();
    report
}

/// Reports missing files that the free state of an open run names. It cannot go on without its
/// plan; another may be yet to come.
fn named_files(workflow: &Workflow, observations: &Observations, report: &mut ValidationReport) {
    let is_missing = |path: &&str| observations.get(*path) == Some(&ObservedFile::Missing);
    let is_plan = |path: &str| workflow.state.get("plan_path") == Some(&path.into());
    let named = observation::named_files(workflow).into_iter();
    let missing = named.filter(|path| workflow.status.is_open() && is_missing(path));
    let (plan, others): (Vec<Finding>, _) = missing
        .map(|path| Flaw::NamedFileGone.at(path))
        .partition(|finding| is_plan(&finding.place));
    report.errors.extend(plan);
    report.remarks.extend(others);
}

/// Reports a last change before the beginning of the run, as edited files may have.
fn last_change(workflow: &Workflow) -> Option<Finding> {
    let key = if workflow.documents.contains_key(PHASE_FILE) {
        "last_updated"
    } else {
        "updated_at"
    };
    let is_before = workflow.updated_ms + SKEW_MS < workflow.created_ms;
    is_before.then(|| before_the_run(key, workflow.updated_ms))
}

fn staleness(workflow: &Workflow, now_ms: i64) -> Vec<Finding> {
    let mut found = Vec::new();
    if is_stale(workflow, now_ms) {
        found.push(Flaw::Stale(age(workflow.created_ms, now_ms)).at("created_at"));
    }
    if now_ms.saturating_sub(workflow.updated_ms) >= IDLE_MS {
        found.push(Flaw::Idle(age(workflow.updated_ms, now_ms)).at("updated_at"));
    }
    found
}

/// Reports a phase file whose writer was interrupted: the flag is false while it writes.
fn interrupted_write(workflow: &Workflow) -> Option<Finding> {
    let document = workflow.documents.get(PHASE_FILE)?;
    let is_cut_off = document.get("interruption_safe") == Some(&Value::Bool(false));
    is_cut_off.then(|| Flaw::InterruptedWrite.at(PHASE_FILE))
}

/// Reports open tasks of a completed phase.
fn open_tasks(workflow: &Workflow, phase: &Phase) -> Vec<Finding> {
    let told = |task: &Task| {
        let flaw = Flaw::TasksOpen {
            phase: phase.id.clone(),
            task: task.id.clone(),
            status: task.status.into_str(),
        };
        flaw.at(format!("tasks.{}", task.id))
    };
    let open = workflow
        .tasks_of(phase)
        .filter(|task| task.status != TaskStatus::Complete);
    if phase.status == PhaseStatus::Complete {
        open.map(told).collect()
    } else {
        Vec::new()
    }
}

/// Reports a completed task whose output is missing or unusable.
pub fn task_output(task: &Task, observations: &Observations) -> Option<Finding> {
    let path = task
        .output
        .as_ref()
        .filter(|_| task.status == TaskStatus::Complete)?;
    let flaw = match observations.get(path)? {
        found if found.bears_out_completion() => return None,
        ObservedFile::There { status, .. } => {
            OutputFlaw::Contradicts(status.clone().unwrap_or_default())
        }
        found => found.flaw()?,
    };
    let task = task.id.clone();
    Some(Flaw::OutputOfTask { task, flaw }.at(path))
}

pub fn is_stale(workflow: &Workflow, now_ms: i64) -> bool {
    now_ms.saturating_sub(workflow.created_ms) >= STALE_MS
}

/// Reports missing outputs of a completed phase. Changed content is only a remark, because work
/// goes on.
fn outputs(phase: &Phase, observations: &Observations, report: &mut ValidationReport) {
    let id = || phase.id.clone();
    if phase.status != PhaseStatus::Complete {
        let begun = phase.outputs.iter().filter(|_| phase.status.is_under_way());
        report.remarks.extend(
            begun.filter_map(|output| match observations.get(&output.path)? {
                found @ ObservedFile::Broken(_) => {
                    let (phase, flaw) = (id(), found.flaw()?);
                    Some(Flaw::OutputOfPhase { phase, flaw }.at(&output.path))
                }
                _ => None,
            }),
        );
        return;
    }
    for output in &phase.outputs {
        let was_there = output.required || output.sha256.is_some();
        let (list, flaw) = match observations.get(&output.path) {
            Some(ObservedFile::Missing) if was_there => {
                (&mut report.errors, Flaw::OutputGone(id()))
            }
            None if was_there => (&mut report.remarks, Flaw::OutputOutside(id())),
            Some(ObservedFile::Empty) if was_there => (&mut report.errors, Flaw::OutputEmpty(id())),
            Some(ObservedFile::Broken(why)) => {
                let (phase, why) = (id(), why.clone());
                (&mut report.errors, Flaw::OutputBroken { phase, why })
            }
            Some(ObservedFile::There { sum: Some(sum), .. })
                if output.sha256.as_ref().is_some_and(|known| known != sum) =>
            {
                (&mut report.remarks, Flaw::OutputChanged(id()))
            }
            _ => continue,
        };
        list.push(flaw.at(&output.path));
    }
}

/// Maximum number of names listed in a message.
const NAMED_PHASES: usize = 10;

/// Reports an unplanned phase, unless skipped: it may be a misspelling and end the run early.
fn unknown(workflow: &Workflow, phase: &Phase) -> Option<Finding> {
    let is_in_use = phase.is_unplanned && phase.status != PhaseStatus::Skipped;
    let skip = || phase_command("skip", &phase.id, workflow.named()).to_string();
    let flaw = || Flaw::UnknownPhase {
        phase: phase.id.clone(),
        known: first_of(&known_names(workflow), NAMED_PHASES, |_| ", …".to_owned()),
        skip: (!phase.status.is_settled()).then(skip),
    };
    is_in_use.then(|| flaw().at(format!("phases.{}", phase.id)))
}

fn order(workflow: &Workflow, phase: &Phase) -> Option<Finding> {
    let status = phase.status.into_str();
    if phase.status.is_under_way() && phase.completed_ms.is_some() {
        let flaw = Flaw::DoneAndUnderWay {
            phase: phase.id.clone(),
            status,
        };
        return Some(flaw.at(format!("phases.{}", phase.id)));
    }
    let begun = phase.status.is_under_way() || phase.status == PhaseStatus::Complete;
    if begun {
        before_its_turn(workflow, phase, status)
    } else {
        None
    }
}

fn before_its_turn(workflow: &Workflow, phase: &Phase, word: &str) -> Option<Finding> {
    let unmet = workflow.unmet(phase);
    let flaw = || Flaw::OutOfOrder {
        phase: phase.id.clone(),
        status: word.to_owned(),
        unmet: unmet.join(", "),
    };
    (!unmet.is_empty()).then(|| flaw().at(format!("phases.{}", phase.id)))
}

fn times(workflow: &Workflow, phase: &Phase, now_ms: i64) -> Vec<Finding> {
    let place = |key: &str| format!("phases.{}.{key}", phase.id);
    let mut found = Vec::new();
    for (key, time) in [
        ("started_at", phase.started_ms),
        ("completed_at", phase.completed_ms),
    ] {
        match time {
            Some(time) if time > now_ms + SKEW_MS => found.push(future(&place(key), time)),
            Some(time) if time + SKEW_MS < workflow.created_ms => {
                found.push(before_the_run(&place(key), time));
            }
            _ => {}
        }
    }
    if let (Some(start), Some(end)) = (phase.started_ms, phase.completed_ms)
        && end + SKEW_MS < start
    {
        found.push(Flaw::EndBeforeStart.at(place("completed_at")));
    }
    found
}

fn before_the_run(place: &str, time_ms: i64) -> Finding {
    Flaw::BeforeTheRun(rfc3339_seconds(time_ms)).at(place)
}

fn future(place: &str, time_ms: i64) -> Finding {
    Flaw::TimeInFuture(rfc3339_seconds(time_ms)).at(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::phase::PhaseOutput;

    fn codes(workflow: &Workflow, observations: &Observations, now_ms: i64) -> Vec<&'static str> {
        let report = validate(workflow, observations, now_ms);
        report
            .errors
            .iter()
            .chain(&report.remarks)
            .map(|finding| finding.code)
            .collect()
    }

    #[test]
    fn each_thing_that_is_wrong_is_named() {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 10 * STALE_MS);
        workflow.phases = ["one", "two"].map(|id| Phase::new(id, id)).to_vec();
        workflow.phases[1].dependencies = vec!["one".into()];
        let now = 10 * STALE_MS;
        assert!(codes(&workflow, &Observations::new(), now).is_empty());
        assert_eq!(
            codes(&workflow, &Observations::new(), now + STALE_MS),
            ["stale", "idle"]
        );
        workflow.updated_ms += STALE_MS - IDLE_MS + 1;
        assert_eq!(
            codes(&workflow, &Observations::new(), now + STALE_MS),
            ["stale"]
        );
        assert_eq!(
            codes(&workflow, &Observations::new(), 0),
            ["time_in_future"]
        );
        workflow.phases[1].status = PhaseStatus::InProgress;
        assert_eq!(
            codes(&workflow, &Observations::new(), now),
            ["out_of_order"]
        );
        let first = &mut workflow.phases[0];
        (first.status, first.started_ms, first.completed_ms) =
            (PhaseStatus::Complete, Some(5), Some(now));
        first.outputs = vec![PhaseOutput {
            path: "o".into(),
            required: true,
            sha256: Some("a".into()),
        }];
        let found = |found| Observations::from([("o".to_owned(), found)]);
        assert_eq!(
            codes(&workflow, &found(ObservedFile::Missing), now),
            ["output_missing", "time_unlikely"]
        );
        workflow.phases[0].started_ms = Some(now);
        let changed = ObservedFile::There {
            sum: Some("b".into()),
            status: None,
        };
        assert_eq!(codes(&workflow, &found(changed), now), ["output_changed"]);
        assert_eq!(
            codes(&workflow, &found(ObservedFile::Broken("x".into())), now),
            ["output_broken"]
        );
    }
}
