//! The registry profile: one file for each run, with phases as numbers.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::run_id;
use crate::workflow::profiles::adopt::{PhaseListing, PhaseProgress, RunFacts, adopt};
use crate::workflow::profiles::format::{
    MOST_PHASES, check_ids, check_run, check_version, name, new_run, project_of, with_fields_of,
    word,
};
use crate::workflow::{Finding, Format, Interruption, Phase, PhaseStatus, Time, Workflow};

pub const FOLDER: &str = ".claude/checkpoints";
pub const FAILED: &str = ".claude/checkpoints/failed";
const PROJECT: &str = "project_name";
const TOTAL: &str = "total_phases";

#[derive(Serialize, Deserialize)]
pub struct Registry {
    #[serde(deserialize_with = "name")]
    checkpoint_id: String,
    #[serde(deserialize_with = "name")]
    workflow_type: String,
    workflow_description: String,
    created_at: Time,
    updated_at: Time,
    #[serde(deserialize_with = "word")]
    status: StatusWord,
    /// 0 where nothing has begun, for some programs.
    current_phase: usize,
    total_phases: usize,
    completed_phases: Vec<usize>,
    workflow_state: Map<String, Value>,
    #[serde(default)]
    last_error: Value,
    /// Says that the document has a newer version.
    #[serde(skip)]
    newer: Option<Finding>,
}

#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StatusWord {
    #[serde(alias = "created", alias = "not_started", alias = "initialized")]
    Pending,
    #[default]
    #[serde(alias = "running", alias = "active", alias = "started")]
    #[serde(alias = "awaiting_approval")]
    InProgress,
    #[serde(alias = "interrupted", alias = "suspended")]
    Paused,
    #[serde(alias = "completed", alias = "done", alias = "success")]
    Complete,
    #[serde(alias = "error")]
    Failed,
    #[serde(alias = "cancelled", alias = "canceled", alias = "aborted")]
    Abandoned,
}

impl Registry {
    fn status_of(&self, number: usize) -> PhaseStatus {
        match self.status {
            _ if self.completed_phases.contains(&number) => PhaseStatus::Complete,
            _ if self.current_phase != number => PhaseStatus::Pending,
            StatusWord::Pending | StatusWord::Complete => PhaseStatus::Pending,
            StatusWord::Failed => PhaseStatus::Failed,
            _ => PhaseStatus::InProgress,
        }
    }

    fn progress(&self, run: &Workflow) -> RunFacts {
        let mut phases: Vec<PhaseProgress> = Vec::new();
        for number in 1..=self.total_phases {
            let mut phase = PhaseProgress {
                place: TOTAL.to_owned(),
                status: self.status_of(number),
                ..PhaseProgress::default()
            };
            if let Some(known) = run.phases.get(number - 1) {
                phase.id.clone_from(&known.id);
                phase.name = Some(known.name.clone());
            } else {
                // Ids of an imported run may be numbers, too.
                let mut ids = (number..).map(|id| id.to_string());
                phase.id = ids.find(|id| run.phase(id).is_none()).unwrap_or_default();
                phase.name = Some(format!("Phase {number}"));
                // Numbers are an order, unless the document itself has gone on out of it.
                let is_begun = phase.status != PhaseStatus::Pending;
                let before = phases.last();
                let before = before.filter(|one| !is_begun || one.status == PhaseStatus::Complete);
                phase.dependencies = Some(before.iter().map(|one| one.id.clone()).collect());
            }
            phases.push(phase);
        }
        let id_of = |number: &usize| Some(run.phases.get(number.checked_sub(1)?)?.id.clone());
        let completed = self.completed_phases.iter();
        RunFacts {
            created: self.created_at,
            updated: self.updated_at,
            status: with_fields_of(&self.status),
            listed: completed.filter_map(id_of).collect(),
            named: id_of(&self.current_phase),
            phases,
        }
    }

    /// Returns the project in the state, else the part of the id between type and time, else the
    /// name of the root.
    fn project(&self, root: &str) -> String {
        let named = self.workflow_state.get(PROJECT).and_then(Value::as_str);
        let rest = self.checkpoint_id.strip_prefix(&self.workflow_type);
        let rest = rest.and_then(|rest| rest.strip_prefix('_'));
        let timed = rest.filter(|_| run_id::is_timed(&self.checkpoint_id));
        let in_id = timed.and_then(|rest| rest.rsplitn(3, '_').nth(2));
        let named = named.filter(|name| !name.is_empty()).or(in_id);
        named.unwrap_or_else(|| project_of(root)).to_owned()
    }

    fn out_of_range(&self) -> Vec<Finding> {
        let total = self.total_phases;
        let fields = [
            (TOTAL, total, 0..=MOST_PHASES),
            ("current_phase", self.current_phase, 0..=total),
        ];
        let fields = fields.map(|(key, number, known)| (key.to_owned(), number, known));
        let completed = self.completed_phases.iter().enumerate();
        let place = |at| format!("completed_phases[{at}]");
        let completed = completed.map(|(at, number)| (place(at), *number, 1..=total));
        let all = fields.into_iter().chain(completed);
        let wrong = all.filter(|(_, number, known)| !known.contains(number));
        let finding = |(place, number, known): (_, _, RangeInclusive<usize>)| {
            let what = format!("{number} is not from {} to {}", known.start(), known.end());
            Finding::new("out_of_range", place, what)
        };
        wrong.map(finding).collect()
    }

