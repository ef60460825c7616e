//! Moves a phase or run to the status that a document gives.

use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

/// Sets the status of a phase; checkpoints, outputs and notes stay, as documents do not have them.
pub fn move_to(phase: &mut Phase, status: PhaseStatus, at_ms: i64) {
    if phase.status == status {
        return;
    }
    if status.is_under_way() && !phase.status.is_under_way() {
        phase.attempts += 1;
        (phase.started_ms, phase.completed_ms) = (Some(at_ms), None);
    }
    if status.is_settled() {
        phase.attempts = phase
            .attempts
            .max(u32::from(status == PhaseStatus::Complete));
        phase.completed_ms = Some(at_ms);
        phase.last_error = None;
    } else if status == PhaseStatus::Pending {
        (phase.started_ms, phase.completed_ms) = (None, None);
    }
    phase.status = status;
}

/// Sets the status of the run.
pub fn move_run_to(workflow: &mut Workflow, status: RunStatus, at_ms: i64) {
    if workflow.status != status {
        workflow.status = status;
        workflow.finished_ms = (!status.is_open()).then_some(at_ms);
    }
}

/// Takes a time from a document, unless it is the known one cut to whole seconds.
pub fn take_time(slot: &mut i64, said_ms: i64) {
    if !super::overlay::is_same_time(said_ms, *slot) {
        *slot = said_ms;
    }
}

/// As [`take_time`], for a time that may be unknown.
pub fn take_time_if(slot: &mut Option<i64>, said_ms: Option<i64>) {
    if let Some(said_ms) = said_ms
        && !slot.is_some_and(|time_ms| super::overlay::is_same_time(said_ms, time_ms))
    {
        *slot = Some(said_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_moves_keeps_what_nobody_spoke_of() {
        let mut phase = Phase::new("a", "A");
        phase.before = Some("b".to_owned());
        move_to(&mut phase, PhaseStatus::InProgress, 5);
        assert_eq!((phase.attempts, phase.started_ms), (1, Some(5)));
        move_to(&mut phase, PhaseStatus::Complete, 7);
        assert_eq!(
            (phase.attempts, phase.completed_ms, phase.started_ms),
            (1, Some(7), Some(5))
        );
        move_to(&mut phase, PhaseStatus::Pending, 8);
        assert_eq!(
            (phase.completed_ms, phase.before.as_deref(), phase.attempts),
            (None, Some("b"), 1)
        );
    }

    #[test]
    fn a_time_in_seconds_does_not_blur_the_one_that_is_known() {
        let mut known = 1_234;
        take_time(&mut known, 1_000);
        assert_eq!(known, 1_234);
        take_time(&mut known, 2_000);
        assert_eq!(known, 2_000);
        let mut none = None;
        take_time_if(&mut none, None);
        take_time_if(&mut none, Some(3));
        assert_eq!(none, Some(3));
    }
}
