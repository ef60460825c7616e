//! Validates a run: its plan, order, times and files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::cut_list::first_of;
use crate::base::time::{age, rfc3339_seconds};
use crate::workflow::profiles::phases::{known_names, named_unbegun};
use crate::workflow::rules::observation;
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::words::{LISTED_NAMES, phase_command};
use crate::workflow::{
    Finding, Observations, ObservedFile, Phase, PhaseStatus, Task, TaskStatus, Workflow, plan,
};

/// Age in milliseconds after which a run is reported as old.
pub const STALE_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Time in milliseconds without a change after which a run is reported as idle.
const IDLE_MS: i64 = 24 * 60 * 60 * 1000;
/// Tolerated difference between the clocks of two machines, in milliseconds.
const SKEW_MS: i64 = 5 * 60 * 1000;

/// Result of a validation. A run with errors should not be resumed unseen.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ValidationReport {
    /// Whether there are no errors.
    pub valid: bool,
    pub errors: Vec<Finding>,
    /// Remarks that are no errors.
    pub remarks: Vec<Finding>,
}

pub fn validate(workflow: &Workflow, observations: &Observations, now_ms: i64) -> ValidationReport {
    let mut report = ValidationReport::default();
    report.errors.extend(plan::check_plan(workflow, Vec::new()));
    for phase in &workflow.phases {
        report.check_outputs(phase, observations);
        report.check_order(workflow, phase);
        report.check_times(workflow, phase, now_ms);
    }
    if let Some((phase, word)) = named_unbegun(workflow) {
        report.check_turn(workflow, phase, word);
    }
    let tasks = workflow.tasks.iter();
    let broken = tasks.filter_map(|task| task_output(task, observations));
    report.errors.extend(broken);
    report.check_documents(workflow);
    report.check_time(workflow, "created_at", workflow.created_ms, now_ms);
    if workflow.status.is_open() {
        report.check_age(workflow, now_ms);
        report.check_named_files(workflow, observations);
    }
    report.valid = report.errors.is_empty();
    report
}

/// Reports a completed task whose output is missing or unusable.
pub fn task_output(task: &Task, observations: &Observations) -> Option<Finding> {
    let path = task.output.as_ref();
    let path = path.filter(|_| task.status == TaskStatus::Complete)?;
    let found = observations.get(path)?;
    let (code, flaw) = match found {
        found if found.is_finished() => return None,
        ObservedFile::There { status, .. } => {
            let status = status.as_deref().unwrap_or_default();
            ("output_contradicts", format!("says '{status}'"))
        }
        found => found.flaw()?,
    };
    let what = format!("task {} is complete, and its output {flaw}", task.id);
    Some(Finding::new(code, path, what))
}

pub fn is_stale(workflow: &Workflow, now_ms: i64) -> bool {
    now_ms.saturating_sub(workflow.created_ms) >= STALE_MS
}

impl ValidationReport {
    fn error(&mut self, code: &'static str, place: &str, what: impl Into<String>) {
        self.errors.push(Finding::new(code, place, what));
    }

    fn remark(&mut self, code: &'static str, place: &str, what: impl Into<String>) {
        self.remarks.push(Finding::new(code, place, what));
    }

    /// Reports a time after now or before the beginning of the run.
    fn check_time(&mut self, run: &Workflow, place: &str, time_ms: i64, now_ms: i64) {
        let time = rfc3339_seconds(time_ms);
        if time_ms > now_ms + SKEW_MS {
            self.error("time_in_future", place, format!("{time} is in the future"));
        } else if time_ms + SKEW_MS < run.created_ms {
            let what = format!("{time} is before the run began");
            self.error("time_unlikely", place, what);
        }
    }

    /// Reports missing outputs of a completed phase. Changed content is only a remark, because work
    /// goes on.
    fn check_outputs(&mut self, phase: &Phase, observations: &Observations) {
        let (id, is_complete) = (&phase.id, phase.status == PhaseStatus::Complete);
        for output in &phase.outputs {
            let path = &output.path;
            let found = observations.get(path);
            let is_broken = matches!(found, Some(ObservedFile::Broken(_)));
            let was_there = output.required || output.sha256.is_some();
            let is_other = |sum| output.sha256.is_some() && output.sha256.as_ref() != Some(sum);
            let wrote = |flaw: &str| format!("phase {id} wrote it{flaw}");
            match (found, found.and_then(ObservedFile::flaw)) {
                (_, Some((code, flaw))) if is_broken && phase.status.is_under_way() => {
                    self.remark(code, path, format!("phase {id} writes it, and it {flaw}"));
                }
                (_, Some((code, flaw))) if is_complete && (was_there || is_broken) => {
                    self.error(code, path, wrote(&format!(", and it {flaw}")));
                }
                (None, _) if is_complete && was_there => {
                    let flaw = " outside the directory, where it is not checked";
                    self.remark("output_outside", path, wrote(flaw));
                }
                (Some(found), None) if is_complete && found.sum().is_some_and(is_other) => {
                    self.remark("output_changed", path, wrote(", and it was changed since"));
                }
                _ => {}
            }
        }
    }

