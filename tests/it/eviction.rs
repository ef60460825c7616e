//! Eviction gives space back, keeps what a restore needs, and packs stay few after all creates.

use crate::bench::{Sandbox, cases, damaged, fixtures};

const MIB: usize = 1024 * 1024;

#[test]
fn sixty_large_checkpoints_shrink_to_two() {
    let sandbox = Sandbox::new();
    sandbox.env("PATH", "");
    for at in 0..60 {
        sandbox.write("data", fixtures::noise(at + 1, MIB));
        sandbox.create(&at.to_string());
    }
    assert_eq!(sandbox.listed().len(), 50, "the limit holds while creating");
    sandbox.ok("prune --keep 2 --yes").stdout_has("→");
    assert_eq!(sandbox.listed().len(), 2);
    let size = sandbox.store_bytes();
    assert!(size < 6 * MIB as u64, "the store still has {size} bytes");
    let expected = sandbox.tree();
    sandbox.write("data", "gone");
    sandbox.restore("latest").success();
    sandbox.tree().assert_is(&expected, "after pruning");
}

#[test]
fn at_fifty_of_fifty_the_oldest_can_be_restored() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "0");
    let oldest = sandbox.create("0");
    for at in 1..50 {
        sandbox.write("a", at.to_string());
        sandbox.create(&at.to_string());
    }
    sandbox.write("a", "unsaved");
    let data = sandbox.restore_data(&[&oldest]);
    assert_eq!(sandbox.read("a"), "0");
    let now = sandbox.listed_ids();
    assert!(now.contains(&oldest), "the target was evicted");
    assert_eq!(
        now[0],
        data["safety"]["short"]
            .as_str()
            .expect("a safety checkpoint")
    );
    sandbox.ok("prune");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "unsaved");
}

#[test]
fn safety_checkpoints_do_not_count_under_keep() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 4\n");
    for wave in 1..=4 {
        sandbox
            .write("a", wave.to_string())
            .create(&format!("wave-{wave}"));
    }
    for at in 0..25 {
        sandbox.write("a", format!("edit {at}"));
        let data = sandbox.restore_data(&["wave-1"]);
        assert!(
            data["dropped"]
                .as_array()
                .expect("a list")
                .iter()
                .all(|gone| gone["why"] == "old_safety"),
            "{data}"
        );
    }
    let listed = sandbox.listed();
    let (safeties, named): (Vec<_>, Vec<_>) =
        listed.iter().partition(|one| one["kind"] == "safety");
    assert_eq!(
        (safeties.len(), named.len()),
        (20, 4),
        "those of the last twenty steps, and all named ones"
    );
    for _ in 0..20 {
        sandbox.undo().success();
    }
    sandbox.undo().code(3);
}

#[test]
fn restores_of_an_old_one_spare_the_newest_named_one_whatever_is_pinned() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 2\n");
    for wave in 1..=2 {
        let id = sandbox
            .write("a", wave.to_string())
            .create(&format!("wave-{wave}"));
        sandbox.ok(format!("pin {id}"));
    }
    sandbox.write("a", "3").create("wave-3");
    for edit in ["x", "y"] {
        sandbox.write("a", edit);
        sandbox.restore("wave-1").success();
    }
    sandbox.ok("prune");
    sandbox.restore("wave-3").success();
    assert_eq!(sandbox.read("a"), "3");
}

#[test]
fn what_is_protected_stays_and_status_says_so() {
    let sandbox = Sandbox::new();
    for wave in 1..=3 {
        let id = sandbox
            .write("a", wave.to_string())
            .create(&format!("wave-{wave}"));
        sandbox.ok(format!("pin {id}"));
    }
    sandbox.user_config("keep = 1\n");
    sandbox.ok("prune");
    assert_eq!(sandbox.listed().len(), 3);
    assert_eq!(sandbox.status()["over_keep"], true);
}

