//! The registry profile: one file for each run, with phases as numbers.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::run_id;
use crate::workflow::profiles::adopt::{PhaseProgress, Progress, adopt};
use crate::workflow::profiles::format::{
    Format, Time, check_run, check_version, duplicate, name, project_of, read, sort_as_in,
    unknown_status,
};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

pub const FOLDER: &str = ".claude/checkpoints";
pub const FAILED: &str = ".claude/checkpoints/failed";
const PROJECT: &str = "project_name";
/// Upper bound on the number of phases; a larger one is a mistake.
const MOST_PHASES: usize = 1_000;

#[derive(Serialize, Deserialize)]
pub struct Registry {
    #[serde(deserialize_with = "name")]
    checkpoint_id: String,
    #[serde(deserialize_with = "name")]
    workflow_type: String,
    workflow_description: String,
    created_at: Time,
    updated_at: Time,
    status: StatusWord,
    /// 0 where nothing has begun, for some programs.
    current_phase: usize,
    total_phases: usize,
    completed_phases: Vec<usize>,
    workflow_state: Map<String, Value>,
    #[serde(default)]
    last_error: Value,
}

/// Status of a run; a word in any of its spellings.
#[derive(Clone, PartialEq)]
enum StatusWord {
    Pending,
    InProgress,
    /// As the document spells it.
    Interrupted(String),
    Ended(RunStatus),
}

impl<'de> Deserialize<'de> for StatusWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        Ok(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "pending" | "created" | "not_started" | "initialized" => Self::Pending,
            "in_progress" | "running" | "active" | "started" | "awaiting_approval" => {
                Self::InProgress
            }
            "interrupted" | "paused" | "suspended" => Self::Interrupted(word),
            "complete" | "completed" | "done" | "success" => Self::Ended(RunStatus::Complete),
            "failed" | "error" => Self::Ended(RunStatus::Failed),
            "abandoned" | "cancelled" | "canceled" | "aborted" => Self::Ended(RunStatus::Abandoned),
            _ => return Err(unknown_status(&word, "run")),
        })
    }
}

impl Serialize for StatusWord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Pending => "pending".serialize(to),
            Self::InProgress => "in_progress".serialize(to),
            Self::Interrupted(word) => word.serialize(to),
            Self::Ended(status) => status.serialize(to),
        }
    }
}

impl Registry {
    fn is_ended_as(&self, status: RunStatus) -> bool {
        self.status == StatusWord::Ended(status)
    }

    /// Returns the number of the phase under way; `None` between two phases.
    fn under_way(&self) -> Option<usize> {
        let is_begun = self.current_phase > 0
            && self.status != StatusWord::Pending
            && !self.is_ended_as(RunStatus::Complete)
            && !self.completed_phases.contains(&self.current_phase);
        is_begun.then_some(self.current_phase)
    }

    fn status_of(&self, number: usize) -> PhaseStatus {
        if self.completed_phases.contains(&number) {
            PhaseStatus::Complete
        } else if self.under_way() != Some(number) {
            PhaseStatus::Pending
        } else if self.is_ended_as(RunStatus::Failed) {
            PhaseStatus::Failed
        } else {
            PhaseStatus::InProgress
        }
    }

    fn progress(&self, run: &Workflow) -> Progress {
        let mut phases: Vec<PhaseProgress> = Vec::new();
        for number in 1..=self.total_phases {
            let mut phase = PhaseProgress {
                status: self.status_of(number),
                ..PhaseProgress::default()
            };
            if let Some(known) = run.phases.get(number - 1) {
                phase.id.clone_from(&known.id);
                phase.name = Some(known.name.clone());
            } else {
                // Ids of an imported run may be numbers, too.
                let is_free = |id: &String| run.phase(id).is_none();
                phase.id = (number..)
                    .map(|id| id.to_string())
                    .find(is_free)
                    .unwrap_or_default();
                phase.name = Some(format!("Phase {number}"));
                // Numbers are an order, unless the document itself has gone on out of it.
                let is_begun = phase.status != PhaseStatus::Pending || self.current_phase == number;
                let before = phases.last();
                let before =
                    before.filter(|_| !is_begun || self.completed_phases.contains(&(number - 1)));
                phase.dependencies =
                    Some(before.map(|before| before.id.clone()).into_iter().collect());
            }
            phases.push(phase);
        }
        Progress {
            created: self.created_at,
            updated: self.updated_at,
            status: match self.status {
                StatusWord::Ended(status) => status,
                _ => RunStatus::Open,
            },
            interrupted: match &self.status {
                StatusWord::Interrupted(word) => Some(word.clone()),
                _ => None,
            },
            kind: Some(self.workflow_type.clone()),
            description: Some(self.workflow_description.clone()),
            state: Some(self.workflow_state.clone()),
            last_error: Some(self.last_error.clone()),
            phases,
            phases_at: "total_phases",
            ..Progress::default()
        }
    }

