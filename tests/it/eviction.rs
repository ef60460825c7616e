//! Packs stay few however many small creates there are; `stories/eviction.md` and `packs.md` have
//! the rest.

use crate::bench::{Sandbox, cases, fixtures};

/// Upper bound on the packs that one create may merge or drop.
const MOST_MERGED: usize = 12;

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
