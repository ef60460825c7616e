//! The property of restore plans: applied to the present state, a plan gives the target.

use checkpoint::model::restore_plan::{RestorePlan, RestoreScope};
use checkpoint::model::state::entry::Entry;
use checkpoint::model::state::entry::Kind;
use checkpoint::model::state::object_id::ObjectId;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::model::state::snapshot::Snapshot;
use proptest::prelude::*;

use crate::bench::cases::properties;

const NAMES: [&[u8]; 4] = [b"a", b"a.b", b"b", b"\xff"];

/// A state drawn from bytes: each name of a directory is absent, a file, a link or a directory.
fn state(bytes: &[u8]) -> Snapshot {
    let mut drawn = bytes.iter().copied();
    let mut snapshot = Snapshot::default();
    let mut pending = vec![(RelPath::root(), 0)];
    while let Some((dir, depth)) = pending.pop() {
        snapshot.dirs.insert(
            dir.clone(),
            [0o755, 0o700, 0o2775][usize::from(drawn.next().unwrap_or(0) % 3)],
        );
        for name in NAMES {
            let (path, draw) = (dir.join(name), drawn.next().unwrap_or(0));
            let perm = [0o644, 0o755, 0o600, 0o4755][usize::from(draw / 8 % 4)];
            let id = ObjectId::from_bytes([draw / 64; 20]);
            match draw % 8 {
                0..=2 => {}
                3 | 4 => drop(snapshot.files.insert(
                    path,
                    Entry {
                        kind: Kind::File,
                        perm,
                        id,
                        size_bytes: 1,
                    },
                )),
                5 => drop(snapshot.files.insert(
                    path,
                    Entry {
                        kind: Kind::Symlink,
                        perm: 0o777,
                        id,
                        size_bytes: 1,
                    },
                )),
                _ if depth < 3 => pending.push((path, depth + 1)),
                _ => {}
            }
        }
    }
    snapshot
}

fn applied(plan: &RestorePlan, present: &Snapshot) -> Snapshot {
    let mut state = present.clone();
    state
        .files
        .retain(|path, _| !plan.delete.contains_key(path));
    state
        .dirs
        .retain(|path, _| !plan.remove_dirs.contains(path));
    state.dirs.extend(
        plan.make_dirs
            .iter()
            .chain(&plan.chmod_dirs)
            .map(|(path, perm)| (path.clone(), *perm)),
    );
    state.files.extend(
        plan.write
            .iter()
            .map(|(path, write)| (path.clone(), write.after)),
    );
    for (path, perm) in &plan.chmod {
        state
            .files
            .get_mut(path)
            .expect("only what is there gets a mode")
            .perm = *perm;
    }
    state
}

fn states() -> impl Strategy<Value = (Snapshot, Snapshot)> {
    let bytes = || proptest::collection::vec(any::<u8>(), 1..200);
    (bytes(), bytes()).prop_map(|(present, target)| (state(&present), state(&target)))
}

proptest! {
    #![proptest_config(properties(2_000))]

    #[test]
    fn a_plan_applied_to_the_present_gives_the_target((present, target) in states()) {
        let scope = RestoreScope { special_bits: true, ..RestoreScope::default() };
        let plan = RestorePlan::between(&present, &target, &scope, &|_, _| true);
        prop_assert!(plan.conflicts.is_empty() && plan.left_alone.is_empty());
        prop_assert_eq!(applied(&plan, &present), target.clone());
        let back = RestorePlan::between(&target, &present, &scope, &|_, _| true);
        prop_assert_eq!(applied(&back, &target), present);
    }

    #[test]
    fn a_plan_between_equal_states_does_nothing((present, _) in states()) {
        let plan = RestorePlan::between(&present, &present, &RestoreScope::default(), &|_, _| true);
        prop_assert!(plan.is_empty(), "{:?}", plan);
    }

    #[test]
    fn an_overlay_deletes_nothing_and_a_limit_changes_nothing_outside((present, target) in states()) {
        let overlay = RestoreScope { overlay: true, ..RestoreScope::default() };
        let plan = RestorePlan::between(&present, &target, &overlay, &|_, _| true);
        if plan.conflicts.is_empty() {
            prop_assert!(plan.delete.is_empty() && plan.remove_dirs.is_empty());
        }
        let limit = RelPath::new(b"a").expect("a path");
        let limited = RestoreScope { paths: vec![limit.clone()], ..RestoreScope::default() };
        let plan = RestorePlan::between(&present, &target, &limited, &|_, _| true);
        let touched = plan.write.keys().chain(plan.delete.keys()).chain(plan.chmod.keys()).chain(&plan.remove_dirs);
        for path in touched.chain(plan.chmod_dirs.keys()) {
            prop_assert!(path.is_at_or_below(&limit), "{:?}", path);
        }
    }
}
