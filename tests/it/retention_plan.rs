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

fn id(n: u16) -> ObjectId {
    let mut bytes = [0; 20];
    bytes[..2].copy_from_slice(&n.to_be_bytes());
    ObjectId::from_bytes(bytes)
}

fn number(text: &str) -> u16 {
    text.parse().expect("a number")
}

/// Checkpoints by their numbers, `1-3` for three of a kind. Behind a number are its marks: `s` for
/// scoped, `%` partial, `p` pinned, `a` automatic, `>N` made before a restore to N, `@N` lasting
/// until then, and `@` for ever.
fn checkpoints(text: &str) -> Vec<Checkpoint> {
    let words = text.split_ascii_whitespace();
    let each = words.flat_map(|word| {
        let is_mark = |sign: char| !sign.is_ascii_digit() && sign != '-';
        let (numbers, marks) = word.split_at(word.find(is_mark).unwrap_or(word.len()));
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        (number(first)..=number(last)).map(|n| checkpoint(n, marks))
    });
    each.collect()
}

fn checkpoint(n: u16, marks: &str) -> Checkpoint {
    let (marks, expiry) = marks.split_once('@').map_or((marks, None), |(marks, end)| {
        let end_ms = (!end.is_empty()).then(|| number(end).into());
        (marks, Some(end_ms.map_or(Expiry::Never, Expiry::At)))
    });
    let (marks, target) = marks
        .split_once('>')
        .map_or((marks, None), |(marks, target)| (marks, Some(target)));
    let operation = target.map(|target| Operation {
        verb: Verb::Restore,
        target: id(number(target)),
        paths: vec![],
        within: None,
        filter: PathFilter::default(),
    });
    let record = Record {
        sequence: n.into(),
        time_ms: 0,
        kind: match operation {
            Some(_) => CheckpointKind::Safety,
            None => CheckpointKind::Regular,
        },
        coverage: match marks.chars().next() {
            Some('s') => Coverage::Scoped,
            Some('%') => Coverage::Partial,
            _ => Coverage::Complete,
        },
        files: 0,
        content_bytes: 0,
        reason: String::new(),
        source: String::new(),
        operation,
        during_pending: false,
        provenance: Provenance::default(),
        terms: CheckpointTerms {
            expiry,
            is_automatic: marks.contains('a'),
            ..CheckpointTerms::default()
        },
    };
    Checkpoint {
        id: id(n),
        tree: id(0),
        meta: None,
        record,
        pinned: marks.contains('p'),
        adopted: false,
    }
}

fn ids(checkpoints: &[Checkpoint]) -> Vec<ObjectId> {
    checkpoints.iter().map(|one| one.id).collect()
}

fn last(keep: usize) -> Policy {
    Policy {
        last: keep,
        ..Policy::default()
    }
}

fn planned(all: &[Checkpoint], keep: usize) -> RetentionPlan {
    plan(&Line::from(all.to_vec()), &last(keep), 0, &[])
}

/// Rows of checkpoints, the number to keep, the time, and what goes; `!` where more than that
/// number stay.
#[test]
fn the_oldest_go_until_the_number_fits() {
    for (all, keep, now_ms, gone) in [
        ("1-5", 3, 0, "1 2"),
        ("1-5", 5, 0, ""),
        // At least one stays.
        ("1-5", 0, 0, "1-4"),
        // The target of a late restore and its safety checkpoint stay.
        ("1-3 4>1 5", 2, 0, "2"),
        ("1-3 4>1 5", 1, 0, "2 3!"),
        // Scoped ones are counted apart and protect none of the others.
        ("1 2s 3 4s 5s", 2, 0, "2"),
        ("1 2s 3 4s 5s", 1, 0, "1 2 4"),
        // What has not expired stays.
        ("1-4s@1 5-6s", 1, 0, "5!"),
        ("1-4s@1 5-6s", 1, 1, "1-5"),
        // For ever is as good as a pin.
        ("1s@ 2@10 3s@10 4p@10 5s@10 6>3@10 7@10", 1, 0, "!"),
        // Safety checkpoints and named ones never push each other out: those of the last twenty
        // steps stay, and count under no number to keep.
        ("1-3 4-30>3 31", 4, 0, "4-10"),
        ("1-3 4-30>3 31", 2, 0, "4-10 1 2"),
        // A pin takes no place of the last ones.
        ("1-2p 3-4 5-6>1", 2, 0, "!"),
        // The newest named one stays beside a newer safety checkpoint.
        ("1-2p 3-4 5-6>1", 1, 0, "3!"),
    ] {
        let line = Line::from(checkpoints(all));
        let plan = plan(&line, &last(keep), now_ms, &[]);
        let told = (plan.ids().collect::<Vec<_>>(), plan.over_keep);
        let expected = (
            ids(&checkpoints(gone.trim_end_matches('!'))),
            gone.ends_with('!'),
        );
        assert_eq!(told, expected, "{all} of which {keep} at {now_ms}");
    }
}