    /// Returns the project in the state, else the part of the id between type and time, else the
    /// name of the root.
    fn project(&self, root: &str) -> String {
        let named = self.workflow_state.get(PROJECT).and_then(Value::as_str);
        let rest = self.checkpoint_id.strip_prefix(&self.workflow_type);
        let rest = rest.and_then(|rest| rest.strip_prefix('_'));
        let in_id = rest
            .filter(|_| run_id::is_timed(&self.checkpoint_id))
            .and_then(|rest| rest.rsplitn(3, '_').nth(2));
        let named = named.filter(|name| !name.is_empty()).or(in_id);
        named.unwrap_or_else(|| project_of(root)).to_owned()
    }

    /// Returns its id if that `is_usable`, else a new one.
    fn usable_id(&self, root: &str, is_usable: impl Fn(&str) -> bool) -> String {
        if is_usable(&self.checkpoint_id) {
            return self.checkpoint_id.clone();
        }
        run_id::make(&self.workflow_type, &self.project(root), self.created_at.0)
    }
}

impl Format for Registry {
    fn checked(mut self, value: &Value, _: &Workflow, _: &str) -> Result<Self, Finding> {
        check_version(value)?;
        let (current, total) = (self.current_phase, self.total_phases);
        let out_of_range = |place: String, what| Err(Finding::new("out_of_range", place, what));
        if total > MOST_PHASES {
            let what = format!("{total} is more than the {MOST_PHASES} phases of a run");
            return out_of_range("total_phases".to_owned(), what);
        }
        if current > total {
            let what = format!("{current} is beyond the {total} phases of the run");
            return out_of_range("current_phase".to_owned(), what);
        }
        let mut seen = BTreeSet::new();
        for (at, number) in self.completed_phases.iter().enumerate() {
            let place = format!("completed_phases[{at}]");
            if *number == 0 || *number > total {
                let what = format!("{number} is none of the phases of the run");
                return out_of_range(place, what);
            }
            if !seen.insert(number) {
                return Err(duplicate(place, &number.to_string()));
            }
        }
        // Numbers keep their spelling in the raw values only.
        if let Some(state) = value["workflow_state"].as_object() {
            self.workflow_state.clone_from(state);
        }
        self.last_error = value.get("last_error").cloned().unwrap_or_default();
        Ok(self)
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let listed = was
            .map(|was| was.completed_phases.clone())
            .unwrap_or_default();
        let is_done = |(phase, number): &(&Phase, usize)| match phase.status {
            PhaseStatus::Skipped => listed.contains(number),
            status => status == PhaseStatus::Complete,
        };
        let mut done: Vec<_> = run.phases.iter().zip(1..).filter(is_done).collect();
        done.sort_by_key(|(phase, _)| phase.completed_ms);
        let mut completed: Vec<usize> = done.into_iter().map(|(_, number)| number).collect();
        sort_as_in(&mut completed, &listed, |number, known| number == known);
        let mut state = run.state.clone();
        if was.is_none_or(|was| was.workflow_state.contains_key(PROJECT))
            && !state.contains_key(PROJECT)
        {
            state.shift_insert(0, PROJECT.to_owned(), run_id::snake(&run.project).into());
        }
        Self {
            // An id that is not valid for a run stays in the document.
            checkpoint_id: was.map_or(&run.id, |was| &was.checkpoint_id).clone(),
            workflow_type: run.kind.clone(),
            workflow_description: run.description.clone(),
            created_at: Time(run.created_ms),
            updated_at: Time(run.updated_ms),
            status: status(run, was),
            current_phase: current(run, was, &completed),
            total_phases: run.phases.len(),
            completed_phases: completed,
            workflow_state: state,
            last_error: run.last_error.clone().unwrap_or_default(),
        }
    }

    fn adopt(&self, ours: &Self, run: &mut Workflow, _: &str) -> Result<(), Finding> {
        if run.documents.contains_key(&path(run)) {
            check_run("checkpoint_id", &self.checkpoint_id, &ours.checkpoint_id)?;
        }
        let (said, ours) = (self.progress(run), ours.progress(run));
        adopt(run, said, &ours)
    }

    fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["workflow_state"] = self.workflow_state.clone().into();
        value["last_error"] = self.last_error.clone();
        value
    }
}

