//! Validates a run: its plan, order, times and files.

use serde_json::Value;

use crate::base::cut_list::first_of;
use crate::base::shell_word::shell_word;
use crate::base::time::{age, rfc3339_seconds};
use crate::workflow::plan;
use crate::workflow::profiles::phases::{known_names, named_unbegun};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::observation::{Observations, ObservedFile};
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::profile::PHASE_FILE;
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};
use crate::workflow::rules::workflow::Workflow;

/// Age in milliseconds after which a run is reported as old.
pub const STALE_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Time in milliseconds without a change after which a run is reported as idle.
const IDLE_MS: i64 = 24 * 60 * 60 * 1000;
/// Tolerated difference between the clocks of two machines, in milliseconds.
const SKEW_MS: i64 = 5 * 60 * 1000;

/// Result of a validation. A run with errors should not be resumed unseen.
#[derive(Clone, Debug, Default)]
pub struct ValidationReport {
    pub errors: Vec<Finding>,
    /// Remarks that are no errors.
    pub remarks: Vec<Finding>,
}

pub fn validate(workflow: &Workflow, observations: &Observations, now_ms: i64) -> ValidationReport {
    let mut report = ValidationReport {
        errors: plan::check(&workflow.phases),
        remarks: Vec::new(),
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
    report.errors.extend(interrupted_write(workflow));
    report.errors.extend(last_change(workflow));
    if workflow.created_ms > now_ms + SKEW_MS {
        report
            .errors
            .push(future("created_at", workflow.created_ms));
    } else if workflow.status.is_open() {
        report.remarks.extend(staleness(workflow, now_ms));
    }
    report
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
        let since = age(workflow.created_ms, now_ms);
        found.push(Finding::new(
            "stale",
            "created_at",
            format!("it was begun {since} ago"),
        ));
    }
    if now_ms.saturating_sub(workflow.updated_ms) >= IDLE_MS {
        let since = age(workflow.updated_ms, now_ms);
        found.push(Finding::new(
            "idle",
            "updated_at",
            format!("nothing has happened in it for {since}"),
        ));
    }
    found
}

/// Reports a phase file whose writer was interrupted: the flag is false while it writes.
fn interrupted_write(workflow: &Workflow) -> Option<Finding> {
    let document = workflow.documents.get(PHASE_FILE)?;
    let is_cut_off = document.get("interruption_safe") == Some(&Value::Bool(false));
    let what =
        "interruption_safe is false: its writer was cut off before its end, or is still at it";
    is_cut_off.then(|| Finding::new("interrupted_write", PHASE_FILE, what))
}