#[test]
fn what_has_expired_goes_unless_it_is_needed() {
    let all = "1s@10 2@10 3s@10 4p@10 5s@10 6>3@10 7@10";
    for (all, now_ms, gone) in [
        (all, 9, ""),
        (all, 10, "1 2 5"),
        // Although it is the newest.
        ("1s@5", 5, "1"),
    ] {
        let line = Line::from(checkpoints(all));
        let plan = plan_prune(&line, &Policy::EVERYTHING, now_ms, &[]);
        let told: Vec<ObjectId> = plan.evict.iter().map(|(id, _)| *id).collect();
        assert_eq!(told, ids(&checkpoints(gone)), "{all} at {now_ms}");
    }
}

/// Takes from a line what goes of it when 50 are kept.
fn drop_planned(all: &mut Vec<Checkpoint>) {
    let gone: Vec<ObjectId> = planned(all, 50).ids().collect();
    all.retain(|one| !gone.contains(&one.id));
}

#[test]
fn as_many_steps_as_are_kept_can_be_undone_and_redone() {
    let mut all = checkpoints("1");
    for n in 2..27 {
        all.push(checkpoint(n, ">1"));
        drop_planned(&mut all);
    }
    let mut next = 27;
    for verb in [Verb::Undo, Verb::Redo] {
        for _ in 0..KEPT_STEPS {
            let steps = Steps::of(&all);
            let stack = match verb {
                Verb::Undo => steps.done,
                _ => steps.taken_back,
            };
            let mut step = checkpoint(next, ">1");
            let operation = step.record.operation.as_mut().expect("it has one");
            operation.target = stack.last().expect("one more").safety;
            operation.verb = verb;
            all.push(step);
            drop_planned(&mut all);
            next += 1;
        }
    }
    let count = all.len();
    assert!(count <= 1 + KEPT_STEPS + 2 * PROTECTED_RESTORES, "{count}");
}

#[test]
fn twenty_steps_and_five_hundred_creates_leave_twenty_steps_to_undo() {
    let mut line = Line::from(checkpoints("1"));
    for n in 2..=521 {
        line.push(checkpoint(n, if n <= 21 { ">1" } else { "" }));
        line.remove(&plan(&line, &last(5), 0, &[]).ids().collect::<Vec<_>>());
    }
    assert_eq!(Steps::of(line.iter()).done.len(), KEPT_STEPS);
    // The last ones, and the target of the last restores.
    assert_eq!(line.len(), KEPT_STEPS + 5 + 1);
}

#[test]
fn automatic_ones_and_named_ones_never_push_each_other_out() {
    let policy = Policy { auto: 4, ..last(2) };
    let line = Line::from(checkpoints("1-2 3-8a 9"));
    let plan = plan(&line, &policy, 0, &[]);
    let oldest = EvictionReason::Oldest {
        keep: 2,
        is_typed: false,
    };
    let old = EvictionReason::OldAutomatic;
    assert_eq!(plan.evict, [(id(1), oldest), (id(3), old), (id(4), old)]);
}

#[test]
fn pins_the_newest_complete_and_the_pending_two_stay() {
    let line = Line::from(checkpoints("1p 2-4 5-6%"));
    let plan = plan(&line, &last(1), 0, &[id(2)]);
    assert_eq!(plan.ids().collect::<Vec<_>>(), [id(3), id(5)]);
}

/// Rows of checkpoints, each of which costs ten times its number, the bytes that the store may
/// take beside five of its own, what goes, and what the rest needs.
#[test]
fn the_oldest_unprotected_go_until_the_store_fits() {
    for (all, limit, gone, needed) in [
        ("1-5", 1000, "", 155),
        ("1-5", 155, "", 155),
        ("1-5", 154, "1", 145),
        ("1-5", 124, "1-3", 95),
        // The newest stays although it is too much.
        ("1-5", 0, "1-4", 55),
        ("1p 2-5", 124, "2 3", 105),
        ("1 2s 3 4s 5", 95, "2 4", 95),
        ("1 2s 3 4s 5", 85, "2 4 1", 85),
        // What has not expired stays whatever the size.
        ("1-4s@1 5-6s", 0, "5", 165),
    ] {
        let mut cost = |one: &Checkpoint| Ok::<_, ()>(10 * one.record.sequence);
        let line = Line::from(checkpoints(all));
        let plan = plan_size(&line, 0, &[], limit, 5, &mut cost).expect("no error");
        let told: Vec<ObjectId> = plan.evict.iter().map(|(id, _)| *id).collect();
        let expected = (ids(&checkpoints(gone)), needed);
        assert_eq!((told, plan.needed_bytes), expected, "{all} in {limit}");
    }
}
