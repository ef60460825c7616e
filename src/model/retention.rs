//! Which checkpoints a policy drops, and why: a pure plan over the list.

use std::collections::HashSet;

use crate::model::checkpoint::Checkpoint;
use crate::model::object_id::ObjectId;

/// Restores whose safety checkpoint and target are never dropped; undo and redo count with theirs.
pub const PROTECTED_RESTORES: usize = 5;

/// Why one checkpoint goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionReason {
    /// A safety checkpoint older than those of the last restores.
    OldSafety,
    /// The oldest of more than are to be kept.
    Oldest,
    /// The oldest of a store that takes more room than it may.
    StoreSize,
}

impl EvictionReason {
    pub fn word(self) -> &'static str {
        match self {
            Self::OldSafety => "old-safety",
            Self::Oldest => "oldest",
            Self::StoreSize => "store-size",
        }
    }
}

/// What goes, in the order in which it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionPlan {
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// More stay than were asked for, because they are protected.
    pub over_keep: bool,
}

/// Plans down to `keep` checkpoints (at least one). `checkpoints` are in order of their sequence;
/// `pending` are the target and the safety checkpoint of an interrupted restore.
pub fn plan(checkpoints: &[Checkpoint], keep: usize, pending: &[ObjectId]) -> EvictionPlan {
    let protected = protected(checkpoints, pending);
    let surplus = checkpoints.len().saturating_sub(keep.max(1));
    let free = || checkpoints.iter().filter(|c| !protected.contains(&c.id));
    let safeties = free().filter(|c| c.is_safety()).map(|c| (c.id, EvictionReason::OldSafety));
    let others = free().filter(|c| !c.is_safety()).map(|c| (c.id, EvictionReason::Oldest));
    let evict: Vec<_> = safeties.chain(others).take(surplus).collect();
    EvictionPlan { over_keep: evict.len() < surplus, evict }
}

/// How a store comes down to the room that it may take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizePlan {
    /// In the order in which it goes, oldest first.
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// What the rest takes, in bytes.
    pub needed_bytes: u64,
}

/// Plans down to `limit_bytes`, of which `fixed_bytes` are taken whatever goes. `cost` tells what a checkpoint needs
/// beyond those that were asked for before it: the protected ones come first, then the others from the newest on.
/// Where the protected ones alone need more, all others go and `needed_bytes` is over the limit.
///
/// # Errors
/// What `cost` fails with.
pub fn plan_size<E>(
    checkpoints: &[Checkpoint],
    pending: &[ObjectId],
    limit_bytes: u64,
    fixed_bytes: u64,
    cost: &mut dyn FnMut(&Checkpoint) -> Result<u64, E>,
) -> Result<SizePlan, E> {
    let protected = protected(checkpoints, pending);
    let mut needed_bytes = fixed_bytes;
    for checkpoint in checkpoints.iter().filter(|c| protected.contains(&c.id)) {
        needed_bytes += cost(checkpoint)?;
    }
    let free: Vec<&Checkpoint> = checkpoints.iter().filter(|c| !protected.contains(&c.id)).collect();
    let mut first_kept = free.len();
    for (at, checkpoint) in free.iter().enumerate().rev() {
        let with_it = needed_bytes + cost(checkpoint)?;
        if with_it > limit_bytes {
            break;
        }
        (first_kept, needed_bytes) = (at, with_it);
    }
    let evict = free[..first_kept].iter().map(|c| (c.id, EvictionReason::StoreSize)).collect();
    Ok(SizePlan { evict, needed_bytes })
}

