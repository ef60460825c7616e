//! What a checkpoint may hold, asked when it is made and by every check: of a store, and of what goes
//! to another or comes from one.

use std::ops::Range;

use crate::model::{Record, RelPath};

/// Most levels of directories, with the root; git refuses trees of more than 2,048.
pub const MOST_LEVELS: usize = 2000;
/// Most entries of a tree, with all below it.
pub const MOST_ENTRIES: u64 = 4_000_000;
/// The longest name of most file systems, in bytes.
const LONGEST_NAME: usize = 255;
/// `PATH_MAX` of Linux, the largest there is.
pub const LONGEST_LINK_BYTES: u64 = 4095;
/// The largest sequence number; those that follow one have the same.
pub const LARGEST_SEQUENCE: u64 = 1 << 53;
/// The times that fit the forms of times, in milliseconds since 1970: of the years 1 to 9999.
pub const TIMES_MS: Range<i64> = -62_135_596_800_000..253_402_300_800_000;

/// Takes a time to the nearest of those that fit, in whole seconds.
pub fn bounded(seconds: i64) -> i64 {
    seconds
        .saturating_mul(1000)
        .clamp(TIMES_MS.start, LAST_SECOND_MS)
}

/// Whether it is a time before 1970, which git refuses, or one to which only a bound leads.
pub fn is_absurd(time_ms: i64) -> bool {
    time_ms < 0 || time_ms == LAST_SECOND_MS
}

const LAST_SECOND_MS: i64 = TIMES_MS.end - 1000;

/// Why a directory is left out that lies too deep.
pub fn too_deep() -> String {
    format!("it lies below {MOST_LEVELS} levels of directories")
}

/// Says what is wrong with a name.
pub fn name_problem(name: &[u8]) -> Option<String> {
    let is_long = name.len() > LONGEST_NAME;
    is_long.then(|| format!("its name has {} bytes, over {LONGEST_NAME}", name.len()))
}

/// Says what is wrong with a path.
pub fn path_problem(path: &RelPath) -> Option<String> {
    let is_deep = path.components().count() > MOST_LEVELS;
    let name = path.components().find_map(name_problem);
    name.or_else(|| is_deep.then(too_deep))
}

/// Says what is wrong with a record.
pub fn record_problem(record: &Record) -> Option<&'static str> {
    (!TIMES_MS.contains(&record.time_ms)).then_some("it has an absurd time")
}
