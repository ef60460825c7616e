//! Samples of long rows of cases: a part of them, drawn by a seed, or all with `CHECKPOINT_TEST_FULL=1`.

use std::collections::BTreeSet;

/// The same every day, so that a change that fails here is the one at hand.
const EVERYDAY_SEED: u64 = 20_261_121;

/// Whether every case is tried.
pub fn is_full() -> bool {
    std::env::var_os("CHECKPOINT_TEST_FULL").is_some_and(|value| value == "1")
}

/// A row of numbers that look like chance.
pub struct Draw(u64);

impl Draw {
    /// Begins at `CHECKPOINT_SEED`, or where it always begins; the seed is printed, which a test that fails shows.
    pub fn new() -> Self {
        let said = std::env::var("CHECKPOINT_SEED").ok();
        let seed = said.and_then(|seed| seed.parse().ok()).unwrap_or(EVERYDAY_SEED);
        println!("CHECKPOINT_SEED={seed}");
        Self(seed)
    }

    pub fn number(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits")
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.number() % end
    }
}

/// At least one case of each kind that any case is of, and then others until there are `count`; in their order.
pub fn sample<T, K: Ord>(cases: impl IntoIterator<Item = T>, count: usize, kinds: impl Fn(&T) -> Vec<K>) -> Vec<T> {
    let cases: Vec<T> = cases.into_iter().collect();
    if is_full() {
        return cases;
    }
    let mut draw = Draw::new();
    let mut order: Vec<usize> = (0..cases.len()).collect();
    (1..order.len()).rev().for_each(|at| order.swap(at, draw.below(at + 1)));
    let mut seen: BTreeSet<K> = BTreeSet::new();
    let (first, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|at| {
        let (before, kinds) = (seen.len(), kinds(&cases[*at]));
        seen.extend(kinds);
        seen.len() > before
    });
    let count = count.max(first.len());
    let taken: BTreeSet<usize> = first.into_iter().chain(others).take(count).collect();
    println!("{} of {} cases (CHECKPOINT_TEST_FULL=1 tries them all)", taken.len(), cases.len());
    cases.into_iter().enumerate().filter(|(at, _)| taken.contains(at)).map(|(_, case)| case).collect()
}

/// The numbers from 1 to `most`; of a sample each second or third, more or less. For the calls of a run, at which something
/// happens to it: who sweeps over them stops where the run makes no more.
pub fn calls(most: usize) -> impl Iterator<Item = usize> {
    let mut draw = (!is_full()).then(Draw::new);
    let gap = move |at: &usize| Some(at + draw.as_mut().map_or(1, |draw| 1 + draw.below(4)));
    std::iter::successors(Some(1), gap).take_while(move |at| *at <= most)
}

#[test]
fn a_sample_has_each_kind_in_it_and_no_more_than_was_asked_for() {
    let drawn = sample(0..1000, 30, |number| vec![format!("ends with {}", number % 10)]);
    let kinds: BTreeSet<i32> = drawn.iter().map(|number| number % 10).collect();
    assert_eq!((kinds.len(), drawn.len()), (10, if is_full() { 1000 } else { 30 }));
    assert!(drawn.is_sorted(), "{drawn:?}");
}
