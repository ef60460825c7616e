//! Plans which checkpoints a policy evicts, and why; pure.

use std::collections::HashSet;

use crate::model::checkpoint::line::Line;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::undo_stack::Steps;
use crate::model::state::object_id::ObjectId;

/// Number of newest restores, undos and redos whose safety checkpoint and target stay.
pub const PROTECTED_RESTORES: usize = 5;
/// Number of safety checkpoints kept; those of the last steps to undo or redo come first.
pub const KEPT_STEPS: usize = 20;

/// Why a checkpoint is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub enum EvictionReason {
    /// A safety checkpoint beyond the last [`KEPT_STEPS`].
    OldSafety,
    /// The oldest, beyond the number to keep.
    Oldest,
    /// The oldest, in a store over its size limit.
    StoreSize,
    /// Its expiry time has passed.
    Expired,
}

/// Checkpoints to evict, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionPlan {
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// Whether more stay than requested, because they are protected.
    pub over_keep: bool,
}

impl EvictionPlan {
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.evict.iter().map(|(id, _)| *id)
    }
}

/// Plans to keep `keep` checkpoints (at least one), as many scoped ones, and [`KEPT_STEPS`] safety
/// checkpoints; each class is counted separately. `checkpoints` are sorted by sequence; `pending`
/// holds the target and the safety checkpoint of an interrupted restore.
pub fn plan(checkpoints: &[Checkpoint], keep: usize, pending: &[ObjectId]) -> EvictionPlan {
    let protected = protected(checkpoints, pending);
    let class = |belongs: fn(&Checkpoint) -> bool| {
        let members: Vec<&Checkpoint> = checkpoints.iter().filter(|c| belongs(c)).collect();
        let surplus = members.len().saturating_sub(keep.max(1));
        let free = members.iter().filter(|c| !protected.contains(&c.id));
        let evict: Vec<_> = free
            .take(surplus)
            .map(|c| (c.id, EvictionReason::Oldest))
            .collect();
        EvictionPlan {
            over_keep: evict.len() < surplus,
            evict,
        }
    };
    let whole = class(Checkpoint::is_whole);
    let scoped = class(|c| c.is_scoped() && !c.is_safety());
    EvictionPlan {
        evict: [
            old_safeties(checkpoints, &protected),
            whole.evict,
            scoped.evict,
        ]
        .concat(),
        over_keep: whole.over_keep || scoped.over_keep,
    }
}

/// As [`plan`], reading only what is in memory if nothing but safety checkpoints is in surplus.
pub fn plan_of_line(line: &Line, keep: usize, pending: &[ObjectId]) -> EvictionPlan {
    let scoped = line.scoped_count();
    let whole = line.len() - line.safety_count() - scoped;
    if whole.max(scoped) > keep.max(1) {
        return plan(line, keep, pending);
    }
    EvictionPlan {
        evict: old_safeties(line.newer(), &protected(line.newer(), pending)),
        over_keep: false,
    }
}

/// Returns safety checkpoints beyond the last [`KEPT_STEPS`], oldest first. Those that no undo or
/// redo needs any more are evicted before the others.
fn old_safeties(
    checkpoints: &[Checkpoint],
    protected: &HashSet<ObjectId>,
) -> Vec<(ObjectId, EvictionReason)> {
    let mut safeties: Vec<&Checkpoint> = checkpoints.iter().filter(|c| c.is_safety()).collect();
    if safeties.len() <= KEPT_STEPS {
        return Vec::new();
    }
    let steps = Steps::of(checkpoints);
    let needed: HashSet<ObjectId> = steps
        .done
        .iter()
        .chain(&steps.taken_back)
        .map(|step| step.safety)
        .collect();
    safeties.sort_by_key(|c| needed.contains(&c.id));
    let surplus = &safeties[..safeties.len() - KEPT_STEPS];
    let free = surplus.iter().filter(|c| !protected.contains(&c.id));
    free.map(|c| (c.id, EvictionReason::OldSafety)).collect()
}

/// Plans the evictions of a prune: expired checkpoints first, then the surplus of the rest.
pub fn plan_prune(
    checkpoints: &[Checkpoint],
    keep: usize,
    now_ms: i64,
    pending: &[ObjectId],
) -> EvictionPlan {
    let expired = plan_expired(checkpoints, now_ms, pending);
    let stays = |c: &&Checkpoint| expired.iter().all(|(gone, _)| *gone != c.id);
    let rest: Vec<Checkpoint> = checkpoints.iter().filter(stays).cloned().collect();
    let of_rest = plan(&rest, keep, pending);
    EvictionPlan {
        evict: [expired, of_rest.evict].concat(),
        over_keep: of_rest.over_keep,
    }
}

