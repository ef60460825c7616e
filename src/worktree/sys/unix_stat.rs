//! Stats of files on Unixes, and the clocks that their times are compared with.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs;

use crate::model::Stat;
use crate::model::state::entry::{SYMLINK_BITS, TYPE_BITS};

pub fn to_stat(stat: &fs::Stat) -> Stat {
    let mode = u32::try_from(natural(stat.st_mode)).unwrap_or_default();
    let is_symlink = mode & TYPE_BITS == SYMLINK_BITS;
    Stat {
        dev: natural(stat.st_dev),
        ino: natural(stat.st_ino),
        mode: if is_symlink {
            SYMLINK_BITS | 0o777
        } else {
            mode
        },
        size_bytes: natural(stat.st_size),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        links: natural(stat.st_nlink),
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn from_statx(stat: &fs::Statx) -> Stat {
    Stat {
        dev: fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        ino: stat.stx_ino,
        mode: stat.stx_mode.into(),
        size_bytes: stat.stx_size,
        mtime_ns: nanoseconds(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        ctime_ns: nanoseconds(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
        links: stat.stx_nlink.into(),
    }
}

/// Converts a stat field, whose width and sign differ between systems.
fn natural(field: impl Into<i128>) -> u64 {
    u64::try_from(field.into()).unwrap_or_default()
}

/// Returns nanoseconds since 1970, saturating.
fn nanoseconds(seconds: impl Into<i128>, rest: impl Into<i128>) -> i64 {
    let total = seconds.into() * 1_000_000_000 + rest.into();
    i64::try_from(total).unwrap_or(if total < 0 { i64::MIN } else { i64::MAX })
}

/// Returns the stat of a path, following symlinks; for paths outside the root.
pub fn stat_path(path: &Path) -> io::Result<Stat> {
    Ok(to_stat(&fs::stat(path)?))
}

pub fn stat_file(file: &File) -> io::Result<Stat> {
    Ok(to_stat(&fs::fstat(file)?))
}

/// Returns a time not earlier than the timestamp of any file written before: Linux also stamps
/// files with the fine clock, which runs ahead of [`coarse_now_ns`].
pub fn fine_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// Returns a time not later than the timestamp that a file written now would get.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    nanoseconds(now.tv_sec, now.tv_nsec)
}

/// Returns a time not later than the timestamp that a file written now would get.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn coarse_now_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    nanoseconds(i128::from(now.tv_sec) - 2, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_beyond_what_fits_are_the_last_that_fits() {
        assert_eq!(nanoseconds(i64::MAX, 0), i64::MAX);
        assert_eq!(nanoseconds(i64::MIN, 0), i64::MIN);
        assert_eq!(nanoseconds(-1, 999_999_999), -1);
    }
}
