//! What a policy keeps, against a naive reading of restic's rules.

use std::collections::{BTreeMap, BTreeSet};

use checkpoint::model::checkpoint::retention::{KeepReason, Policy};
use chrono::{Datelike as _, Local, TimeZone as _, Timelike as _};

const HOUR_MS: i64 = 3_600_000;
const HISTORIES: u64 = 2_000;

/// A generator of reproducible numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// restic's manual, read naively: the newest of each of the last `count` periods that have one;
/// and the oldest of all, if there are fewer periods than that.
fn by_period<K: Ord>(times_ms: &[i64], count: usize, period: impl Fn(i64) -> K) -> BTreeSet<usize> {
    let mut newest_of: BTreeMap<K, (i64, usize)> = BTreeMap::new();
    for (at, time_ms) in times_ms.iter().enumerate() {
        let newest = newest_of.entry(period(*time_ms)).or_insert((*time_ms, at));
        *newest = (*newest).max((*time_ms, at));
    }
    let mut kept: BTreeSet<usize> = newest_of
        .values()
        .rev()
        .take(count)
        .map(|found| found.1)
        .collect();
    if newest_of.len() < count {
        let oldest = (0..times_ms.len()).min_by_key(|at| (times_ms[*at], *at));
        kept.extend(oldest);
    }
    kept
}

fn naively(policy: &Policy, times_ms: &[i64], now_ms: i64) -> Vec<Vec<KeepReason>> {
    let local = |ms| Local.timestamp_millis_opt(ms).unwrap();
    let last = (0..times_ms.len()).rev().take(policy.last).collect();
    let newest = times_ms.iter().filter(|ms| **ms <= now_ms).max();
    let within = (0..times_ms.len())
        .filter(|at| {
            policy.within_ms > 0
                && newest.is_none_or(|newest| times_ms[*at] > newest - policy.within_ms)
        })
        .collect();
    let rules: [(KeepReason, BTreeSet<usize>); 6] = [
        (KeepReason::Last, last),
        (
            KeepReason::Hourly,
            by_period(times_ms, policy.hourly, |ms| {
                (local(ms).date_naive(), local(ms).hour())
            }),
        ),
        (
            KeepReason::Daily,
            by_period(times_ms, policy.daily, |ms| local(ms).date_naive()),
        ),
        (
            KeepReason::Weekly,
            by_period(times_ms, policy.weekly, |ms| {
                (local(ms).iso_week().year(), local(ms).iso_week().week())
            }),
        ),
        (
            KeepReason::Monthly,
            by_period(times_ms, policy.monthly, |ms| {
                (local(ms).year(), local(ms).month())
            }),
        ),
        (KeepReason::Within, within),
    ];
    let why = |at: usize| {
        let rules = rules.iter().filter(|(_, kept)| kept.contains(&at));
        rules.map(|(reason, _)| *reason).collect()
    };
    (0..times_ms.len()).map(why).collect()
}

#[test]
fn the_rules_of_time_keep_what_a_naive_reading_of_restics_keeps() {
    for seed in 1..=HISTORIES {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut now_ms = 1_700_000_000_000 + (dice.below(1_000_000_000_000)).cast_signed();
        let usual = [60_000, HOUR_MS, 12 * HOUR_MS, 72 * HOUR_MS, 500 * HOUR_MS];
        let step_ms = usual[usize::try_from(dice.below(5)).unwrap()].cast_unsigned();
        let mut times_ms = Vec::new();
        for _ in 0..dice.below(60) {
            now_ms += dice.below(step_ms).cast_signed();
            // Now and then the clock is set back, or stands.
            if dice.below(20) == 0 {
                now_ms -= dice.below(3 * step_ms).cast_signed();
            }
            times_ms.push(now_ms);
            if dice.below(10) == 0 {
                times_ms.push(now_ms);
            }
        }
        let mut some = |most: u64| usize::try_from(dice.below(most)).unwrap();
        let policy = Policy {
            is_last_typed: false,
            last: 1 + some(5),
            hourly: some(6),
            daily: some(6),
            weekly: some(4),
            monthly: some(4),
            within_ms: HOUR_MS * i64::try_from(some(3) * some(100)).unwrap(),
            auto: 1,
        };
        let asked_ms = now_ms + HOUR_MS * (i64::try_from(some(40)).unwrap() - 20);
        assert_eq!(
            policy.rules_that_keep(&times_ms, asked_ms),
            naively(&policy, &times_ms, asked_ms),
            "history {seed}: {policy:?} of {times_ms:?}"
        );
    }
}
