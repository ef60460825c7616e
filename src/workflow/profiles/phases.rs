//! The phases profile: a phase file, and a file for the tasks in the phase.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::path_pattern::has_marks;
use crate::model::run_id;
use crate::workflow::plan::{self, DOTAGENT};
use crate::workflow::profiles::adopt::{PhaseProgress, Progress, adopt, is_output_of};
use crate::workflow::profiles::format::{
    Format, Time, check_run, duplicate, known, name, phase_status, project_of, read, sort_as_in,
    unless_left_out,
};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::PHASE_FILE;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = "memory/state/.archive";

#[derive(Serialize, Deserialize)]
pub struct Phases {
    #[serde(deserialize_with = "name")]
    workflow_id: String,
    started_at: Time,
    last_updated: Time,
    #[serde(deserialize_with = "name")]
    current_phase: String,
    #[serde(deserialize_with = "phase_status")]
    phase_status: PhaseStatus,
    completed_phases: Vec<Completed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_checkpoints: Option<Vec<Approved>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interruption_safe: Option<bool>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Completed {
    #[serde(deserialize_with = "name")]
    phase: String,
    completed_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Approved {
    #[serde(deserialize_with = "name")]
    phase: String,
    approved_at: Time,
}

impl Phases {
    /// Returns every phase that the document names.
    fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let completed = self
            .completed_phases
            .iter_mut()
            .map(|entry| &mut entry.phase);
        let approved = self
            .user_checkpoints
            .iter_mut()
            .flatten()
            .map(|entry| &mut entry.phase);
        completed.chain([&mut self.current_phase]).chain(approved)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let completed = self.completed_phases.iter().map(|entry| &entry.phase);
        let approved = self
            .user_checkpoints
            .iter()
            .flatten()
            .map(|entry| &entry.phase);
        completed.chain([&self.current_phase]).chain(approved)
    }

    fn completed(&self, id: &str) -> Option<&Completed> {
        self.completed_phases.iter().find(|entry| entry.phase == id)
    }

    /// Whether the run is complete: without a next phase, `complete` describes the current one.
    fn is_over(&self, run: &Workflow) -> bool {
        let is_end = run
            .phases
            .last()
            .is_none_or(|last| last.id == self.current_phase);
        let is_known_end = DOTAGENT
            .last()
            .is_some_and(|last| *last == self.current_phase);
        let is_listed = self.completed(&self.current_phase).is_some();
        self.phase_status == PhaseStatus::Complete && is_end && (is_known_end || is_listed)
    }

    /// Returns the status of a phase. `complete` describes the previous phase, while the current one
    /// is already the next and has not begun; a phase that is redone is current and listed.
    fn status_of(&self, id: &str, run: &Workflow) -> PhaseStatus {
        let is_current = self.current_phase == id;
        let is_under_way = is_current && self.phase_status.is_under_way();
        if is_under_way {
            self.phase_status
        } else if self.completed(id).is_some() || (is_current && self.is_over(run)) {
            PhaseStatus::Complete
        } else {
            PhaseStatus::Pending
        }
    }

    fn progress(&self, run: &Workflow, approved: Option<&Vec<Approved>>) -> Progress {
        let is_planned = run.phases.iter().any(|phase| !phase.is_unplanned);
        let planned = run
            .phases
            .iter()
            .filter(|phase| !phase.is_unplanned || !is_planned);
        let mut ids: Vec<&str> = planned.map(|phase| phase.id.as_str()).collect();
        for name in self.names() {
            if !ids.contains(&name.as_str()) {
                ids.push(name);
            }
        }
        let approved_at = |id: &str| {
            let mut approved = approved.into_iter().flatten();
            approved
                .find(|entry| entry.phase == id)
                .map(|entry| entry.approved_at)
        };
        let phase = |id: &str| PhaseProgress {
            id: id.to_owned(),
            name: run.phase(id).map(|phase| phase.name.clone()),
            status: self.status_of(id, run),
            completed: self.completed(id).map(|entry| entry.completed_at),
            output: self.completed(id).and_then(|entry| entry.output.clone()),
            approved: approved_at(id),
            ..PhaseProgress::default()
        };
        Progress {
            created: self.started_at,
            updated: self.last_updated,
            status: if self.is_over(run) {
                RunStatus::Complete
            } else {
                RunStatus::Open
            },
            phases: ids.into_iter().map(phase).collect(),
            phases_at: "current_phase",
            ..Progress::default()
        }
    }
}

impl Format for Phases {
    fn checked(mut self, _: &Value, run: &Workflow, _: &str) -> Result<Self, Finding> {
        self.phase_status = match self.phase_status {
            PhaseStatus::AwaitingApproval => PhaseStatus::InProgress,
            PhaseStatus::Skipped => PhaseStatus::Complete,
            status => status,
        };
        // The phases of the plan in any case.
        for name in self.names_mut().filter(|name| run.phase(name).is_none()) {
            let known = run
                .phases
                .iter()
                .find(|phase| phase.id.eq_ignore_ascii_case(name));
            if let Some(known) = known {
                name.clone_from(&known.id);
            }
        }
        let mut seen = BTreeSet::new();
        let mut listed = self.completed_phases.iter().enumerate();
        match listed.find(|(_, entry)| !seen.insert(&entry.phase)) {
            Some((at, entry)) => Err(duplicate(
                format!("completed_phases[{at}].phase"),
                &entry.phase,
            )),
            None => Ok(self),
        }
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let (current_phase, phase_status) = current(run, was);
        // The last phase may be complete without being in the list.
        let is_left_out = |phase: &Phase| {
            phase_status == PhaseStatus::Complete
                && phase.id == current_phase
                && was.is_some_and(|was| {
                    was.current_phase == current_phase
                        && was.phase_status == phase_status
                        && was.completed(&phase.id).is_none()
                })
        };
        let approvals = was.map(|was| &was.user_checkpoints);
        Self {
            completed_phases: completed(run, was, is_left_out),
            user_checkpoints: unless_left_out(approved(run, was), approvals),
            // A flag cleared by another writer stays so until our next transition.
            interruption_safe: was.map_or(Some(true), |was| was.interruption_safe),
            // An id that is not valid for a run stays in the document.
            workflow_id: was.map_or(&run.id, |was| &was.workflow_id).clone(),
            started_at: Time(run.created_ms),
            last_updated: Time(run.updated_ms),
            current_phase,
            phase_status,
        }
    }

