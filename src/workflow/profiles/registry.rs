//! The registry profile: one file for each run, with phases as numbers.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::model::run_id;
use crate::workflow::profiles::adopt::{Listing, PhaseProgress, Progress, adopt};
use crate::workflow::profiles::format::{
    Format, Spelling, Time, check_ids, check_run, check_version, name, project_of, read,
    unknown_status,
};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::{Interruption, Workflow};

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
    #[serde(deserialize_with = "status_word")]
    status: String,
    /// 0 where nothing has begun, for some programs.
    current_phase: usize,
    total_phases: usize,
    completed_phases: Vec<usize>,
    workflow_state: Map<String, Value>,
    #[serde(default)]
    last_error: Value,
}

/// What a status word means, in any of its spellings.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Pending,
    InProgress,
    Interrupted,
    Ended(RunStatus),
}

fn meaning(word: &str) -> Option<Meaning> {
    Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
        "pending" | "created" | "not_started" | "initialized" => Meaning::Pending,
        "in_progress" | "running" | "active" | "started" | "awaiting_approval" => {
            Meaning::InProgress
        }
        "interrupted" | "paused" | "suspended" => Meaning::Interrupted,
        "complete" | "completed" | "done" | "success" => Meaning::Ended(RunStatus::Complete),
        "failed" | "error" => Meaning::Ended(RunStatus::Failed),
        "abandoned" | "cancelled" | "canceled" | "aborted" => Meaning::Ended(RunStatus::Abandoned),
        _ => return None,
    })
}

impl Registry {
    fn meaning(&self) -> Meaning {
        meaning(&self.status).unwrap_or(Meaning::InProgress)
    }

    fn status_of(&self, number: usize) -> PhaseStatus {
        if self.completed_phases.contains(&number) {
            return PhaseStatus::Complete;
        }
        match self.meaning() {
            _ if self.current_phase != number => PhaseStatus::Pending,
            Meaning::Pending | Meaning::Ended(RunStatus::Complete) => PhaseStatus::Pending,
            Meaning::Ended(RunStatus::Failed) => PhaseStatus::Failed,
            _ => PhaseStatus::InProgress,
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
                let mut ids = (number..).map(|id| id.to_string());
                phase.id = ids.find(|id| run.phase(id).is_none()).unwrap_or_default();
                phase.name = Some(format!("Phase {number}"));
                // Numbers are an order, unless the document itself has gone on out of it.
                let is_begun = phase.status != PhaseStatus::Pending;
                let before = phases
                    .last()
                    .filter(|before| !is_begun || before.status == PhaseStatus::Complete);
                let before = before.map(|before| before.id.clone());
                phase.dependencies = Some(before.into_iter().collect());
            }
            phases.push(phase);
        }
        Progress {
            created: self.created_at,
            updated: self.updated_at,
            status: match self.meaning() {
                Meaning::Ended(status) => status,
                _ => RunStatus::Open,
            },
            phases,
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
    const SPELLING: Spelling = Spelling {
        aliases: &[],
        keeps_keys: false,
    };

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
        let is_wrong = |number: &usize| *number == 0 || *number > total;
        if let Some(at) = self.completed_phases.iter().position(is_wrong) {
            let what = "it is none of the phases of the run".to_owned();
            return out_of_range(format!("completed_phases[{at}]"), what);
        }
        check_ids("completed_phases", self.completed_phases.iter())?;
        // Numbers keep their spelling in the raw values only.
        if let Some(state) = value["workflow_state"].as_object() {
            self.workflow_state.clone_from(state);
        }
        self.last_error = value.get("last_error").cloned().unwrap_or_default();
        Ok(self)
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let id_of = |number: usize| Some(run.phases.get(number.checked_sub(1)?)?.id.as_str());
        let numbers = was.into_iter().flat_map(|was| &was.completed_phases);
        let listed: Vec<&str> = numbers.filter_map(|number| id_of(*number)).collect();
        let named = was.and_then(|was| id_of(was.current_phase));
        let listing = Listing::of(run, &listed, named);
        let number_of = |phase: &Phase| run.number_of(&phase.id);
        // Readers resume after the last listed phase, so the last one is named at the end.
        let current = listing
            .current
            .and_then(number_of)
            .unwrap_or(run.phases.len());
        let mut state = run.state.clone();
        let has_project = was.is_none_or(|was| was.workflow_state.contains_key(PROJECT));
        if has_project && !state.contains_key(PROJECT) {
            let project = run_id::snake(&run.project).into();
            state.shift_insert(0, PROJECT.to_owned(), project);
        }
        // Open runs have one word, unless the document says why it waits.
        let is_known = |word: &&String| match meaning(word) {
            Some(Meaning::Interrupted) => run.interrupted.is_some(),
            Some(Meaning::Pending) => run.current().is_none(),
            _ => false,
        };
        let status = was.map(|was| &was.status).filter(is_known);
        Self {
            // An id that is not valid for a run stays in the document.
            checkpoint_id: was.map_or(&run.id, |was| &was.checkpoint_id).clone(),
            workflow_type: run.kind.clone(),
            workflow_description: run.description.clone(),
            created_at: Time(run.created_ms),
            updated_at: Time(run.updated_ms),
            status: match status.filter(|_| run.status.is_open()) {
                Some(word) => word.clone(),
                None if run.status.is_open() => "in_progress".to_owned(),
                None => run.word().to_owned(),
            },
            current_phase: current,
            total_phases: run.phases.len(),
            completed_phases: listing.done.into_iter().filter_map(number_of).collect(),
            workflow_state: state,
            last_error: run.last_error.clone().unwrap_or_default(),
        }
    }

    fn adopt(&self, ours: &Self, run: &mut Workflow, _: &str) -> Result<(), Finding> {
        if run.documents.contains_key(&path(run)) {
            check_run("checkpoint_id", &self.checkpoint_id, &ours.checkpoint_id)?;
        }
        let (edited, known) = (self.progress(run), ours.progress(run));
        adopt(run, &edited, &known)?;
        if self.meaning() == Meaning::Interrupted {
            run.interrupted.get_or_insert(Interruption {
                reason: self.status.clone(),
                at_ms: self.updated_at.0,
            });
        } else if ours.meaning() == Meaning::Interrupted {
            run.interrupted = None;
        }
        run.kind.clone_from(&self.workflow_type);
        run.description.clone_from(&self.workflow_description);
        run.state.clone_from(&self.workflow_state);
        run.last_error = Some(self.last_error.clone()).filter(|error| !error.is_null());
        Ok(())
    }

    fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["workflow_state"] = self.workflow_state.clone().into();
        value["last_error"] = self.last_error.clone();
        value
    }
}

fn status_word<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let word = String::deserialize(from)?;
    let known = meaning(&word).ok_or_else(|| unknown_status(&word))?;
    let usual = match known {
        Meaning::InProgress => "in_progress",
        Meaning::Ended(RunStatus::Complete) => "complete",
        Meaning::Ended(RunStatus::Failed) => "failed",
        Meaning::Ended(_) => "abandoned",
        Meaning::Pending | Meaning::Interrupted => return Ok(word),
    };
    Ok(usual.to_owned())
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
