//! Samples of many cases: some of them, drawn by a seed, or all with `CHECKPOINT_TEST_FULL=1`.

use std::collections::BTreeSet;

/// Default seed, always the same, so that a new failure comes from the change at hand.
const EVERYDAY_SEED: u64 = 20_261_121;

/// Whether every case is tried.
pub fn is_full() -> bool {
    std::env::var_os("CHECKPOINT_TEST_FULL").is_some_and(|value| value == "1")
}

/// A sequence of pseudo-random numbers.
pub struct Draw(u64);

impl Draw {
    /// Starts at `CHECKPOINT_SEED` or the default; prints the seed, which a failing test shows.
    pub fn new() -> Self {
        let said = std::env::var("CHECKPOINT_SEED").ok();
        let seed = said
            .and_then(|seed| seed.parse().ok())
            .unwrap_or(EVERYDAY_SEED);
        println!("CHECKPOINT_SEED={seed}");
        Self(seed)
    }

    pub fn number(&mut self) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits")
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.number() % end
    }
}

/// Samples cases: at least one of each kind, then others until there are `count`; in order.
pub fn sample<T, K: Ord>(
    cases: impl IntoIterator<Item = T>,
    count: usize,
    kinds: impl Fn(&T) -> Vec<K>,
) -> Vec<T> {
    let cases: Vec<T> = cases.into_iter().collect();
    if is_full() {
        return cases;
    }
    let mut draw = Draw::new();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    (1..order.len())
        .rev()
        .for_each(|at| order.swap(at, draw.below(at + 1)));
    let mut seen: BTreeSet<K> = BTreeSet::new();
    let (first, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|at| {
        let (before, kinds) = (seen.len(), kinds(&cases[*at]));
        seen.extend(kinds);
        seen.len() > before
    });
    let count = count.max(first.len());
    let taken: BTreeSet<usize> = first.into_iter().chain(others).take(count).collect();
    println!(
        "{} of {} cases (CHECKPOINT_TEST_FULL=1 tries them all)",
        taken.len(),
        cases.len()
    );
    cases
        .into_iter()
        .enumerate()
        .filter(|(at, _)| taken.contains(at))
        .map(|(_, case)| case)
        .collect()
}

#[test]
fn a_sample_has_each_kind_in_it_and_no_more_than_was_asked_for() {
    let drawn = sample(0..1000, 30, |number| {
        vec![format!("ends with {}", number % 10)]
    });
    let kinds: BTreeSet<i32> = drawn.iter().map(|number| number % 10).collect();
    assert_eq!(
        (kinds.len(), drawn.len()),
        (10, if is_full() { 1000 } else { 30 })
    );
    assert!(drawn.is_sorted(), "{drawn:?}");
}