    pub fn begin(self, root: &str) -> Workflow {
        let (id, kind) = (&self.checkpoint_id, &self.workflow_type);
        new_run(Some(id), kind, &self.project(root), self.created_at)
    }
}

impl Format for Registry {
    fn usual(mut self, value: &Value, _: &Workflow, _: &str) -> Self {
        // Numbers keep their spelling in the raw values only.
        if let Some(state) = value["workflow_state"].as_object() {
            self.workflow_state.clone_from(state);
        }
        self.last_error = value.get("last_error").cloned().unwrap_or_default();
        self.newer = check_version(value);
        self
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let listing = PhaseListing::of(run, was.map(|was| was.progress(run)));
        let number_of = |phase: &Phase| run.number_of(&phase.id);
        let same = was.filter(|_| listing.is_described);
        let next = listing.current.and_then(number_of);
        let current = same.map(|was| was.current_phase).or(next);
        let mut state = run.state.clone();
        let has_project = was.is_none_or(|was| was.workflow_state.contains_key(PROJECT));
        if has_project && !state.contains_key(PROJECT) {
            let project = run_id::snake(&run.project).into();
            state.shift_insert(0, PROJECT.to_owned(), project);
        }
        // Open runs have one word, unless the document says why it waits.
        let waits = was.filter(|_| run.status.is_open()).map(|was| was.status);
        let waits = waits.filter(|status| match status {
            StatusWord::Paused => run.interrupted.is_some(),
            StatusWord::Pending => run.current().is_none(),
            _ => false,
        });
        Self {
            // An id that is not valid for a run stays in the document.
            checkpoint_id: was.map_or(&run.id, |was| &was.checkpoint_id).clone(),
            workflow_type: run.kind.clone(),
            workflow_description: run.description.clone(),
            created_at: Time(run.created_ms),
            updated_at: Time(run.updated_ms),
            status: waits.unwrap_or_else(|| with_fields_of(&run.status)),
            current_phase: current.unwrap_or(run.phases.len()),
            total_phases: run.phases.len(),
            completed_phases: listing.done.into_iter().filter_map(number_of).collect(),
            workflow_state: state,
            last_error: run.last_error.clone().unwrap_or_default(),
            newer: None,
        }
    }

    fn adopt(&self, present: &Self, run: &mut Workflow, _: &str) -> Vec<Finding> {
        let mut findings = self.out_of_range();
        findings.extend(self.newer.clone());
        findings.extend(check_ids("completed_phases", self.completed_phases.iter()));
        if run.documents.contains_key(&path(run)) {
            let (named, known) = (&self.checkpoint_id, &present.checkpoint_id);
            findings.extend(check_run("checkpoint_id", named, known));
        }
        if !findings.is_empty() {
            return findings;
        }
        let (edited, known) = (self.progress(run), present.progress(run));
        findings = adopt(run, &edited, &known);
        if self.status == StatusWord::Paused {
            let (reason, at_ms) = ("paused".to_owned(), self.updated_at.0);
            run.interrupted
                .get_or_insert(Interruption { reason, at_ms });
        } else if present.status == StatusWord::Paused {
            run.interrupted = None;
        }
        run.kind.clone_from(&self.workflow_type);
        run.description.clone_from(&self.workflow_description);
        run.state.clone_from(&self.workflow_state);
        run.last_error = Some(self.last_error.clone()).filter(|error| !error.is_null());
        findings
    }

    fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["workflow_state"] = self.workflow_state.clone().into();
        value["last_error"] = self.last_error.clone();
        value
    }
}

/// Whether a path is that of an active run: in the folder itself,
/// `{type}_{project}_{YYYYMMDD_HHMMSS}.json`.
pub fn is_active_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let id = name.strip_suffix(".json").unwrap_or_default();
    folder == FOLDER && run_id::is_timed(id)
}

/// Returns the path of the file: as it was read, else named by the id if readers of the folder accept
/// that as a name, else by a new one.
pub fn path(run: &Workflow) -> String {
    let known = run.documents.keys().find(|path| is_active_file(path));
    let own = Some(&run.id).filter(|id| run_id::is_timed(id)).cloned();
    let id = own.unwrap_or_else(|| run_id::make(&run.kind, &run.project, run.created_ms));
    known.cloned().unwrap_or(format!("{FOLDER}/{id}.json"))
}

/// Returns the path for the file of a failed or abandoned run.
pub fn failed_path(path: &str) -> Option<String> {
    is_active_file(path).then(|| path.replacen(FOLDER, FAILED, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    #[test]
    fn active_file_is_known_by_its_name() {
        for (name, is_active) in rows::<(&str, bool)>(include_str!("tests/registry.json"), "names")
        {
            assert_eq!(
                is_active_file(&format!("{FOLDER}/{name}")),
                is_active,
                "{name}"
            );
        }
        assert!(!is_active_file("test-all_x_20251003_192230.json"));
    }
}
