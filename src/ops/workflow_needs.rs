//! Checkpoints that open workflows name: no policy drops them while somebody may want to go back to them.

use crate::model::state::object_id::ObjectId;
use crate::model::workflow::Workflow;
use crate::model::workflow::phase::Phase;
use crate::ops::session::Pending;
use crate::store::repository::Store;

/// So many checkpoints of phases that are done count, the latest first.
const LATEST: usize = 20;

/// What an interrupted restore and the open workflows of a store need.
pub fn needed_by_all(store: &Store, pending: Option<&Pending>) -> Vec<ObjectId> {
    let of_restore = pending.map(|pending| [pending.target(), pending.safety()]).into_iter().flatten();
    of_restore.chain(needed(store)).collect()
}

/// What the open workflows of a store need. One that cannot be read needs nothing.
pub fn needed(store: &Store) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    for (_, tip) in store.workflows().unwrap_or_default() {
        let read = store.workflow_revision(tip).ok().and_then(|revision| Workflow::from_json(&revision.state).ok());
        if let Some(workflow) = read.filter(|workflow| workflow.status.is_open()) {
            ids.extend(of_workflow(&workflow));
        }
    }
    ids
}

fn of_workflow(workflow: &Workflow) -> Vec<ObjectId> {
    let (under_way, others): (Vec<&Phase>, Vec<&Phase>) =
        workflow.phases.iter().partition(|phase| phase.status.is_under_way());
    let mut done: Vec<&Phase> = others.into_iter().filter(|phase| phase.completed_ms.is_some()).collect();
    done.sort_by_key(|phase| std::cmp::Reverse(phase.completed_ms));
    let begun = under_way.iter().filter_map(|phase| phase.before.as_ref());
    let latest = done.iter().flat_map(|phase| [&phase.after, &phase.before]).flatten().take(LATEST);
    begun.chain(latest).filter_map(|id| ObjectId::from_hex(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::workflow::status::PhaseStatus;

    #[test]
    fn what_is_under_way_counts_and_of_what_is_done_the_latest() {
        let id = |byte: u8| ObjectId::from_bytes([byte; 20]);
        let mut workflow = Workflow::new("w".into(), "a".into(), "b".into(), 0);
        for number in 0..15_u8 {
            let mut phase = Phase::new(&number.to_string(), "x");
            (phase.status, phase.completed_ms) = (PhaseStatus::Complete, Some(i64::from(number)));
            (phase.before, phase.after) = (Some(id(number).to_hex()), Some(id(100 + number).to_hex()));
            workflow.phases.push(phase);
        }
        (workflow.phases[0].status, workflow.phases[0].completed_ms) = (PhaseStatus::Failed, None);
        let found = of_workflow(&workflow);
        assert_eq!(found.len(), 1 + LATEST);
        assert!(found.starts_with(&[id(0), id(114), id(14), id(113)]), "{found:?}");
        assert!(!found.contains(&id(4)) && found.contains(&id(5)));
    }
}
