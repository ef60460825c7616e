//! The keys of a configuration file that say which checkpoints to keep.

use crate::base::time::parse_span;
use crate::config::file::ConfigFile;
use crate::model::checkpoint::keep_policy::PolicyChange;

/// Takes their values, and tells which keys have one; `keep_last` is another name of `keep`.
pub fn read(file: &mut ConfigFile) -> (PolicyChange, Vec<&'static str>) {
    let mut number = |key, least| {
        let check = move |found: u64| usize::try_from(found).ok().filter(|found| *found >= least);
        let complaint = match least {
            0 => "is too large",
            _ => "must be at least 1",
        };
        file.value(key, check, complaint)
    };
    let [keep, last] = ["keep", "keep_last"].map(|key| number(key, 1));
    let mut change = PolicyChange {
        last: keep.max(last),
        auto: number("keep_auto", 1),
        hourly: number("keep_hourly", 0),
        daily: number("keep_daily", 0),
        weekly: number("keep_weekly", 0),
        monthly: number("keep_monthly", 0),
        within_ms: None,
    };
    let span = |text: String| parse_span(&text);
    change.within_ms = file.value("keep_within", span, "must be a duration such as '7d'");
    let keys = [
        ("keep", change.last.is_some()),
        ("keep_auto", change.auto.is_some()),
        ("keep_hourly", change.hourly.is_some()),
        ("keep_daily", change.daily.is_some()),
        ("keep_weekly", change.weekly.is_some()),
        ("keep_monthly", change.monthly.is_some()),
        ("keep_within", change.within_ms.is_some()),
    ];
    let given = keys.into_iter().filter(|(_, is_given)| *is_given);
    (change, given.map(|(key, _)| key).collect())
}