/// Reports open tasks of a completed phase.
fn open_tasks(workflow: &Workflow, phase: &Phase) -> Vec<Finding> {
    let told = |task: &Task| {
        let what = format!(
            "phase {} is complete, and task {} is {}",
            phase.id,
            task.id,
            task.status.into_str()
        );
        Finding::new("tasks_open", format!("tasks.{}", task.id), what)
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
    let (code, what) = match observations.get(path)? {
        found if found.bears_out_completion() => return None,
        ObservedFile::There { status, .. } => (
            "output_contradicts",
            format!("says '{}'", status.as_deref().unwrap_or_default()),
        ),
        found @ ObservedFile::Broken(_) => ("output_broken", found.flaw()?),
        found => ("output_missing", found.flaw()?),
    };
    Some(Finding::new(
        code,
        path.clone(),
        format!("task {} is complete, and its output {what}", task.id),
    ))
}

pub fn is_stale(workflow: &Workflow, now_ms: i64) -> bool {
    now_ms.saturating_sub(workflow.created_ms) >= STALE_MS
}

/// Reports missing outputs of a completed phase. Changed content is only a remark, because work
/// goes on.
fn outputs(phase: &Phase, observations: &Observations, report: &mut ValidationReport) {
    if phase.status != PhaseStatus::Complete {
        let begun = phase.outputs.iter().filter(|_| phase.status.is_under_way());
        report.remarks.extend(
            begun.filter_map(|output| match observations.get(&output.path)? {
                found @ ObservedFile::Broken(_) => {
                    let what = format!("phase {} writes it, and it {}", phase.id, found.flaw()?);
                    Some(Finding::new("output_broken", output.path.clone(), what))
                }
                _ => None,
            }),
        );
        return;
    }
    for output in &phase.outputs {
        let was_there = output.required || output.sha256.is_some();
        let wrong = |code, why: &str| {
            Finding::new(
                code,
                output.path.clone(),
                format!("phase {} left it, and {why}", phase.id),
            )
        };
        match observations.get(&output.path) {
            Some(ObservedFile::Missing) if was_there => {
                report.errors.push(wrong("output_missing", "it is gone"));
            }
            None if was_there => {
                let why = "it lies outside of the directory, where it is not looked at";
                report.remarks.push(wrong("output_outside", why));
            }
            Some(ObservedFile::Empty) if was_there => {
                report.errors.push(wrong("output_missing", "it is empty"));
            }
            Some(ObservedFile::Broken(why)) => {
                report.errors.push(wrong(
                    "output_broken",
                    &format!("it is no JSON any more: {why}"),
                ));
            }
            Some(ObservedFile::There { sum: Some(sum), .. })
                if output.sha256.as_ref().is_some_and(|known| known != sum) =>
            {
                report
                    .remarks
                    .push(wrong("output_changed", "it was changed since"));
            }
            _ => {}
        }
    }
}

/// Maximum number of names listed in a message.
const NAMED_PHASES: usize = 10;

/// Reports an unplanned phase, unless skipped: it may be a misspelling and end the run early.
fn unknown(workflow: &Workflow, phase: &Phase) -> Option<Finding> {
    let is_in_use = phase.is_unplanned && phase.status != PhaseStatus::Skipped;
    let known = known_names(workflow);
    let skip = || {
        let word = |text: &str| shell_word(text.as_bytes());
        format!(
            ", or skip it ('checkpoint phase skip {} -w {}')",
            word(&phase.id),
            word(&workflow.id)
        )
    };
    let what = || {
        let known = first_of(&known, NAMED_PHASES, |_| ", …".to_owned());
        let skip = if phase.status.is_settled() {
            String::new()
        } else {
            skip()
        };
        format!(
            "{PHASE_FILE} names '{}', and that is none of {known}; mend it there{skip}",
            phase.id
        )
    };
    is_in_use.then(|| Finding::new("unknown_phase", format!("phases.{}", phase.id), what()))
}

fn order(workflow: &Workflow, phase: &Phase) -> Option<Finding> {
    if phase.status.is_under_way() && phase.completed_ms.is_some() {
        let what = format!(
            "phase {} is said to be complete and to be {}",
            phase.id,
            phase.status.into_str()
        );
        return Some(Finding::new(
            "done_and_under_way",
            format!("phases.{}", phase.id),
            what,
        ));
    }
    let begun = phase.status.is_under_way() || phase.status == PhaseStatus::Complete;
    if begun {
        before_its_turn(workflow, phase, phase.status.into_str())
    } else {
        None
    }
}

fn before_its_turn(workflow: &Workflow, phase: &Phase, word: &str) -> Option<Finding> {
    let unmet = workflow.unmet(phase);
    let what = || format!("phase {} is {word} before {}", phase.id, unmet.join(", "));
    (!unmet.is_empty())
        .then(|| Finding::new("out_of_order", format!("phases.{}", phase.id), what()))
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
        found.push(Finding::new(
            "time_unlikely",
            place("completed_at"),
            "it is before it was started",
        ));
    }
    found
}

fn before_the_run(place: &str, time_ms: i64) -> Finding {
    Finding::new(
        "time_unlikely",
        place,
        format!("{} is before the run began", rfc3339_seconds(time_ms)),
    )
}

fn future(place: &str, time_ms: i64) -> Finding {
    Finding::new(
        "time_in_future",
        place,
        format!("{} has not come yet", rfc3339_seconds(time_ms)),
    )
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