/// Returns expired checkpoints that are not protected. A scoped one goes even if it is the newest.
fn plan_expired(
    checkpoints: &[Checkpoint],
    now_ms: i64,
    pending: &[ObjectId],
) -> Vec<(ObjectId, EvictionReason)> {
    let needed = needed(checkpoints, pending);
    let protected = protected(checkpoints, pending);
    let stays = |c: &Checkpoint| {
        if c.is_scoped() {
            needed.contains(&c.id)
        } else {
            protected.contains(&c.id)
        }
    };
    let is_over = |c: &&Checkpoint| {
        c.record
            .terms
            .expiry
            .is_some_and(|expiry| expiry.is_over(now_ms))
    };
    checkpoints
        .iter()
        .filter(is_over)
        .filter(|c| !stays(c))
        .map(|c| (c.id, EvictionReason::Expired))
        .collect()
}

/// Evictions that bring a store below its size limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizePlan {
    /// Checkpoints to evict, scoped ones first, then oldest first.
    pub evict: Vec<(ObjectId, EvictionReason)>,
    /// Size of the remaining store in bytes.
    pub needed_bytes: u64,
}

/// Plans evictions until the store fits `limit_bytes`; `fixed_bytes` are used in any case. `cost`
/// returns what a checkpoint adds to those counted so far: protected ones first, then the newest,
/// scoped ones last. If the protected ones alone exceed the limit, all others are evicted and
/// `needed_bytes` is over the limit.
///
/// # Errors
/// Errors of `cost`.
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
    let mut free: Vec<&Checkpoint> = checkpoints
        .iter()
        .filter(|c| !protected.contains(&c.id))
        .collect();
    free.sort_by_key(|c| !c.is_scoped());
    let mut first_kept = free.len();
    for (at, checkpoint) in free.iter().enumerate().rev() {
        let with_it = needed_bytes + cost(checkpoint)?;
        if with_it > limit_bytes {
            break;
        }
        (first_kept, needed_bytes) = (at, with_it);
    }
    let evict = free[..first_kept]
        .iter()
        .map(|c| (c.id, EvictionReason::StoreSize))
        .collect();
    Ok(SizePlan {
        evict,
        needed_bytes,
    })
}

/// Returns checkpoints that no policy evicts: needed ones, the newest, the newest whole one, and
/// the newest whole and complete one.
fn protected(checkpoints: &[Checkpoint], pending: &[ObjectId]) -> HashSet<ObjectId> {
    let mut protected = needed(checkpoints, pending);
    let newest = |is_meant: fn(&Checkpoint) -> bool| {
        checkpoints.iter().rev().find(|c| is_meant(c)).map(|c| c.id)
    };
    protected.extend(newest(|_| true));
    protected.extend(newest(Checkpoint::is_whole));
    protected.extend(newest(|c| c.is_whole() && c.is_complete()));
    protected
}

