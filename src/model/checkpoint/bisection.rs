//! Finds the first bad item of a sequence, pure: items can be skipped, none is tested twice.

use std::collections::BTreeSet;

/// State of a bisection over a sequence whose first item is good and whose last is bad.
#[derive(Clone, Debug)]
pub struct Bisection {
    good: usize,
    bad: usize,
    skipped: BTreeSet<usize>,
}

/// Verdict on one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum BisectVerdict {
    Good,
    Bad,
    /// Cannot be tested.
    Skip,
}

impl Bisection {
    /// Starts a bisection over `count` items, at least 2.
    pub fn new(count: usize) -> Self {
        Self {
            good: 0,
            bad: count.saturating_sub(1),
            skipped: BTreeSet::new(),
        }
    }

    /// Returns the next item to test: the one nearest to the middle that was not skipped. `None` at
    /// the end.
    pub fn next(&self) -> Option<usize> {
        let middle = usize::midpoint(self.good, self.bad);
        let open = (self.good + 1..self.bad).filter(|at| !self.skipped.contains(at));
        open.min_by_key(|at| (at.abs_diff(middle), *at))
    }

    pub fn mark(&mut self, at: usize, verdict: BisectVerdict) {
        match verdict {
            BisectVerdict::Good => self.good = self.good.max(at),
            BisectVerdict::Bad => self.bad = self.bad.min(at),
            BisectVerdict::Skip => drop(self.skipped.insert(at)),
        }
    }

    /// Returns the last item known to be good.
    pub fn last_good(&self) -> usize {
        self.good
    }

    /// Returns the candidates for the first bad item: one, or several if some were skipped.
    pub fn candidates(&self) -> std::ops::RangeInclusive<usize> {
        self.good + 1..=self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs to the end; returns the candidates and the number of items tested.
    fn run(count: usize, first_bad: usize, skips: &[usize]) -> (Vec<usize>, usize) {
        let mut bisection = Bisection::new(count);
        let mut asked = 0;
        while let Some(at) = bisection.next() {
            asked += 1;
            let seen = if at < first_bad {
                BisectVerdict::Good
            } else {
                BisectVerdict::Bad
            };
            bisection.mark(
                at,
                if skips.contains(&at) {
                    BisectVerdict::Skip
                } else {
                    seen
                },
            );
        }
        (bisection.candidates().collect(), asked)
    }

    #[test]
    fn the_first_bad_one_is_found_in_as_many_questions_as_halves() {
        for count in 2..70_usize {
            for first_bad in 1..count {
                let (found, asked) = run(count, first_bad, &[]);
                assert_eq!(found, [first_bad]);
                assert!(
                    asked <= count.ilog2() as usize + 1,
                    "{count} {first_bad}: {asked}"
                );
            }
        }
    }

    #[test]
    fn skipped_ones_next_to_the_border_are_candidates_and_others_do_not_matter() {
        assert_eq!(run(10, 5, &[4, 5]).0, [4, 5, 6]);
        assert_eq!(run(10, 5, &[1, 8]).0, [5]);
        assert_eq!(run(4, 2, &[1, 2]).0, [1, 2, 3]);
        for count in 2..20 {
            for first_bad in 1..count {
                let skips: Vec<usize> = (1..count - 1).filter(|at| at % 3 == 1).collect();
                assert!(
                    run(count, first_bad, &skips).0.contains(&first_bad),
                    "{count} {first_bad}"
                );
            }
        }
    }
}
