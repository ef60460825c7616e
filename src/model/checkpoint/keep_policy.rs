//! What a policy keeps: the last ones, and restic's rules by hour, day, week, month and age; pure.

use std::cmp::Reverse;

use crate::base::json::{JsonSchema, Serialize};
use crate::base::time::local_periods;

/// How many checkpoints stay. A checkpoint stays if one rule keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number of last ones, at least one.
    pub last: usize,
    /// Whether the command line, not a setting, gives that number.
    pub is_last_typed: bool,
    /// Number of hours of which the last checkpoint stays; so too for the next three.
    pub hourly: usize,
    pub daily: usize,
    pub weekly: usize,
    pub monthly: usize,
    /// Age in milliseconds, counted from the newest; 0 keeps none.
    pub within_ms: i64,
    /// Number of last automatic ones, to which no other rule applies.
    pub auto: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self::of_last(50)
    }
}

/// The values that a file or a command line gives, by their keys there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyChange {
    pub keep: Option<usize>,
    pub keep_hourly: Option<usize>,
    pub keep_daily: Option<usize>,
    pub keep_weekly: Option<usize>,
    pub keep_monthly: Option<usize>,
    /// In milliseconds.
    pub keep_within: Option<i64>,
    pub keep_auto: Option<usize>,
}

/// A rule that keeps a checkpoint, or what protects it from all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, Serialize, JsonSchema)]
#[strum(const_into_str, serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    Last,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Within,
    /// One of the last automatic ones.
    Auto,
    /// Its restore can be undone.
    Undo,
    /// Safety checkpoint or target of one of the last restores.
    LateRestore,
    Pinned,
    NeverExpires,
    /// Its expiry time has not come.
    NotExpired,
    /// The newest, or the newest of the whole directory.
    Newest,
    NewestComplete,
    /// A restore that was interrupted or an open workflow needs it.
    InUse,
}

impl Policy {
    /// Evicts nothing.
    pub const EVERYTHING: Self = Self {
        auto: usize::MAX,
        ..Self::of_last(usize::MAX)
    };

    const fn of_last(last: usize) -> Self {
        Self {
            last,
            is_last_typed: false,
            hourly: 0,
            daily: 0,
            weekly: 0,
            monthly: 0,
            within_ms: 0,
            auto: 50,
        }
    }

    /// The policy for automatic checkpoints.
    #[must_use]
    pub fn for_automatic(&self) -> Self {
        Self::of_last(self.auto)
    }

    /// The policy with a change that was typed on the command line.
    #[must_use]
    pub fn overruled(self, change: &PolicyChange) -> Self {
        Self {
            is_last_typed: change.keep.is_some(),
            ..self.changed(change)
        }
    }

    #[must_use]
    pub fn changed(self, change: &PolicyChange) -> Self {
        self.with(change, |_, asked| asked, |_, asked| asked)
    }

    /// As [`Self::changed`], but only by values that keep more.
    #[must_use]
    pub fn raised(self, change: &PolicyChange) -> Self {
        self.with(change, usize::max, i64::max)
    }

    fn with(
        self,
        change: &PolicyChange,
        number: fn(usize, usize) -> usize,
        age_ms: fn(i64, i64) -> i64,
    ) -> Self {
        let of = |now, asked: Option<usize>| asked.map_or(now, |asked| number(now, asked));
        let within_ms = change.keep_within;
        Self {
            last: of(self.last, change.keep),
            is_last_typed: self.is_last_typed,
            hourly: of(self.hourly, change.keep_hourly),
            daily: of(self.daily, change.keep_daily),
            weekly: of(self.weekly, change.keep_weekly),
            monthly: of(self.monthly, change.keep_monthly),
            within_ms: within_ms.map_or(self.within_ms, |asked| age_ms(self.within_ms, asked)),
            auto: of(self.auto, change.keep_auto),
        }
    }

    pub fn has_rules_of_time(&self) -> bool {
        self.hourly + self.daily + self.weekly + self.monthly > 0 || self.within_ms > 0
    }

    /// Returns the rules that keep each checkpoint, given their times in order of sequence.
    ///
    /// As in restic, an hour (day, …) counts only if it has a checkpoint, the newest of it stays,
    /// and the very oldest stays too while fewer hours were found than asked for; all in local
    /// time. Times in the future do not count as the newest.
    pub fn rules_that_keep(&self, times_ms: &[i64], now_ms: i64) -> Vec<Vec<KeepReason>> {
        let mut kept = vec![Vec::new(); times_ms.len()];
        for why in kept.iter_mut().rev().take(self.last.max(1)) {
            why.push(KeepReason::Last);
        }
        if !self.has_rules_of_time() {
            return kept;
        }
        // The clock may have been set back, so order by sequence is not order by time.
        let mut newest_first: Vec<(usize, i64)> = times_ms.iter().copied().enumerate().collect();
        newest_first.reverse();
        newest_first.sort_by_key(|(_, time_ms)| Reverse(*time_ms));
        let periods: Vec<[i64; 4]> = newest_first
            .iter()
            .map(|(_, ms)| local_periods(*ms))
            .collect();
        let rules = [
            (self.hourly, KeepReason::Hourly),
            (self.daily, KeepReason::Daily),
            (self.weekly, KeepReason::Weekly),
            (self.monthly, KeepReason::Monthly),
        ];
        for (rule, (limit, reason)) in rules.into_iter().enumerate() {
            let (mut left, mut last) = (limit, None);
            for (nth, (at, _)) in newest_first.iter().enumerate().take_while(|_| limit > 0) {
                let period = Some(periods[nth][rule]);
                if left > 0 && (period != last || nth + 1 == newest_first.len()) {
                    kept[*at].push(reason);
                    (left, last) = (left - 1, period);
                }
            }
        }
        let newest_ms = newest_first
            .iter()
            .map(|(_, ms)| *ms)
            .find(|ms| *ms <= now_ms);
        let since_ms = newest_ms.unwrap_or(i64::MIN).saturating_sub(self.within_ms);
        for (at, time_ms) in newest_first {
            if self.within_ms > 0 && time_ms > since_ms {
                kept[at].push(KeepReason::Within);
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_raises_and_a_command_line_decides() {
        let change = PolicyChange {
            keep: Some(3),
            keep_daily: Some(7),
            ..PolicyChange::default()
        };
        let raised = Policy::default().raised(&change);
        let changed = Policy::default().changed(&change);
        assert_eq!((raised.last, raised.daily, raised.auto), (50, 7, 50));
        assert_eq!((changed.last, changed.daily, changed.auto), (3, 7, 50));
    }
}
