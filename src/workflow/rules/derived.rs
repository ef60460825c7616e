//! Facts derived from the phases of a run, never stored: what is done, what is next, what may run
//! in parallel.

use crate::workflow::rules::workflow::{Phase, PhaseStatus, RunStatus, Task, Workflow};

impl Workflow {
    /// Returns the status word of the run: the stored one, else derived from its phases.
    pub fn word(&self) -> &'static str {
        match self.status {
            RunStatus::Complete => "complete",
            RunStatus::Failed => "failed",
            RunStatus::Abandoned => "abandoned",
            RunStatus::Open if self.interrupted.is_some() => "interrupted",
            RunStatus::Open => match self.current() {
                Some(phase) if phase.status == PhaseStatus::AwaitingApproval => "awaiting_approval",
                None if self.completed().next().is_none() => "pending",
                _ => "in_progress",
            },
        }
    }

    /// Returns the phase under way; of several, the first in the plan.
    pub fn current(&self) -> Option<&Phase> {
        self.running().next()
    }

    /// Returns all phases under way, in the order of the plan.
    pub fn running(&self) -> impl Iterator<Item = &Phase> {
        let phases = self.phases.iter();
        phases.filter(|phase| phase.status.is_under_way())
    }

    /// Returns completed phases, in the order of completion.
    pub fn completed(&self) -> impl Iterator<Item = &Phase> {
        let mut done: Vec<&Phase> = self.of(PhaseStatus::Complete).collect();
        done.sort_by_key(|phase| phase.completed_ms);
        done.into_iter()
    }

    pub fn skipped(&self) -> impl Iterator<Item = &Phase> {
        self.of(PhaseStatus::Skipped)
    }

    /// Returns pending phases, in the order of the plan.
    pub fn remaining(&self) -> impl Iterator<Item = &Phase> {
        self.of(PhaseStatus::Pending)
    }

    fn of(&self, status: PhaseStatus) -> impl Iterator<Item = &Phase> {
        let phases = self.phases.iter();
        phases.filter(move |phase| phase.status == status)
    }

    pub fn is_all_settled(&self) -> bool {
        !self.phases.is_empty() && self.phases.iter().all(|phase| phase.status.is_settled())
    }

    /// Marks an open run as complete if all its phases are settled.
    pub fn end_if_settled(&mut self, now_ms: i64) {
        if self.status.is_open() && self.is_all_settled() {
            self.end(RunStatus::Complete, now_ms);
        }
    }

    /// Returns the dependencies of a phase that are not settled.
    pub fn unmet(&self, phase: &Phase) -> Vec<String> {
        let is_settled = |phase: &Phase| phase.status.is_settled();
        let is_met = |id: &&String| self.phase(id).is_some_and(is_settled);
        let unmet = phase.dependencies.iter().filter(|id| !is_met(id));
        unmet.cloned().collect()
    }

    /// Returns the tasks of a phase. A task without a known phase belongs to the task phase, or to
    /// every phase if there is none.
    pub fn tasks_of<'w>(&'w self, phase: &'w Phase) -> impl Iterator<Item = &'w Task> {
        let takes_others = phase.is_of_tasks() || !self.phases.iter().any(Phase::is_of_tasks);
        self.tasks
            .iter()
            .filter(move |task| match task.phase.as_deref() {
                Some(id) if self.phase(id).is_some() => id == phase.id,
                _ => takes_others,
            })
    }

    /// Returns the phase to work on: the one under way, else the first with settled dependencies.
    pub fn next(&self) -> Option<&Phase> {
        self.current()
            .or_else(|| self.remaining().find(|phase| self.unmet(phase).is_empty()))
    }

    /// Returns phases that may begin in parallel with those under way: dependencies settled, no
    /// shared files, and at most one that commits.
    pub fn ready(&self) -> Vec<&Phase> {
        let mut beside: Vec<&Phase> = self.running().collect();
        let mut ready = Vec::new();
        for phase in self
            .remaining()
            .filter(|phase| self.unmet(phase).is_empty())
        {
            if beside.iter().all(|other| may_run_in_parallel(phase, other)) {
                beside.push(phase);
                ready.push(phase);
            }
        }
        ready
    }

    /// Returns the percentage of settled phases.
    pub fn percent(&self) -> usize {
        let is_settled = |phase: &&Phase| phase.status.is_settled();
        let settled = self.phases.iter().filter(is_settled).count();
        let percent = (settled * 100).checked_div(self.phases.len());
        percent.unwrap_or_default()
    }
}

/// Whether two phases neither share files nor both commit.
pub fn may_run_in_parallel(one: &Phase, other: &Phase) -> bool {
    !(one.commits && other.commits || share_writes(&one.writes, &other.writes))
}

/// Whether one file may match patterns of both: the fixed directory of one lies at or below that of
/// the other. A phase without patterns shares with no other: what it writes is unknown, and the
/// plan named nothing.
pub fn share_writes(one: &[String], other: &[String]) -> bool {
    let others: Vec<Vec<&str>> = other.iter().map(|other| fixed_part(other)).collect();
    one.iter().map(|one| fixed_part(one)).any(|one| {
        let mut others = others.iter();
        others.any(|other| one.starts_with(other) || other.starts_with(&one))
    })
}

/// Returns the components before the first wildcard.
fn fixed_part(pattern: &str) -> Vec<&str> {
    let has_marks = |name: &str| name.contains(['*', '?', '[', '{', '\\']);
    let names = pattern.split('/');
    let names = names.filter(|name| !name.is_empty() && *name != ".");
    let fixed: Vec<&str> = names.take_while(|name| !has_marks(name)).collect();
    // A `..` may lead anywhere.
    let fixed = Some(fixed).filter(|fixed| !fixed.contains(&".."));
    fixed.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(phases: &[(&str, &[&str], &[&str], bool)]) -> Workflow {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        for (id, dependencies, writes, commits) in phases {
            let mut phase = Phase::new(id, id);
            phase.dependencies = dependencies.iter().map(ToString::to_string).collect();
            phase.writes = writes.iter().map(ToString::to_string).collect();
            phase.commits = *commits;
            workflow.phases.push(phase);
        }
        workflow
    }

    fn ready(workflow: &Workflow) -> Vec<&str> {
        workflow
            .ready()
            .iter()
            .map(|phase| phase.id.as_str())
            .collect()
    }

    #[test]
    fn side_by_side_goes_what_shares_no_file_and_no_commit() {
        let mut workflow = with(&[
            ("a", &[], &["src/a/**"], false),
            ("b", &[], &["src/b/*.rs"], true),
            ("c", &[], &["src/a/x"], false),
            ("d", &["a"], &["docs"], false),
            ("e", &[], &["e"], true),
        ]);
        assert_eq!(ready(&workflow), ["a", "b"]);
        workflow.phases[0].status = PhaseStatus::Complete;
        assert_eq!(ready(&workflow), ["b", "c", "d"]);
        workflow.phases[1].status = PhaseStatus::InProgress;
        assert_eq!(ready(&workflow), ["c", "d"]);
        assert_eq!(
            (workflow.next().map(|phase| &*phase.id), workflow.percent()),
            (Some("b"), 20)
        );
    }

    #[test]
    fn a_skipped_phase_is_settled() {
        let mut workflow = with(&[("a", &[], &["a"], false), ("b", &["a"], &["b"], false)]);
        assert_eq!(workflow.word(), "pending");
        workflow.phases[0].status = PhaseStatus::Skipped;
        assert_eq!(ready(&workflow), ["b"]);
        workflow.phases[1].status = PhaseStatus::Complete;
        assert!(workflow.is_all_settled());
    }
}