/// Returns one word for open runs and one for each end; a finer word of the document stays while it
/// is true.
fn status(run: &Workflow, was: Option<&Registry>) -> StatusWord {
    if !run.status.is_open() {
        return StatusWord::Ended(run.status);
    }
    let known = was.map(|was| &was.status).filter(|word| match word {
        StatusWord::Interrupted(_) => run.interrupted.is_some(),
        StatusWord::Pending => run.current().is_none(),
        StatusWord::InProgress | StatusWord::Ended(_) => false,
    });
    known.cloned().unwrap_or(StatusWord::InProgress)
}

/// Returns the phase under way or next, or the last one at the end. The document's value stays while
/// it means the same.
fn current(run: &Workflow, was: Option<&Registry>, completed: &[usize]) -> usize {
    let number_of = |phase: &Phase| run.number_of(&phase.id);
    let is_running = |number: &usize| {
        let phase = number.checked_sub(1).and_then(|at| run.phases.get(at));
        phase.is_some_and(|phase| phase.status.is_under_way())
    };
    // Of several running phases, the one in the document counts, else the first.
    let named = was.map(|was| was.current_phase).filter(is_running);
    let under_way = named.or_else(|| run.current().and_then(number_of));
    // Readers resume after the last listed phase, so the one after a skipped phase must be named.
    let is_gap = |(phase, number): (&Phase, usize)| {
        phase.status == PhaseStatus::Skipped && !completed.contains(&number)
    };
    let has_gap = run.phases.iter().zip(1..).any(is_gap);
    let as_set = |numbers: &[usize]| numbers.iter().copied().collect::<BTreeSet<usize>>();
    let is_same = |was: &&Registry| {
        as_set(&was.completed_phases) == as_set(completed)
            && was.under_way() == under_way
            && was.current_phase <= run.phases.len()
            && !has_gap
    };
    if let Some(was) = was.filter(is_same) {
        return was.current_phase;
    }
    let next = || run.next().and_then(number_of);
    under_way.or_else(next).unwrap_or(run.phases.len())
}

/// Makes a run without phases.
///
/// # Errors
/// The first error in the document.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Finding> {
    let document: Registry = read(value, &Workflow::default(), root)?;
    let (id, project) = (
        document.usable_id(root, run_id::is_legal),
        document.project(root),
    );
    Ok(Workflow::new(
        id,
        document.workflow_type,
        project,
        document.created_at.0,
    ))
}

/// Whether a path is that of an active run: in the folder itself,
/// `{type}_{project}_{YYYYMMDD_HHMMSS}.json`.
pub fn is_active_file(path: &str) -> bool {
    let name = path
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    name.filter(|name| !name.contains('/'))
        .and_then(|name| name.strip_suffix(".json"))
        .is_some_and(run_id::is_timed)
}

/// Returns the path of the file: as it was read, else by the id of the run if readers of the folder
/// accept that as a file name, else by a new name.
pub fn path(run: &Workflow) -> String {
    let known = run.documents.keys().find(|path| is_active_file(path));
    known.cloned().unwrap_or_else(|| {
        path_of(&if is_file_name(&run.id) {
            run.id.clone()
        } else {
            run_id::make(&run.kind, &run.project, run.created_ms)
        })
    })
}

/// Returns the path for the document of another program.
pub fn path_of_document(value: &Value) -> Option<String> {
    let document: Registry = read(value, &Workflow::default(), "").ok()?;
    Some(path_of(&document.usable_id("", is_file_name)))
}

/// Returns the path for the file of a failed or abandoned run.
pub fn failed_path(path: &str) -> Option<String> {
    is_active_file(path).then(|| path.replacen(FOLDER, FAILED, 1))
}

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.json")
}

fn is_file_name(id: &str) -> bool {
    run_id::is_legal(id) && run_id::is_timed(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_file_is_known_by_its_name() {
        for (name, is_active) in [
            ("orchestrate_auth_system_20251003_184530.json", true),
            ("test-all_x_20251003_192230.json", true),
            ("failed/test-all_x_20251003_192230.json", false),
            ("test-all_x_20251003_192230", false),
            ("README.json", false),
            ("x_20251003_184530.json", false),
            ("_x_20251003_184530.json", false),
            ("a_b_2025_184530.json", false),
            ("a_b_20251003_18453.json", false),
        ] {
            assert_eq!(
                is_active_file(&format!("{FOLDER}/{name}")),
                is_active,
                "{name}"
            );
        }
        assert!(!is_active_file("test-all_x_20251003_192230.json"));
    }
}
