//! What a document says about the phases of a run, and how the run follows an edit: only what differs
//! from the document of the present run moves it, as it may know more than any document.

use std::collections::BTreeSet;

use crate::base::Glob;
use crate::workflow::profiles::format::{sort_as_in, time_of};
use crate::workflow::{Finding, Phase, PhaseOutput, PhaseStatus, RunStatus, Time, Workflow, plan};

#[derive(Default)]
pub struct RunFacts {
    pub created: Time,
    pub updated: Time,
    pub status: RunStatus,
    /// The current one precedes others that are under way.
    pub phases: Vec<PhaseProgress>,
    /// Ids of the completed phases, in the order of the document.
    pub listed: Vec<String>,
    /// Id of the current phase.
    pub named: Option<String>,
}

/// `None`: the document does not say.
#[derive(Default)]
pub struct PhaseProgress {
    pub id: String,
    /// Where the document has it.
    pub place: String,
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
    pub is_over: bool,
    /// Whether the present document describes the run already, between two phases.
    pub is_described: bool,
}

impl<'w> PhaseListing<'w> {
    /// `present` is what the present document says.
    pub fn of(run: &'w Workflow, present: Option<RunFacts>) -> Self {
        let facts = present.unwrap_or_default();
        let shown = |phase: &Phase| match phase.status {
            PhaseStatus::Skipped if facts.listed.contains(&phase.id) => PhaseStatus::Complete,
            status => status,
        };
        let is_done = |phase: &&Phase| shown(phase) == PhaseStatus::Complete;
        let mut done: Vec<&Phase> = run.phases.iter().filter(is_done).collect();
        done.sort_by_key(|phase| phase.completed_ms);
        sort_as_in(&mut done, &facts.listed, |phase, id| phase.id == *id);
        let may_be_next = |phase: &&Phase| match run.current() {
            Some(_) => phase.status.is_under_way(),
            None => !phase.status.is_settled(),
        };
        let named = facts.named.as_ref().and_then(|id| run.phase(id));
        let is_over = run.status == RunStatus::Complete || run.is_all_settled();
        let said = |phase: &Phase| facts.phase(&phase.id).map(|said| said.status);
        let is_said = |phase: &Phase| said(phase).unwrap_or_default() == shown(phase);
        Self {
            done,
            current: named.filter(may_be_next).or_else(|| run.next()),
            is_over,
            is_described: run.current().is_none()
                && is_over == (facts.status == RunStatus::Complete)
                && run.phases.iter().all(is_said),
        }
    }
}

impl RunFacts {
    fn phase(&self, id: &str) -> Option<&PhaseProgress> {
        self.phases.iter().find(|phase| phase.id == id)
    }
}

