//! Adopts an edited document: what it says now against what the document of the present run says.
//! Only differences move the run, which may know more than any document.

use serde_json::{Map, Value};

use crate::base::wildmatch::Glob;
use crate::workflow::profiles::format::Time;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::{Interruption, Workflow};

/// What a document says about a run. `None`: it does not say.
#[derive(Default)]
pub struct Progress {
    pub created: Time,
    pub updated: Time,
    pub status: RunStatus,
    /// Why the run was interrupted.
    pub interrupted: Option<String>,
    pub kind: Option<String>,
    pub description: Option<String>,
    pub branch: Option<String>,
    pub key_decisions: Option<Vec<String>>,
    /// Relative to the root.
    pub file_paths: Option<Vec<String>>,
    pub state: Option<Map<String, Value>>,
    pub last_error: Option<Value>,
    /// The current one precedes others that are under way.
    pub phases: Vec<PhaseProgress>,
    /// The place in the document that says which phases there are.
    pub phases_at: &'static str,
}

#[derive(Default)]
pub struct PhaseProgress {
    pub id: String,
    /// A new phase without a name is unplanned.
    pub name: Option<String>,
    pub status: PhaseStatus,
    pub completed: Option<Time>,
    pub approved: Option<Time>,
    pub commit_sha: Option<String>,
    pub note: Option<String>,
    pub dependencies: Option<Vec<String>>,
    pub output: Option<String>,
}

impl Progress {
    fn phase(&self, id: &str) -> Option<&PhaseProgress> {
        self.phases.iter().find(|phase| phase.id == id)
    }
}

/// # Errors
/// A phase that has begun is not in the document any more.
pub fn adopt(run: &mut Workflow, said: Progress, ours: &Progress) -> Result<(), Finding> {
    // A change cannot precede the beginning of the run.
    let at_ms = said.updated.0.max(said.created.0);
    remove_missing(run, &said, ours)?;
    // A document names one of several phases under way; if it names another one, the first goes on.
    let current = said.phases.iter().find(|phase| phase.status.is_under_way());
    let is_beside = current
        .and_then(|current| run.phase(&current.id))
        .is_some_and(|phase| phase.status.is_under_way());
    for phase in &said.phases {
        let known = ours.phase(&phase.id);
        let goes_on = is_beside
            && phase.status == PhaseStatus::Pending
            && known.is_some_and(|known| known.status.is_under_way());
        adopt_phase(run, phase, known, goes_on, at_ms);
    }
    sort_remaining(run, &said);
    if said.status != ours.status {
        move_run_to(run, said.status, at_ms);
    }
    if said.interrupted != ours.interrupted {
        let said = said
            .interrupted
            .map(|reason| Interruption { reason, at_ms });
        run.interrupted = said.map(|said| run.interrupted.take().unwrap_or(said));
    }
    if said.branch.is_some() {
        run.context.branch = said.branch.filter(|branch| !branch.is_empty());
    }
    update(&mut run.context.key_decisions, said.key_decisions);
    update(&mut run.context.file_paths, said.file_paths);
    update(&mut run.kind, said.kind);
    update(&mut run.description, said.description);
    update(&mut run.state, said.state);
    if let Some(error) = said.last_error {
        run.last_error = Some(error).filter(|error| !error.is_null());
    }
    if said.created != Time(run.created_ms) {
        run.created_ms = said.created.0;
    }
    if said.updated != Time(run.updated_ms) {
        run.updated_ms = said.updated.0;
    }
    Ok(())
}

fn update<T>(slot: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *slot = said;
    }
}

/// Drops the phases that the document does not list any more.
fn remove_missing(run: &mut Workflow, said: &Progress, ours: &Progress) -> Result<(), Finding> {
    let is_missing = |phase: &Phase| {
        said.phase(&phase.id).is_none() && (phase.is_unplanned || ours.phase(&phase.id).is_some())
    };
    let may_go = |phase: &Phase| phase.is_unplanned || phase.status == PhaseStatus::Pending;
    if let Some(begun) = run
        .phases
        .iter()
        .find(|phase| is_missing(phase) && !may_go(phase))
    {
        let what = format!("'{}' has begun and is no longer listed", begun.id);
        return Err(Finding::new("phase_vanished", said.phases_at, what));
    }
    let gone = run.phases.extract_if(.., |phase| is_missing(phase));
    let gone: Vec<String> = gone.map(|phase| phase.id).collect();
    for phase in &mut run.phases {
        phase.dependencies.retain(|id| !gone.contains(id));
    }
    Ok(())
}

