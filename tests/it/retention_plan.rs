//! Which checkpoints retention evicts, class by class.

use checkpoint::model::checkpoint::line::Line;
use checkpoint::model::checkpoint::record::{
    Checkpoint, CheckpointKind, CheckpointTerms, Coverage, Expiry, Operation, Record, Verb,
};
use checkpoint::model::checkpoint::retention::{
    EvictionReason, KEPT_STEPS, PROTECTED_RESTORES, Policy, RetentionPlan, plan, plan_prune,
    plan_size,
};
use checkpoint::model::checkpoint::undo_stack::Steps;
use checkpoint::model::session::provenance::Provenance;
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::scope::PathFilter;

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
        provenance: Provenance::default(),
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
        filter: PathFilter::default(),
    });
    made
}

fn planned(checkpoints: &[Checkpoint], keep: usize, needed: &[ObjectId]) -> RetentionPlan {
    let policy = Policy {
        last: keep,
        ..Policy::default()
    };
    plan(&Line::from(checkpoints.to_vec()), &policy, 0, needed)
}

fn evicted(checkpoints: &[Checkpoint], keep: usize) -> Vec<u8> {
    planned(checkpoints, keep, &[])
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
    assert!(!planned(&all, 3, &[]).over_keep && !planned(&all, 5, &[]).over_keep);
    assert_eq!(evicted(&all, 0), [1, 2, 3, 4], "at least one stays");
}

#[test]
fn a_target_of_a_late_restore_and_its_safety_checkpoint_stay() {
    let all = [regular(1), regular(2), regular(3), safety(4, 1), regular(5)];
    assert_eq!(evicted(&all, 2), [2]);
    let plan = planned(&all, 1, &[]);
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
fn what_has_not_expired_stays_whatever_the_number_and_the_size() {
    let mut all: Vec<_> = (1..=6).map(scoped).collect();
    for checkpoint in &mut all[..4] {
        checkpoint.record.terms.expiry = Some(Expiry::At(1));
    }
    let plan_at = |now_ms| {
        let policy = Policy {
            last: 1,
            ..Policy::default()
        };
        plan(&Line::from(all.clone()), &policy, now_ms, &[])
    };
    assert!(plan_at(0).over_keep);
    assert_eq!(plan_at(0).ids().collect::<Vec<_>>(), [id(5)]);
    assert_eq!(plan_at(1).evict.len(), 5);
    assert_eq!(fitted(&all, 0).0, [5]);
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
    let expired = |all: &[Checkpoint], now_ms| {
        plan_prune(&Line::from(all.to_vec()), &Policy::EVERYTHING, now_ms, &[]).evict
    };
    let gone = |now_ms| {
        let evict = expired(&all, now_ms);
        evict
            .iter()
            .map(|(id, _)| id.as_bytes()[0])
            .collect::<Vec<u8>>()
    };
    assert_eq!((gone(9), gone(10)), (vec![], vec![1, 2, 5]));
    assert_eq!(
        expired(&[scoped_until(1, 5)], 5).len(),
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
        !planned(&all, 4, &[]).over_keep,
        "safety checkpoints do not count under keep"
    );
}

#[test]
fn as_many_steps_as_are_kept_can_be_undone_and_redone() {
    let mut all = vec![regular(1)];
    let drop_planned = |all: &mut Vec<Checkpoint>| {
        let gone = planned(all, 50, &[]).evict;
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
fn twenty_steps_and_five_hundred_creates_leave_twenty_steps_to_undo() {
    let policy = Policy {
        last: 5,
        ..Policy::default()
    };
    let mut line = Line::from(vec![numbered(0, None)]);
    for n in 1..=520 {
        line.push(numbered(n, (n <= 20).then_some(Verb::Restore)));
        line.remove(&plan(&line, &policy, 0, &[]).ids().collect::<Vec<_>>());
    }
    assert_eq!(Steps::of(line.iter()).done.len(), KEPT_STEPS);
    assert_eq!(
        line.len(),
        KEPT_STEPS + 5 + 1,
        "and the target of the last restores"
    );
}

fn numbered(n: u16, verb: Option<Verb>) -> Checkpoint {
    let mut bytes = [0; 20];
    bytes[..2].copy_from_slice(&n.to_be_bytes());
    let mut made = if verb.is_some() {
        safety(0, 0)
    } else {
        regular(0)
    };
    made.id = ObjectId::from_bytes(bytes);
    made.record.sequence = n.into();
    made
}

#[test]
fn automatic_ones_and_named_ones_never_push_each_other_out() {
    let mut all: Vec<_> = (1..=9).map(regular).collect();
    for checkpoint in &mut all[2..8] {
        checkpoint.record.terms.is_automatic = true;
    }
    let policy = Policy {
        last: 2,
        auto: 4,
        ..Policy::default()
    };
    let plan = plan(&Line::from(all), &policy, 0, &[]);
    let oldest = (
        id(1),
        EvictionReason::Oldest {
            keep: 2,
            is_typed: false,
        },
    );
    let automatic = [3, 4].map(|n| (id(n), EvictionReason::OldAutomatic));
    assert_eq!(plan.evict, [vec![oldest], automatic.to_vec()].concat());
}

#[test]
fn restores_of_an_old_one_evict_nothing_that_was_made_last() {
    let mut all: Vec<_> = (1..=4).map(regular).collect();
    all[0].pinned = true;
    all[1].pinned = true;
    all.extend([safety(5, 1), safety(6, 1)]);
    assert!(
        evicted(&all, 2).is_empty(),
        "a pin takes no place of the last ones"
    );
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
    let went: Vec<u8> = planned(&all, 1, &[id(2)])
        .evict
        .iter()
        .map(|(id, _)| id.as_bytes()[0])
        .collect();
    assert_eq!(went, [3, 5]);
}

fn fitted(all: &[Checkpoint], limit: u64) -> (Vec<u8>, u64) {
    let mut cost = |c: &Checkpoint| Ok::<_, ()>(10 * u64::from(c.id.as_bytes()[0]));
    let plan = plan_size(&Line::from(all.to_vec()), 0, &[], limit, 5, &mut cost).expect("no error");
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