/// Returns pinned and never expiring checkpoints, those of a pending restore, and the safety
/// checkpoints and targets of the last restores.
fn needed(checkpoints: &[Checkpoint], pending: &[ObjectId]) -> HashSet<ObjectId> {
    let mut protected: HashSet<ObjectId> = pending.iter().copied().collect();
    protected.extend(checkpoints.iter().filter(|c| c.is_held()).map(|c| c.id));
    let restores = checkpoints
        .iter()
        .rev()
        .filter_map(|c| Some((c.id, c.record.operation.as_ref()?.target)));
    for (safety, target) in restores.take(PROTECTED_RESTORES) {
        protected.extend([safety, target]);
    }
    protected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::record::{CheckpointKind, Coverage, Operation, Record, Verb};
    use crate::model::checkpoint::terms::CheckpointTerms;
    use crate::model::checkpoint::terms::Expiry;

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
            terms: CheckpointTerms::default(),
        };
        Checkpoint {
            id: id(n),
            tree: id(0),
            meta: None,
            record,
            pinned: false,
            adopted: false,
        }
    }

    fn safety(n: u8, target: u8) -> Checkpoint {
        let mut made = regular(n);
        made.record.kind = CheckpointKind::Safety;
        made.record.operation = Some(Operation {
            verb: Verb::Restore,
            target: id(target),
            paths: vec![],
            within: None,
        });
        made
    }

    fn evicted(checkpoints: &[Checkpoint], keep: usize) -> Vec<u8> {
        plan(checkpoints, keep, &[])
            .evict
            .iter()
            .map(|(id, _)| id.as_bytes()[0])
            .collect()
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
        assert_eq!(evicted(&all, 2), [2, 3]);
        let plan = plan(&all, 1, &[]);
        assert!(plan.over_keep);
    }

    fn scoped(n: u8) -> Checkpoint {
        let mut made = regular(n);
        made.record.coverage = Coverage::Scoped;
        made
    }

    #[test]
    fn scoped_ones_are_counted_apart_and_protect_none_of_the_others() {
        let all = [regular(1), scoped(2), regular(3), scoped(4), scoped(5)];
        assert_eq!(evicted(&all, 2), [2]);
        assert_eq!(evicted(&all, 1), [1, 2, 4]);
        let (all, small) = (
            [regular(1), scoped(2), regular(3), scoped(4), regular(5)],
            85,
        );
        assert_eq!(fitted(&all, small + 10), (vec![2, 4], 95));
        assert_eq!(fitted(&all, small), (vec![2, 4, 1], 85));
    }

    #[test]
    fn what_has_expired_goes_unless_it_is_needed_and_never_is_held() {
        let mut all = [
            scoped(1),
            regular(2),
            scoped(3),
            regular(4),
            scoped(5),
            safety(6, 3),
            regular(7),
        ];
        for checkpoint in &mut all {
            checkpoint.record.terms.expiry = Some(Expiry::At(10));
        }
        all[3].pinned = true;
        let gone = |now_ms| {
            plan_expired(&all, now_ms, &[])
                .iter()
                .map(|(id, _)| id.as_bytes()[0])
                .collect::<Vec<u8>>()
        };
        assert_eq!((gone(9), gone(10)), (vec![], vec![1, 2, 5]));
        assert_eq!(
            plan_expired(&[scoped_until(1, 5)], 5, &[]).len(),
            1,
            "although it is the newest"
        );
        all[0].record.terms.expiry = Some(Expiry::Never);
        assert!(!evicted(&all, 1).contains(&1), "never is as good as a pin");
    }

    fn scoped_until(n: u8, end_ms: i64) -> Checkpoint {
        let mut made = scoped(n);
        made.record.terms.expiry = Some(Expiry::At(end_ms));
        made
    }

    #[test]
    fn safety_checkpoints_and_named_ones_never_push_each_other_out() {
        let mut all: Vec<_> = (1..=3).map(regular).collect();
        all.extend((4..=30).map(|n| safety(n, 3)));
        all.push(regular(31));
        assert_eq!(
            evicted(&all, 4),
            (4..=10).collect::<Vec<u8>>(),
            "those of the last twenty steps stay"
        );
        assert_eq!(
            evicted(&all, 2),
            [(4..=10).collect::<Vec<u8>>(), vec![1, 2]].concat()
        );
        assert!(
            !plan(&all, 4, &[]).over_keep,
            "safety checkpoints do not count under keep"
        );
    }

    #[test]
    fn as_many_steps_as_are_kept_can_be_undone_and_redone() {
        let mut all = vec![regular(1)];
        let drop_planned = |all: &mut Vec<Checkpoint>| {
            let gone = plan(all, 50, &[]).evict;
            all.retain(|c| gone.iter().all(|(id, _)| *id != c.id));
        };
        for n in 2..27 {
            all.push(safety(n, 1));
            drop_planned(&mut all);
        }
        let mut next = 27;
        for verb in [Verb::Undo, Verb::Redo] {
            for _ in 0..KEPT_STEPS {
                let steps = Steps::of(&all);
                let stack = if verb == Verb::Undo {
                    steps.done
                } else {
                    steps.taken_back
                };
                let mut step = safety(next, stack.last().expect("one more").safety.as_bytes()[0]);
                step.record.operation.as_mut().expect("it has one").verb = verb;
                all.push(step);
                drop_planned(&mut all);
                next += 1;
            }
        }
        assert!(
            all.len() <= 1 + KEPT_STEPS + 2 * PROTECTED_RESTORES,
            "{}",
            all.len()
        );
    }

    #[test]
    fn restores_of_an_old_one_evict_nothing_that_was_made_last() {
        let mut all: Vec<_> = (1..=4).map(regular).collect();
        all[0].pinned = true;
        all[1].pinned = true;
        all.extend([safety(5, 1), safety(6, 1)]);
        assert_eq!(evicted(&all, 2), [3]);
        assert_eq!(
            evicted(&all, 1),
            [3],
            "the newest named one stays beside a newer safety checkpoint"
        );
    }

    #[test]
    fn pins_the_newest_complete_and_the_pending_two_stay() {
        let mut all: Vec<_> = (1..=6).map(regular).collect();
        all[0].pinned = true;
        all[4].record.coverage = Coverage::Partial;
        all[5].record.coverage = Coverage::Partial;
        let went: Vec<u8> = plan(&all, 1, &[id(2)])
            .evict
            .iter()
            .map(|(id, _)| id.as_bytes()[0])
            .collect();
        assert_eq!(went, [3, 5]);
    }

    fn fitted(all: &[Checkpoint], limit: u64) -> (Vec<u8>, u64) {
        let mut cost = |c: &Checkpoint| Ok::<_, ()>(10 * u64::from(c.id.as_bytes()[0]));
        let plan = plan_size(all, &[], limit, 5, &mut cost).unwrap();
        (
            plan.evict.iter().map(|(id, _)| id.as_bytes()[0]).collect(),
            plan.needed_bytes,
        )
    }

    #[test]
    fn the_oldest_unprotected_go_until_the_store_fits() {
        let mut all: Vec<_> = (1..=5).map(regular).collect();
        assert_eq!(fitted(&all, 1000), (vec![], 155));
        assert_eq!(fitted(&all, 155), (vec![], 155));
        assert_eq!(fitted(&all, 154), (vec![1], 145));
        assert_eq!(fitted(&all, 124), (vec![1, 2, 3], 95));
        assert_eq!(
            fitted(&all, 0),
            (vec![1, 2, 3, 4], 55),
            "the newest stays although it is too much"
        );
        all[0].pinned = true;
        assert_eq!(fitted(&all, 124), (vec![2, 3], 105));
    }
}