fn adopt_phase(
    run: &mut Workflow,
    said: &PhaseProgress,
    known: Option<&PhaseProgress>,
    goes_on: bool,
    at_ms: i64,
) {
    if run.phase(&said.id).is_none() {
        let mut phase = Phase::new(&said.id, said.name.as_ref().unwrap_or(&said.id));
        phase.is_unplanned = said.name.is_none();
        run.phases.push(phase);
    }
    let none = PhaseProgress::default();
    let known = known.unwrap_or(&none);
    let Some(phase) = run.phase_mut(&said.id) else {
        return;
    };
    let is_same = said.status == known.status;
    // A new note on a phase that we listed as the next one says that it has begun.
    let is_begun = said.note.is_some() && said.note != known.note && said.status.is_under_way();
    if (!is_same || is_begun) && !goes_on {
        move_to(phase, said, known.status, at_ms);
    } else if said.completed != known.completed {
        phase.completed_ms = said.completed.map(|time| time.0);
    }
    update(&mut phase.name, said.name.clone());
    if said.dependencies != known.dependencies {
        update(&mut phase.dependencies, said.dependencies.clone());
    }
    // What lacks in a phase at its old place was taken away.
    if said.commit_sha != known.commit_sha && (is_same || said.commit_sha.is_some()) {
        phase.commit_sha.clone_from(&said.commit_sha);
    }
    if said.note != known.note && (is_same || said.note.is_some()) {
        phase.progress.clone_from(&said.note);
    }
    if said.approved != known.approved {
        phase.approved_ms = said.approved.map(|time| time.0);
        if said.approved.is_some() && phase.status == PhaseStatus::AwaitingApproval {
            phase.status = PhaseStatus::InProgress;
        }
    }
    if let Some(path) = said
        .output
        .as_ref()
        .filter(|path| !is_output_of(phase, path))
    {
        let output = PhaseOutput {
            path: path.clone(),
            required: true,
            sha256: None,
        };
        match phase.outputs.first_mut() {
            Some(first) => (first.path, first.sha256) = (output.path, None),
            None => phase.outputs.push(output),
        }
    }
}

/// Moves a phase to the status that the document gives. Checkpoints, outputs and notes stay, as
/// documents do not have them.
fn move_to(phase: &mut Phase, said: &PhaseProgress, known: PhaseStatus, at_ms: i64) {
    let is_awaiting = phase.status == PhaseStatus::AwaitingApproval && known != phase.status;
    if phase.status == said.status || (is_awaiting && said.status == PhaseStatus::InProgress) {
        return;
    }
    if said.status.is_under_way() && !phase.status.is_under_way() {
        phase.attempts += 1;
        phase.started_ms = Some(at_ms);
    }
    phase.completed_ms = said.completed.map(|time| time.0);
    if said.status.is_settled() {
        phase.attempts = phase
            .attempts
            .max(u32::from(said.status == PhaseStatus::Complete));
        phase.completed_ms.get_or_insert(at_ms);
        phase.last_error = None;
    } else if said.status == PhaseStatus::Pending {
        phase.started_ms = None;
    }
    phase.status = said.status;
}

fn move_run_to(run: &mut Workflow, status: RunStatus, at_ms: i64) {
    if run.status != status {
        run.status = status;
        run.finished_ms = (!status.is_open()).then_some(at_ms);
    }
}

/// Sorts the pending phases as in the document; other phases keep their positions.
fn sort_remaining(run: &mut Workflow, said: &Progress) {
    let pending = said
        .phases
        .iter()
        .filter(|phase| phase.status == PhaseStatus::Pending);
    let sorted: Vec<Phase> = pending
        .filter_map(|said| run.phase(&said.id).cloned())
        .collect();
    let ids: Vec<String> = sorted.iter().map(|phase| phase.id.clone()).collect();
    let slots = run
        .phases
        .iter_mut()
        .filter(|phase| ids.contains(&phase.id));
    for (slot, phase) in slots.zip(sorted) {
        *slot = phase;
    }
}

/// Whether a path is an output of a phase, by name or by pattern.
pub fn is_output_of(phase: &Phase, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    phase.outputs.iter().any(|output| {
        output.path == path
            || Glob::compile(output.path.as_bytes())
                .is_some_and(|glob| glob.matches(path.as_bytes()))
    })
}