#[test]
fn many_small_creates_keep_packs_few_and_none_merges_many() {
    let sandbox = Sandbox::new();
    sandbox.real_clock();
    for at in 0..200 {
        sandbox.write(format!("d{}/f{at}", at % 10), at.to_string());
    }
    let mut packs_before = 0;
    for at in 0..cases(130) {
        let file = format!("d{}/f{}", at % 10, at % 200);
        sandbox
            .write(file, format!("change {at}"))
            .create(&at.to_string());
        let packs = fixtures::packs_below(&sandbox.store());
        assert!(packs < 60, "{packs} packs after {at} creates");
        let is_bounded = packs + MOST_MERGED > packs_before;
        assert!(is_bounded, "one create merged {packs_before} to {packs}");
        packs_before = packs;
    }
}

#[test]
fn a_create_in_several_tidies_up_and_the_others_have_nothing_to_do_with_it() {
    let sandbox = Sandbox::new();
    let (mut packs_before, mut tidied) = (0, Vec::new());
    for at in 0..100_u64 {
        // Too large to be merged by the next one, so that each create leaves a pack.
        sandbox
            .write("noise", fixtures::noise(at + 1, 70_000))
            .create(&at.to_string());
        let packs = fixtures::packs_below(&sandbox.store());
        if packs <= packs_before {
            tidied.push((at, packs));
        }
        packs_before = packs;
    }
    // The fiftieth evicts none; from then on a pack becomes garbage with each create.
    assert!(
        tidied[0].0 >= 50 && (1..=10).contains(&tidied.len()),
        "{tidied:?}"
    );
    assert!(tidied.iter().all(|(_, packs)| *packs <= 50), "{tidied:?}");
    sandbox.ok("verify --full");
}

#[test]
fn what_cannot_be_merged_is_looked_at_once_in_eight_creates() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 100\n");
    let mut noted = Vec::new();
    for at in 1..=60_u64 {
        // Larger than what is merged.
        let id = sandbox
            .write("noise", fixtures::noise(at, 2_200_000))
            .create(&at.to_string());
        let note =
            std::fs::read_to_string(sandbox.store().join("checkpoint/tidied")).unwrap_or_default();
        if note.starts_with(&id) {
            noted.push(at);
        }
    }
    assert_eq!(fixtures::packs_below(&sandbox.store()), 60);
    assert_eq!(noted, [51, 59], "the creates that marked all that lives");
}

#[test]
fn packs_of_any_small_size_stay_few() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 1000\n");
    for at in 0..110_u64 {
        // A few of these exceed what is merged at once without need.
        sandbox
            .write("noise", fixtures::noise(at + 1, 300_000))
            .create(&at.to_string());
        let packs = fixtures::packs_below(&sandbox.store());
        assert!(packs <= 52, "{packs} packs after {at} creates");
    }
    sandbox.ok("verify");
}

#[test]
fn large_checkpoints_give_back_their_room_while_small_ones_come() {
    let sandbox = Sandbox::new();
    for at in 0..50_u64 {
        sandbox
            .write("noise", fixtures::noise(at + 1, 2_200_000))
            .create(&at.to_string());
    }
    sandbox.write("noise", "small");
    let large = || {
        let sizes = damaged::packs_of(&sandbox.store())
            .into_iter()
            .map(|pack| pack.metadata().map_or(0, |m| m.len()));
        sizes.filter(|size| *size > 2_000_000).count()
    };
    for at in 0..30 {
        sandbox
            .write("a", at.to_string())
            .create(&format!("small {at}"));
    }
    // Each create evicts a large pack and small packs are merged regularly: their number alone
    // would never trigger a prune.
    assert!(large() <= 42, "{} large packs", large());
}

#[test]
fn a_torn_note_of_the_last_tidying_up_keeps_no_create_from_it() {
    for torn in ["", "x", "0123456789012345678901234567890123456789\n", "\0"] {
        let sandbox = Sandbox::new();
        sandbox.user_config("keep = 20\n");
        sandbox.create("first");
        std::fs::write(sandbox.store().join("checkpoint/tidied"), torn).unwrap();
        for at in 0..52_u64 {
            sandbox
                .write("noise", fixtures::noise(at + 1, 70_000))
                .create(&at.to_string());
        }
        assert!(fixtures::packs_below(&sandbox.store()) <= 50, "{torn:?}");
        sandbox.ok("verify");
    }
}

/// Upper bound on the packs that one create may merge or drop.
const MOST_MERGED: usize = 12;