    fn check_order(&mut self, workflow: &Workflow, phase: &Phase) {
        let (id, status) = (&phase.id, phase.status.into_str());
        let place = format!("phases.{id}");
        // An unplanned phase may be a misspelling and end the run early.
        if phase.is_unplanned && phase.status != PhaseStatus::Skipped {
            let known = first_of(&known_names(workflow), LISTED_NAMES, |_| ", …".to_owned());
            let mut what =
                format!("{PHASE_FILE} names '{id}', which is none of {known}; fix it there");
            if !phase.status.is_settled() {
                let skip = phase_command("skip", id, workflow.named());
                what += &format!(", or skip it with '{skip}'");
            }
            self.error("unknown_phase", &place, what);
        }
        if phase.status.is_under_way() && phase.completed_ms.is_some() {
            let what = format!("phase {id} is listed as complete and as {status}");
            self.error("done_and_under_way", &place, what);
        } else if phase.status.is_under_way() || phase.status == PhaseStatus::Complete {
            self.check_turn(workflow, phase, status);
        }
        if phase.status == PhaseStatus::Complete {
            let tasks = workflow.tasks_of(phase);
            for task in tasks.filter(|task| task.status != TaskStatus::Complete) {
                let status = task.status.into_str();
                let what = format!("phase {id} is complete, and task {} is {status}", task.id);
                self.remark("tasks_open", &format!("tasks.{}", task.id), what);
            }
        }
    }

    fn check_turn(&mut self, workflow: &Workflow, phase: &Phase, word: &str) {
        let unmet = workflow.unmet(phase).join(", ");
        if !unmet.is_empty() {
            let what = format!("phase {} is {word} before {unmet}", phase.id);
            self.error("out_of_order", &format!("phases.{}", phase.id), what);
        }
    }

    fn check_times(&mut self, workflow: &Workflow, phase: &Phase, now_ms: i64) {
        let place = |key: &str| format!("phases.{}.{key}", phase.id);
        let (start, end) = (phase.started_ms, phase.completed_ms);
        for (key, time) in [("started_at", start), ("completed_at", end)] {
            if let Some(time) = time {
                self.check_time(workflow, &place(key), time, now_ms);
            }
        }
        if end.is_some_and(|end| end + SKEW_MS < start.unwrap_or(end)) {
            let what = "it is before the start";
            self.error("time_unlikely", &place("completed_at"), what);
        }
    }

    fn check_documents(&mut self, workflow: &Workflow) {
        let list = workflow.documents.get(EXECUTION_FILE);
        if list.is_some_and(|list| list.get("tasks").is_none()) {
            let what = "it has no 'tasks', so none of its tasks is known here";
            self.remark("no_tasks", EXECUTION_FILE, what);
        }
        let phases = workflow.documents.get(PHASE_FILE);
        // The flag is false while its writer writes.
        if phases.is_some_and(|document| document.get("interruption_safe") == Some(&false.into())) {
            let what = "interruption_safe is false: its writer was interrupted or is still writing";
            self.error("interrupted_write", PHASE_FILE, what);
        }
        let key = phases.map_or("updated_at", |_| "last_updated");
        self.check_time(workflow, key, workflow.updated_ms, i64::MAX - SKEW_MS);
    }

    fn check_age(&mut self, workflow: &Workflow, now_ms: i64) {
        if is_stale(workflow, now_ms) {
            let what = format!("it was started {} ago", age(workflow.created_ms, now_ms));
            self.remark("stale", "created_at", what);
        }
        if now_ms.saturating_sub(workflow.updated_ms) >= IDLE_MS {
            let idle = age(workflow.updated_ms, now_ms);
            let what = format!("nothing has happened in it for {idle}");
            self.remark("idle", "updated_at", what);
        }
    }

    /// Reports missing files that the free state of an open run names. It cannot go on without its
    /// plan; another may be yet to come.
    fn check_named_files(&mut self, workflow: &Workflow, observations: &Observations) {
        let mut paths = observation::named_files(workflow);
        paths.retain(|path| observations.get(*path) == Some(&ObservedFile::Missing));
        for path in paths {
            let what = "the workflow's state names it, and it is missing";
            if workflow.state.get("plan_path") == Some(&path.into()) {
                self.error("file_missing", path, what);
            } else {
                self.remark("file_missing", path, what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::workflow::PhaseOutput;

    fn codes(workflow: &Workflow, observations: &Observations, now_ms: i64) -> Vec<&'static str> {
        let report = validate(workflow, observations, now_ms);
        let all = report.errors.iter().chain(&report.remarks);
        all.map(|finding| finding.code).collect()
    }

    #[test]
    fn each_thing_that_is_wrong_is_named() {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 10 * STALE_MS);
        workflow.phases = ["one", "two"].map(|id| Phase::new(id, id)).to_vec();
        workflow.phases[1].dependencies = vec!["one".into()];
        let now = 10 * STALE_MS;
        let plain = |workflow: &Workflow, now| codes(workflow, &Observations::new(), now);
        assert!(plain(&workflow, now).is_empty());
        assert_eq!(plain(&workflow, now + STALE_MS), ["stale", "idle"]);
        workflow.updated_ms += STALE_MS - IDLE_MS + 1;
        assert_eq!(plain(&workflow, now + STALE_MS), ["stale"]);
        assert_eq!(plain(&workflow, 0), ["time_in_future"]);
        workflow.phases[1].status = PhaseStatus::InProgress;
        assert_eq!(plain(&workflow, now), ["out_of_order"]);
        let first = &mut workflow.phases[0];
        (first.status, first.started_ms, first.completed_ms) =
            (PhaseStatus::Complete, Some(5), Some(now));
        first.outputs = vec![PhaseOutput {
            path: "o".into(),
            required: true,
            sha256: Some("a".into()),
        }];
        let found = |found| Observations::from([("o".to_owned(), found)]);
        let told = codes(&workflow, &found(ObservedFile::Missing), now);
        assert_eq!(told, ["output_missing", "time_unlikely"]);
        workflow.phases[0].started_ms = Some(now);
        let changed = ObservedFile::There {
            sum: Some("b".into()),
            status: None,
        };
        assert_eq!(codes(&workflow, &found(changed), now), ["output_changed"]);
        let told = codes(&workflow, &found(ObservedFile::Broken("x".into())), now);
        assert_eq!(told, ["output_broken"]);
    }
}
