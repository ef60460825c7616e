//! What a document says about the phases of a run, and how the run follows an edit: only what differs
//! from the document of the present run moves it, as it may know more than any document.

use std::collections::BTreeSet;

use crate::base::wildmatch::Glob;
use crate::workflow::plan;
use crate::workflow::profiles::format::{Time, check_ids, sort_as_in};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

#[derive(Default)]
pub struct RunProgress {
    pub created: Time,
    pub updated: Time,
    pub status: RunStatus,
    /// The current one precedes others that are under way.
    pub phases: Vec<PhaseProgress>,
}

/// `None`: the document does not say.
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

/// The phases of a run, for formats that list completed ones and name one current one.
pub struct PhaseListing<'w> {
    /// In the order of the document, then of completion.
    pub done: Vec<&'w Phase>,
    /// The phase under way, else one that can begin.
    pub current: Option<&'w Phase>,
}

impl<'w> PhaseListing<'w> {
    /// `listed` and `named` are the completed phases and the current one in the present document.
    pub fn of(run: &'w Workflow, listed: &[&str], named: Option<&str>) -> Self {
        let done = run.phases.iter().filter(|phase| phase.is_done_in(listed));
        let mut done: Vec<&Phase> = done.collect();
        done.sort_by_key(|phase| phase.completed_ms);
        sort_as_in(&mut done, listed, |phase, id| phase.id == *id);
        let may_be_next = |phase: &&Phase| match run.current() {
            Some(_) => phase.status.is_under_way(),
            None => !phase.status.is_settled() && run.unmet(phase).is_empty(),
        };
        let named = named.and_then(|id| run.phase(id));
        let current = named.filter(may_be_next).or_else(|| run.next());
        Self { done, current }
    }

    /// Whether a document with this progress describes the run already, between two phases.
    pub fn is_described(&self, run: &Workflow, progress: &RunProgress) -> bool {
        let shown = |phase: &Phase| match phase.status {
            _ if self.done.iter().any(|done| done.id == phase.id) => PhaseStatus::Complete,
            status => status,
        };
        let edited = |phase: &Phase| progress.phase(&phase.id).map(|edited| edited.status);
        let is_over = run.status == RunStatus::Complete || run.is_all_settled();
        let mut phases = run.phases.iter();
        run.current().is_none()
            && is_over == (progress.status == RunStatus::Complete)
            && phases.all(|phase| edited(phase).unwrap_or_default() == shown(phase))
    }
}

impl RunProgress {
    fn phase(&self, id: &str) -> Option<&PhaseProgress> {
        self.phases.iter().find(|phase| phase.id == id)
    }
}

/// # Errors
/// A phase that has begun is not in the document any more, or the plan is wrong.
pub fn adopt(
    run: &mut Workflow,
    edited: &RunProgress,
    present: &RunProgress,
) -> Result<(), Finding> {
    check_ids("phases", edited.phases.iter().map(|phase| &phase.id))?;
    remove_missing(run, edited, present)?;
    // A change cannot precede the beginning of the run.
    let at_ms = edited.updated.0.max(edited.created.0);
    // A document names one of several phases under way; if it names another one, the first goes on.
    let current = edited
        .phases
        .iter()
        .find(|phase| phase.status.is_under_way());
    let current = current.and_then(|current| run.phase(&current.id));
    let is_beside = current.is_some_and(|phase| phase.status.is_under_way());
    for phase in &edited.phases {
        let none = PhaseProgress::default();
        let known = present.phase(&phase.id).unwrap_or(&none);
        let is_left = phase.status == PhaseStatus::Pending && known.status.is_under_way();
        adopt_phase(run, phase, known, at_ms, is_left && is_beside);
    }
    sort_pending(run, edited);
    if edited.status != present.status && edited.status != run.status {
        run.status = edited.status;
        run.finished_ms = (!run.status.is_open()).then_some(at_ms);
    }
    if edited.created != present.created {
        run.created_ms = edited.created.0;
    }
    if edited.updated != present.updated {
        run.updated_ms = edited.updated.0;
    }
    let mut findings = plan::check(&run.phases).into_iter();
    findings.next().map_or(Ok(()), Err)
}

