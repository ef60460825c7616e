//! The keys of a configuration file that say which checkpoints to keep.

use std::num::NonZeroUsize;

use serde::Deserialize;

use crate::config::amount;
use crate::model::checkpoint::keep_policy::PolicyChange;

/// Prefix of all of them.
pub const KEEP: &str = "keep";

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct KeepKeys {
    keep: Option<NonZeroUsize>,
    keep_hourly: Option<usize>,
    keep_daily: Option<usize>,
    keep_weekly: Option<usize>,
    keep_monthly: Option<usize>,
    #[serde(deserialize_with = "amount::period")]
    keep_within: Option<i64>,
    keep_auto: Option<NonZeroUsize>,
}

impl KeepKeys {
    pub fn change(&self) -> PolicyChange {
        PolicyChange {
            last: self.keep.map(NonZeroUsize::get),
            hourly: self.keep_hourly,
            daily: self.keep_daily,
            weekly: self.keep_weekly,
            monthly: self.keep_monthly,
            within_ms: self.keep_within,
            auto: self.keep_auto.map(NonZeroUsize::get),
        }
    }
}
