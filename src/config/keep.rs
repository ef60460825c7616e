//! The keys of a configuration file that say which checkpoints to keep.

use std::num::NonZeroUsize;

use serde::{Deserialize, Deserializer};

use crate::config::amount;
use crate::model::checkpoint::keep_policy::PolicyChange;

/// Prefix of all of them.
pub const KEEP: &str = "keep";

#[derive(Default, Deserialize)]
#[serde(default)]
struct KeepKeys {
    keep: Option<NonZeroUsize>,
    keep_hourly: Option<usize>,
    keep_daily: Option<usize>,
    keep_weekly: Option<usize>,
    keep_monthly: Option<usize>,
    #[serde(deserialize_with = "amount::period")]
    keep_within: Option<i64>,
    keep_auto: Option<NonZeroUsize>,
}

/// Reads all of them.
pub fn change<'de, D: Deserializer<'de>>(from: D) -> Result<PolicyChange, D::Error> {
    let keys = KeepKeys::deserialize(from)?;
    Ok(PolicyChange {
        last: keys.keep.map(NonZeroUsize::get),
        hourly: keys.keep_hourly,
        daily: keys.keep_daily,
        weekly: keys.keep_weekly,
        monthly: keys.keep_monthly,
        within_ms: keys.keep_within,
        auto: keys.keep_auto.map(NonZeroUsize::get),
    })
}