    fn adopt(&self, ours: &Self, run: &mut Workflow, _: &str) -> Result<(), Finding> {
        if run.documents.contains_key(PHASE_FILE) {
            check_run("workflow_id", &self.workflow_id, &ours.workflow_id)?;
        }
        let (approved, known) = (
            self.user_checkpoints.as_ref(),
            ours.user_checkpoints.as_ref(),
        );
        let said = self.progress(run, approved.or(known));
        let ours = ours.progress(run, known);
        adopt(run, said, &ours)
    }
}

fn listed(was: Option<&Phases>) -> Vec<&str> {
    let entries = was.into_iter().flat_map(|was| &was.completed_phases);
    entries.map(|entry| entry.phase.as_str()).collect()
}

/// Returns the running phase, or between two phases the next one as `in_progress`: readers resume a
/// run only with that word. The document's values are kept while they mean the same.
fn current(run: &Workflow, was: Option<&Phases>) -> (String, PhaseStatus) {
    let listed = listed(was);
    // Of several running phases, the one in the document counts, else the first.
    let named = was.and_then(|was| run.phase(&was.current_phase));
    let named = named.filter(|phase| phase.status.is_under_way());
    let under_way = named.or_else(|| run.current());
    let shown = |phase: &Phase| match phase.status {
        _ if phase.is_done_in(&listed) => PhaseStatus::Complete,
        _ if under_way.is_none_or(|current| current.id != phase.id) => PhaseStatus::Pending,
        PhaseStatus::Failed => PhaseStatus::Failed,
        _ => PhaseStatus::InProgress,
    };
    let is_over = run.status == RunStatus::Complete || run.is_all_settled();
    let is_same = |was: &&Phases| {
        was.is_over(run) == is_over
            && run
                .phases
                .iter()
                .all(|phase| was.status_of(&phase.id, run) == shown(phase))
    };
    if let Some(was) = was.filter(is_same) {
        return (was.current_phase.clone(), was.phase_status);
    }
    let next = under_way.or_else(|| run.next()).or(run.phases.last());
    let last = run.phases.last().filter(|_| is_over);
    let status = match under_way {
        _ if is_over => PhaseStatus::Complete,
        _ if run.status == RunStatus::Failed => PhaseStatus::Failed,
        Some(phase) => shown(phase),
        None if run.phases.iter().any(|phase| phase.is_done_in(&listed)) => PhaseStatus::InProgress,
        None => PhaseStatus::Pending,
    };
    (
        last.or(next)
            .map(|phase| phase.id.clone())
            .unwrap_or_default(),
        status,
    )
}

/// Returns the completed phases in the order of the document, then by completion; a redone phase is
/// among them.
fn completed(
    run: &Workflow,
    was: Option<&Phases>,
    is_left_out: impl Fn(&Phase) -> bool,
) -> Vec<Completed> {
    let listed = listed(was);
    let is_listed = |phase: &&Phase| {
        let is_again = phase.status.is_under_way() && phase.completed_ms.is_some();
        (phase.is_done_in(&listed) || is_again) && !is_left_out(phase)
    };
    let mut phases: Vec<&Phase> = run.phases.iter().filter(is_listed).collect();
    phases.sort_by_key(|phase| phase.completed_ms);
    sort_as_in(&mut phases, &listed, |phase, id| phase.id == *id);
    let entry = |phase: &Phase| {
        let known = was.and_then(|was| was.completed(&phase.id));
        let known_at = known.map_or(Time(run.updated_ms), |entry| entry.completed_at);
        // A pattern is not a file to look for.
        let mut outputs = phase.outputs.iter().map(|output| &output.path);
        let first = outputs.find(|path| !has_marks(path.as_bytes()));
        let output = known.map_or(first, |entry| {
            let path = entry.output.as_ref()?;
            first.filter(|_| !is_output_of(phase, path)).or(Some(path))
        });
        Completed {
            phase: phase.id.clone(),
            completed_at: phase.completed_ms.map_or(known_at, Time),
            output: output.cloned(),
        }
    };
    phases.into_iter().map(entry).collect()
}

fn approved(run: &Workflow, was: Option<&Phases>) -> Vec<Approved> {
    let approved = run.phases.iter().filter_map(|phase| {
        Some(Approved {
            phase: phase.id.clone(),
            approved_at: Time(phase.approved_ms?),
        })
    });
    let mut approved: Vec<Approved> = approved.collect();
    approved.sort_by_key(|entry| entry.approved_at.0);
    let known = was
        .and_then(|was| was.user_checkpoints.as_deref())
        .unwrap_or_default();
    sort_as_in(&mut approved, known, |one, known| one.phase == known.phase);
    approved
}

/// Makes a run, with the five phases if the document names one of them, else with none.
///
/// # Errors
/// The first error in the document.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Finding> {
    let document: Phases = read(value, &Workflow::default(), root)?;
    let (id, started_ms) = (&document.workflow_id, document.started_at.0);
    let project = project_of(root);
    let named = [id.clone(), run_id::word(id)]
        .into_iter()
        .find(|id| run_id::is_legal(id) && !run_id::is_empty_word(id));
    let id = named.unwrap_or_else(|| run_id::make("develop", project, started_ms));
    let mut run = Workflow::new(id, "develop".to_owned(), project.to_owned(), started_ms);
    let is_known = |name: &String| {
        DOTAGENT
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    if document.names().any(is_known) {
        run.phases = plan::preset("dotagent").unwrap_or_default();
    }
    Ok(run)
}

/// Returns the current phase of the file if it has not begun, and the status in the file.
pub fn named_unbegun(run: &Workflow) -> Option<(&Phase, &'static str)> {
    let document: Phases = known(run, PHASE_FILE, "")?;
    let phase = run.phase(&document.current_phase)?;
    (phase.status == PhaseStatus::Pending).then(|| (phase, document.phase_status.into_str()))
}

/// Returns the phases that a file may name: the planned ones, else the five.
pub fn known_names(run: &Workflow) -> Vec<&str> {
    let planned = run.phases.iter().filter(|phase| !phase.is_unplanned);
    let planned: Vec<&str> = planned.map(|phase| phase.id.as_str()).collect();
    if planned.is_empty() {
        DOTAGENT.to_vec()
    } else {
        planned
    }
}