/// Returns the phases that have begun and are not in the document any more, and what is wrong with
/// the plan.
pub fn adopt(run: &mut Workflow, edited: &RunFacts, present: &RunFacts) -> Vec<Finding> {
    let mut findings = remove_missing(run, edited, present);
    // A change cannot precede the beginning of the run.
    let at_ms = edited.updated.0.max(edited.created.0);
    // A document names one of several phases under way; if it names another one, the first goes on.
    let mut phases = edited.phases.iter();
    let current = phases.find(|phase| phase.status.is_under_way());
    let current = current.and_then(|current| run.phase(&current.id));
    let is_beside = current.is_some_and(|phase| phase.status.is_under_way());
    for phase in &edited.phases {
        let none = PhaseProgress::default();
        let known = present.phase(&phase.id).unwrap_or(&none);
        let is_left = phase.status == PhaseStatus::Pending && known.status.is_under_way();
        if run.phase(&phase.id).is_none() {
            let mut new = Phase::new(&phase.id, &phase.id);
            new.is_unplanned = phase.name.is_none();
            run.phases.push(new);
        }
        if let Some(moved) = run.phase_mut(&phase.id) {
            phase.adopt(known, moved, at_ms, is_left && is_beside);
        }
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
    let listed = edited.phases.iter().map(|phase| run.phase(&phase.id));
    let is_left_out = |phase: &&Phase| edited.phase(&phase.id).is_none();
    let phases = listed
        .flatten()
        .chain(run.phases.iter().filter(is_left_out));
    let place = |at: usize| edited.phases.get(at).map(|phase| phase.place.clone());
    findings.extend(plan::check(phases, |at| place(at).unwrap_or_default()));
    findings
}

/// Drops the phases that the document does not list any more, and returns those that have begun.
fn remove_missing(run: &mut Workflow, edited: &RunFacts, present: &RunFacts) -> Vec<Finding> {
    let is_missing = |phase: &Phase| {
        edited.phase(&phase.id).is_none()
            && (phase.is_unplanned || present.phase(&phase.id).is_some())
    };
    let has_begun = |phase: &Phase| phase.status != PhaseStatus::Pending && !phase.is_unplanned;
    let missing = |phase: &mut Phase| is_missing(phase) && !has_begun(phase);
    let gone: Vec<Phase> = run.phases.extract_if(.., missing).collect();
    let vanished = run.phases.iter().filter(|phase| is_missing(phase));
    let vanished = vanished.filter_map(|phase| {
        let list = present.phase(&phase.id)?.place.split('[').next()?;
        let what = format!("'{}' has begun and is no longer listed", phase.id);
        Some(Finding::new("phase_vanished", list, what))
    });
    let vanished = vanished.collect();
    for phase in &mut run.phases {
        // An id that the document still names is not dropped in silence.
        let listed = edited.phase(&phase.id);
        let listed = listed.and_then(|edited| edited.dependencies.as_ref());
        let is_named = |id: &String| listed.is_some_and(|listed| listed.contains(id));
        let is_left = |id: &String| is_named(id) || gone.iter().all(|gone| gone.id != *id);
        phase.dependencies.retain(is_left);
    }
    vanished
}

impl PhaseProgress {
    /// Moves a phase by what differs from `known`. One that `goes_on` beside the current phase keeps
    /// its status.
    fn adopt(&self, known: &Self, phase: &mut Phase, at_ms: i64, goes_on: bool) {
        let is_same = self.status == known.status;
        // A new note on a phase that we listed as the next one says that it has begun.
        let is_noted = self.note.is_some() && self.note != known.note;
        if (!is_same || is_noted && self.status.is_under_way()) && !goes_on {
            self.adopt_status(known.status, phase, at_ms);
        } else {
            phase.completed_ms = time_of(self.completed, known.completed, phase.completed_ms);
        }
        if let Some(name) = &self.name {
            phase.name.clone_from(name);
        }
        if self.dependencies != known.dependencies {
            let kept = std::mem::take(&mut phase.dependencies);
            phase.dependencies = self.dependencies.clone().unwrap_or(kept);
        }
        // What lacks in a phase at its old place was taken away.
        if self.commit_sha != known.commit_sha && (is_same || self.commit_sha.is_some()) {
            phase.commit_sha.clone_from(&self.commit_sha);
        }
        if self.note != known.note && (is_same || self.note.is_some()) {
            phase.progress.clone_from(&self.note);
        }
        phase.approved_ms = time_of(self.approved, known.approved, phase.approved_ms);
        let is_approved = self.approved.is_some() && self.approved != known.approved;
        if is_approved && phase.status == PhaseStatus::AwaitingApproval {
            phase.status = PhaseStatus::InProgress;
        }
        let is_new = |path: &String| !is_output_of(phase, path);
        if let Some(path) = self.output.clone().filter(is_new) {
            let replaced = usize::from(!phase.outputs.is_empty());
            let mut output = PhaseOutput::default();
            (output.path, output.required) = (path, true);
            phase.outputs.splice(..replaced, [output]);
        }
    }

    /// Moves a phase to the status that the document gives. Checkpoints, outputs and notes stay, as
    /// documents do not have them.
    fn adopt_status(&self, known: PhaseStatus, phase: &mut Phase, at_ms: i64) {
        let is_awaiting = phase.status == PhaseStatus::AwaitingApproval && known != phase.status;
        if phase.status == self.status || (is_awaiting && self.status == PhaseStatus::InProgress) {
            return;
        }
        if self.status.is_under_way() && !phase.status.is_under_way() {
            phase.attempts += 1;
            phase.started_ms = Some(at_ms);
        }
        phase.completed_ms = self.completed.map(|time| time.0);
        if self.status.is_settled() {
            let is_complete = self.status == PhaseStatus::Complete;
            phase.attempts = phase.attempts.max(is_complete.into());
            phase.completed_ms.get_or_insert(at_ms);
            phase.last_error = None;
        } else if self.status == PhaseStatus::Pending {
            phase.started_ms = None;
        }
        phase.status = self.status;
    }
}

/// Sorts the pending phases as in the document; other phases keep their positions.
fn sort_pending(run: &mut Workflow, edited: &RunFacts) {
    let pending = edited.phases.iter();
    let pending = pending.filter(|phase| phase.status == PhaseStatus::Pending);
    let sorted = pending.filter_map(|phase| run.phase(&phase.id).cloned());
    let sorted: Vec<Phase> = sorted.collect();
    let ids: BTreeSet<String> = sorted.iter().map(|phase| phase.id.clone()).collect();
    let slots = run.phases.iter_mut();
    let slots = slots.filter(|phase| ids.contains(&phase.id));
    slots.zip(sorted).for_each(|(slot, phase)| *slot = phase);
}

/// Whether a path is an output of a phase, by name or by pattern.
pub fn is_output_of(phase: &Phase, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    let matches = |glob: Glob| glob.matches(path.as_bytes());
    phase.outputs.iter().any(|output| {
        output.path == path || Glob::compile(output.path.as_bytes()).is_some_and(matches)
    })
}
