//! The commit after every third phase: when it is due, and its message.

use std::ops::RangeInclusive;

use crate::workflow::rules::workflow::{MiniCommit, Workflow};

/// Number of phases between two of these commits.
pub const EVERY: usize = 3;

/// Returns the phases that the checkpoint due now covers, numbered from 1 in order of completion;
/// missed ones are included.
pub fn mini_commit_due(workflow: &Workflow) -> Option<RangeInclusive<usize>> {
    due_after(workflow, 0, |_| true)
}

/// As [`mini_commit_due`], for the commit in the project's own repository, once `more` phases are
/// done.
pub fn project_commit_due(workflow: &Workflow, more: usize) -> Option<RangeInclusive<usize>> {
    due_after(workflow, more, |made| made.commit_sha.is_some())
}

fn due_after(
    workflow: &Workflow,
    more: usize,
    counts: fn(&&MiniCommit) -> bool,
) -> Option<RangeInclusive<usize>> {
    let last = (workflow.completed().count() + more) / EVERY * EVERY;
    let made = workflow.mini_commits.iter().filter(counts);
    let made = made
        .map(|made| made.completed_count)
        .max()
        .unwrap_or_default();
    (last > made).then(|| made + 1..=last)
}

/// Returns the commit message; phases are numbered in order of completion.
pub fn mini_commit_message(workflow: &Workflow, range: &RangeInclusive<usize>) -> String {
    let phases = match (range.start(), range.end()) {
        (first, last) if first == last => format!("phase {first}"),
        (first, last) => format!("phases {first}-{last}"),
    };
    let mut message = format!("checkpoint: {phases} complete\n\nCompleted:\n");
    let numbered = workflow.completed().zip(1..);
    for (phase, number) in numbered.filter(|(_, number)| range.contains(number)) {
        let name: Vec<&str> = phase.name.split_whitespace().collect();
        message += &format!("- Phase {number}: {}\n", name.join(" "));
    }
    let phases = workflow.phases.iter();
    let remaining = phases.filter(|phase| !phase.status.is_settled()).count();
    let author = "Co-Authored-By: Claude <noreply@anthropic.com>";
    message + &format!("\nRemaining: {remaining} phases\n\n{author}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::workflow::{Phase, PhaseStatus};

    fn with(completed: usize, all: usize) -> Workflow {
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
    fn it_is_due_after_every_third_phase_and_stays_due_until_it_is_made() {
        for (completed, due) in [
            (0, None),
            (2, None),
            (3, Some(1..=3)),
            (4, Some(1..=3)),
            (6, Some(1..=6)),
        ] {
            assert_eq!(mini_commit_due(&with(completed, 8)), due, "{completed}");
        }
        let mut workflow = with(5, 8);
        workflow.mini_commits.push(MiniCommit {
            completed_count: 3,
            checkpoint_id: None,
            commit_sha: None,
        });
        assert_eq!(mini_commit_due(&workflow), None);
        workflow.phases[5].status = PhaseStatus::Complete;
        assert_eq!(mini_commit_due(&workflow), Some(4..=6));
    }

    #[test]
    fn the_commit_in_the_project_stays_due_when_the_checkpoint_is_made() {
        let mut workflow = with(6, 8);
        workflow.mini_commits.push(MiniCommit {
            completed_count: 6,
            checkpoint_id: Some("c".into()),
            commit_sha: None,
        });
        assert_eq!(
            (mini_commit_due(&workflow), project_commit_due(&workflow, 0)),
            (None, Some(1..=6))
        );
        workflow.mini_commits.push(MiniCommit {
            completed_count: 3,
            checkpoint_id: None,
            commit_sha: Some("a".into()),
        });
        assert_eq!(project_commit_due(&workflow, 0), Some(4..=6));
    }

    #[test]
    fn its_message_names_the_phases_and_what_remains() {
        let message = mini_commit_message(&with(6, 8), &(4..=6));
        let expected = "checkpoint: phases 4-6 complete\n\nCompleted:\n- Phase 4: Name 4\n- Phase 5: Name 5\n\
            - Phase 6: Name 6\n\nRemaining: 2 phases\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n";
        assert_eq!(message, expected);
    }
}