/// What no policy drops: the newest, the newest complete one, pins, what a pending restore needs,
/// and the safety checkpoints and targets of the last restores.
fn protected(checkpoints: &[Checkpoint], pending: &[ObjectId]) -> HashSet<ObjectId> {
    let mut protected: HashSet<ObjectId> = pending.iter().copied().collect();
    protected.extend(checkpoints.last().map(|c| c.id));
    protected.extend(checkpoints.iter().rev().find(|c| c.is_complete()).map(|c| c.id));
    protected.extend(checkpoints.iter().filter(|c| c.pinned).map(|c| c.id));
    let restores = checkpoints.iter().rev().filter_map(|c| Some((c.id, c.record.operation.as_ref()?.target)));
    for (safety, target) in restores.take(PROTECTED_RESTORES) {
        protected.extend([safety, target]);
    }
    protected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::{CheckpointKind, Coverage, Operation, Record, Verb};

    fn id(n: u8) -> ObjectId {
        ObjectId::from_bytes([n; 20])
    }

    fn regular(n: u8) -> Checkpoint {
        let record = Record {
            sequence: n.into(),
            time_ms: 0,
            kind: CheckpointKind::Regular,
            coverage: Coverage::Complete,
            files: 0,
            content_bytes: 0,
            reason: String::new(),
            source: String::new(),
            operation: None,
            during_pending: false,
        };
        Checkpoint { id: id(n), tree: id(0), meta: None, record, pinned: false, adopted: false }
    }

    fn safety(n: u8, target: u8) -> Checkpoint {
        let mut made = regular(n);
        made.record.kind = CheckpointKind::Safety;
        made.record.operation = Some(Operation { verb: Verb::Restore, target: id(target), paths: vec![] });
        made
    }

    fn evicted(checkpoints: &[Checkpoint], keep: usize) -> Vec<u8> {
        plan(checkpoints, keep, &[]).evict.iter().map(|(id, _)| id.as_bytes()[0]).collect()
    }

    #[test]
    fn the_oldest_go_until_the_number_fits() {
        let all: Vec<_> = (1..=5).map(regular).collect();
        assert_eq!(evicted(&all, 3), [1, 2]);
        assert!(evicted(&all, 5).is_empty());
        assert!(!plan(&all, 3, &[]).over_keep && !plan(&all, 5, &[]).over_keep);
        assert_eq!(evicted(&all, 0), [1, 2, 3, 4], "at least one stays");
    }

    #[test]
    fn a_target_of_a_late_restore_and_its_safety_checkpoint_stay() {
        let all = [regular(1), regular(2), regular(3), safety(4, 1), regular(5)];
        assert_eq!(evicted(&all, 3), [2, 3]);
        let plan = plan(&all, 1, &[]);
        assert!(plan.over_keep);
    }

    #[test]
    fn safety_checkpoints_beyond_the_last_five_restores_go_first() {
        let mut all = vec![regular(1), regular(2)];
        all.extend((3..=9).map(|n| safety(n, 1)));
        all.push(regular(10));
        assert_eq!(evicted(&all, 8), [3, 4]);
        assert_eq!(evicted(&all, 7), [3, 4, 2]);
    }

    #[test]
    fn pins_the_newest_complete_and_the_pending_two_stay() {
        let mut all: Vec<_> = (1..=6).map(regular).collect();
        all[0].pinned = true;
        all[4].record.coverage = Coverage::Partial;
        all[5].record.coverage = Coverage::Partial;
        let went: Vec<u8> = plan(&all, 1, &[id(2)]).evict.iter().map(|(id, _)| id.as_bytes()[0]).collect();
        assert_eq!(went, [3, 5]);
    }

    fn fitted(all: &[Checkpoint], limit: u64) -> (Vec<u8>, u64) {
        let mut cost = |c: &Checkpoint| Ok::<_, ()>(10 * u64::from(c.id.as_bytes()[0]));
        let plan = plan_size(all, &[], limit, 5, &mut cost).unwrap();
        (plan.evict.iter().map(|(id, _)| id.as_bytes()[0]).collect(), plan.needed_bytes)
    }

    #[test]
    fn the_oldest_unprotected_go_until_the_store_fits() {
        let mut all: Vec<_> = (1..=5).map(regular).collect();
        assert_eq!(fitted(&all, 1000), (vec![], 155));
        assert_eq!(fitted(&all, 155), (vec![], 155));
        assert_eq!(fitted(&all, 154), (vec![1], 145));
        assert_eq!(fitted(&all, 124), (vec![1, 2, 3], 95));
        assert_eq!(fitted(&all, 0), (vec![1, 2, 3, 4], 55), "the newest stays although it is too much");
        all[0].pinned = true;
        assert_eq!(fitted(&all, 124), (vec![2, 3], 105));
    }
}