/// Drops the phases that the document does not list any more.
fn remove_missing(
    run: &mut Workflow,
    edited: &RunProgress,
    present: &RunProgress,
) -> Result<(), Finding> {
    let is_missing = |phase: &Phase| {
        edited.phase(&phase.id).is_none()
            && (phase.is_unplanned || present.phase(&phase.id).is_some())
    };
    let gone = run.phases.extract_if(.., |phase| is_missing(phase));
    let gone: Vec<Phase> = gone.collect();
    let has_begun = |phase: &&Phase| phase.status != PhaseStatus::Pending && !phase.is_unplanned;
    if let Some(begun) = gone.iter().find(has_begun) {
        let what = format!("'{}' has begun and is no longer listed", begun.id);
        return Err(Finding::new("phase_vanished", "phases", what));
    }
    let gone: BTreeSet<String> = gone.into_iter().map(|phase| phase.id).collect();
    for phase in &mut run.phases {
        phase.dependencies.retain(|id| !gone.contains(id));
    }
    Ok(())
}

fn adopt_phase(
    run: &mut Workflow,
    edited: &PhaseProgress,
    known: &PhaseProgress,
    at_ms: i64,
    goes_on: bool,
) {
    if run.phase(&edited.id).is_none() {
        let mut phase = Phase::new(&edited.id, &edited.id);
        phase.is_unplanned = edited.name.is_none();
        run.phases.push(phase);
    }
    let Some(phase) = run.phase_mut(&edited.id) else {
        return;
    };
    let is_same = edited.status == known.status;
    // A new note on a phase that we listed as the next one says that it has begun.
    let is_begun =
        edited.note.is_some() && edited.note != known.note && edited.status.is_under_way();
    if (!is_same || is_begun) && !goes_on {
        move_to(phase, edited, known.status, at_ms);
    } else if edited.completed != known.completed {
        phase.completed_ms = edited.completed.map(|time| time.0);
    }
    if let Some(name) = &edited.name {
        phase.name.clone_from(name);
    }
    let dependencies = edited.dependencies.as_ref();
    if let Some(ids) = dependencies.filter(|ids| Some(*ids) != known.dependencies.as_ref()) {
        phase.dependencies.clone_from(ids);
    }
    // What lacks in a phase at its old place was taken away.
    if edited.commit_sha != known.commit_sha && (is_same || edited.commit_sha.is_some()) {
        phase.commit_sha.clone_from(&edited.commit_sha);
    }
    if edited.note != known.note && (is_same || edited.note.is_some()) {
        phase.progress.clone_from(&edited.note);
    }
    if edited.approved != known.approved {
        phase.approved_ms = edited.approved.map(|time| time.0);
        if edited.approved.is_some() && phase.status == PhaseStatus::AwaitingApproval {
            phase.status = PhaseStatus::InProgress;
        }
    }
    let is_new = |path: &String| !is_output_of(phase, path);
    if let Some(path) = edited.output.clone().filter(is_new) {
        let replaced = usize::from(!phase.outputs.is_empty());
        let output = PhaseOutput {
            path,
            required: true,
            sha256: None,
        };
        phase.outputs.splice(..replaced, [output]);
    }
}

/// Moves a phase to the status that the document gives. Checkpoints, outputs and notes stay, as
/// documents do not have them.
fn move_to(phase: &mut Phase, edited: &PhaseProgress, known: PhaseStatus, at_ms: i64) {
    let is_awaiting = phase.status == PhaseStatus::AwaitingApproval && known != phase.status;
    if phase.status == edited.status || (is_awaiting && edited.status == PhaseStatus::InProgress) {
        return;
    }
    if edited.status.is_under_way() && !phase.status.is_under_way() {
        phase.attempts += 1;
        phase.started_ms = Some(at_ms);
    }
    phase.completed_ms = edited.completed.map(|time| time.0);
    if edited.status.is_settled() {
        let is_complete = edited.status == PhaseStatus::Complete;
        phase.attempts = phase.attempts.max(is_complete.into());
        phase.completed_ms.get_or_insert(at_ms);
        phase.last_error = None;
    } else if edited.status == PhaseStatus::Pending {
        phase.started_ms = None;
    }
    phase.status = edited.status;
}

/// Sorts the pending phases as in the document; other phases keep their positions.
fn sort_pending(run: &mut Workflow, edited: &RunProgress) {
    let mut sorted = Vec::new();
    for pending in &edited.phases {
        if pending.status == PhaseStatus::Pending {
            sorted.extend(run.phase(&pending.id).cloned());
        }
    }
    let ids: BTreeSet<String> = sorted.iter().map(|phase| phase.id.clone()).collect();
    let is_pending = |phase: &&mut Phase| ids.contains(&phase.id);
    for (slot, phase) in run.phases.iter_mut().filter(is_pending).zip(sorted) {
        *slot = phase;
    }
}

/// Whether a path is an output of a phase, by name or by pattern.
pub fn is_output_of(phase: &Phase, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let matches = |glob: Glob| glob.matches(path.as_bytes());
    phase.outputs.iter().any(|output| {
        output.path == path || Glob::compile(output.path.as_bytes()).is_some_and(matches)
    })
}
