//! Racy files, as git calls them: changed so late that their timestamps cannot be trusted in the
//! stat cache.

use crate::base::time::SECOND_NS;
use crate::model::Stat;

/// Timestamp granularity of coarse file systems: whole seconds, or two on FAT; changes within it
/// are invisible.
const COARSE_TICK_NS: i64 = 2_000_000_000;
/// Slowest write speed assumed, ten megabytes per second.
const SLOWEST_WRITE_NS_PER_BYTE: i64 = 100;
/// Upper bound on the time that one write is given by its size alone.
const LONGEST_WRITE_NS: i64 = 2 * SECOND_NS;

/// When a file changed last. A time in the future was set by a program; the inode's own time then
/// tells of each later change.
fn changed_ns(stat: &Stat, started_ns: i64) -> i64 {
    let is_set = stat.mtime_ns > started_ns.saturating_add(COARSE_TICK_NS) && stat.ctime_ns > 0;
    if is_set { stat.ctime_ns } else { stat.mtime_ns }
}

/// Whether a file may change after its stat without a change of its timestamps, because they are
/// not older than `started_ns`, when the scan began.
pub fn is_racy(stat: &Stat, started_ns: i64) -> bool {
    let is_coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let safe_before_ns = if is_coarse {
        started_ns.saturating_sub(COARSE_TICK_NS)
    } else {
        started_ns
    };
    changed_ns(stat, started_ns) >= safe_before_ns || stat.ctime_ns >= safe_before_ns
}

/// Whether a write begun before `started_ns` may still have been going on then: a file is stamped
/// before its bytes are copied, so a read in the middle lacks the rest without a later timestamp.
/// A later read that finds the same content under the same stamps settles that.
pub fn may_be_half_written(stat: &Stat, started_ns: i64) -> bool {
    let longest_ns = i64::try_from(stat.size_bytes)
        .unwrap_or(i64::MAX)
        .saturating_mul(SLOWEST_WRITE_NS_PER_BYTE)
        .min(LONGEST_WRITE_NS);
    changed_ns(stat, started_ns).saturating_add(longest_ns) >= started_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_long_write_may_still_be_at_is_not_sure() {
        let stat = |mtime_ns, size_bytes| Stat {
            size_bytes,
            mtime_ns,
            ..Stat::default()
        };
        assert!(may_be_half_written(&stat(0, 1 << 20), 100_000_000));
        assert!(!may_be_half_written(&stat(0, 1 << 20), 110_000_000));
        assert!(!may_be_half_written(&stat(0, 100), 20_000));
        assert!(may_be_half_written(&stat(i64::MAX, u64::MAX), i64::MAX));
        assert!(may_be_half_written(&stat(0, u64::MAX), 2 * SECOND_NS));
        assert!(!may_be_half_written(&stat(0, u64::MAX), 2 * SECOND_NS + 1));
    }

    #[test]
    fn what_is_not_older_than_the_scan_is_racy() {
        let stat = |mtime_ns, ctime_ns| Stat {
            mtime_ns,
            ctime_ns,
            ..Stat::default()
        };
        assert!(!is_racy(&stat(99, 99), 100));
        assert!(is_racy(&stat(100, 99), 100));
        assert!(is_racy(&stat(99, 100), 100));
        assert!(!is_racy(&stat(i64::MAX, 1), 100));
        assert!(is_racy(&stat(i64::MAX, 0), 100));
        assert!(is_racy(&stat(i64::MAX, 100), 100));
        let second = 1_000_000_000;
        assert!(is_racy(&stat(10 * second, 10 * second), 12 * second));
        assert!(!is_racy(&stat(10 * second, 10 * second), 12 * second + 1));
        assert!(!is_racy(&stat(10 * second + 1, 10 * second), 11 * second));
    }
}
