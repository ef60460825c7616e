//! Facts derived from the phases of a run, never stored: what is done, what is next, what may run
//! in parallel, and when the commit after every third phase is due.

use std::ops::RangeInclusive;

use crate::workflow::rules::workflow::{MiniCommit, Phase, PhaseStatus, RunStatus, Task, Workflow};

/// Number of phases between two of these commits.
pub const EVERY: usize = 3;

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
        let tasks = self.tasks.iter();
        tasks.filter(move |task| match task.phase.as_deref() {
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
        for phase in self.remaining() {
            let may_run_beside = |other: &&Phase| may_run_in_parallel(phase, other);
            if self.unmet(phase).is_empty() && beside.iter().all(may_run_beside) {
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

    /// Returns the phases that the checkpoint due now covers, numbered from 1 in order of completion;
    /// missed ones are included.
    pub fn mini_commit_due(&self) -> Option<RangeInclusive<usize>> {
        self.due(0, |_| true)
    }

    /// As [`Self::mini_commit_due`], for the commit in the project's own repository, once `more`
    /// phases are done.
    pub fn project_commit_due(&self, more: usize) -> Option<RangeInclusive<usize>> {
        self.due(more, |made| made.commit_sha.is_some())
    }

    fn due(&self, more: usize, counts: fn(&&MiniCommit) -> bool) -> Option<RangeInclusive<usize>> {
        let last = (self.completed().count() + more) / EVERY * EVERY;
        let made = self.mini_commits.iter().filter(counts);
        let made = made.map(|made| made.completed_count).max();
        let first = made.unwrap_or_default() + 1;
        (last >= first).then_some(first..=last)
    }

    /// Returns the commit message; phases are numbered in order of completion.
    pub fn mini_commit_message(&self, range: &RangeInclusive<usize>) -> String {
        let phases = match (range.start(), range.end()) {
            (first, last) if first == last => format!("phase {first}"),
            (first, last) => format!("phases {first}-{last}"),
        };
        let mut message = format!("checkpoint: {phases} complete\n\nCompleted:\n");
        let numbered = self.completed().zip(1..);
        for (phase, number) in numbered.filter(|(_, number)| range.contains(number)) {
            let name: Vec<&str> = phase.name.split_whitespace().collect();
            message += &format!("- Phase {number}: {}\n", name.join(" "));
        }
        let phases = self.phases.iter();
        let remaining = phases.filter(|phase| !phase.status.is_settled()).count();
        let author = "Co-Authored-By: Claude <noreply@anthropic.com>";
        message + &format!("\nRemaining: {remaining} phases\n\n{author}\n")
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

    fn with_done(completed: usize, all: usize) -> Workflow {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        for number in 1..=all {
            let mut phase = Phase::new(&number.to_string(), &format!("Name\n{number}"));
            if number <= completed {
                (phase.status, phase.completed_ms) =
                    (PhaseStatus::Complete, i64::try_from(number).ok());
            }
            workflow.phases.push(phase);
        }
        workflow
    }

    #[test]
    fn a_mini_commit_is_due_after_every_third_phase_and_stays_due_until_it_is_made() {
        for (completed, due) in [
            (0, None),
            (2, None),
            (3, Some(1..=3)),
            (4, Some(1..=3)),
            (6, Some(1..=6)),
        ] {
            assert_eq!(
                with_done(completed, 8).mini_commit_due(),
                due,
                "{completed}"
            );
        }
        let mut workflow = with_done(5, 8);
        workflow.mini_commits.push(MiniCommit {
            completed_count: 3,
            checkpoint_id: None,
            commit_sha: None,
        });
        assert_eq!(workflow.mini_commit_due(), None);
        workflow.phases[5].status = PhaseStatus::Complete;
        assert_eq!(workflow.mini_commit_due(), Some(4..=6));
    }

    #[test]
    fn the_commit_in_the_project_stays_due_when_the_checkpoint_is_made() {
        let mut workflow = with_done(6, 8);
        workflow.mini_commits.push(MiniCommit {
            completed_count: 6,
            checkpoint_id: Some("c".into()),
            commit_sha: None,
        });
        assert_eq!(
            (workflow.mini_commit_due(), workflow.project_commit_due(0)),
            (None, Some(1..=6))
        );
        workflow.mini_commits.push(MiniCommit {
            completed_count: 3,
            checkpoint_id: None,
            commit_sha: Some("a".into()),
        });
        assert_eq!(workflow.project_commit_due(0), Some(4..=6));
    }

    #[test]
    fn the_message_of_a_mini_commit_names_the_phases_and_what_remains() {
        let message = with_done(6, 8).mini_commit_message(&(4..=6));
        let expected = "checkpoint: phases 4-6 complete\n\nCompleted:\n- Phase 4: Name 4\n- Phase 5: Name 5\n\
            - Phase 6: Name 6\n\nRemaining: 2 phases\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n";
        assert_eq!(message, expected);
    }
}
