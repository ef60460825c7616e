//! One store takes the place of another, which stays beside it; whatever a kill leaves of that is put right later.
//!
//! The new store is built in `<name>.fresh-<16 hex>`, where the mark says how far it is. The exchange is one step where
//! the system can do it. Then the damaged one, which has no mark, lies under the name of the new one, and is given its
//! own: `<name>.corrupt-<time>`.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::base::time::compact_utc;
use crate::error::{Error, Result};
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;
use crate::store::lock;
use crate::store::objects::loose_files::names_in;

/// What stands between the name of a store and the time in the name of a damaged copy.
pub const KEPT_MARK: &str = ".corrupt-";
const FRESH_MARK: &str = ".fresh-";
/// Hex digits that tell one from the other.
const FRESH_DIGITS: usize = 16;

/// How far a new store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It may lack anything.
    BeingMade,
    /// It is complete and durable.
    Whole,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::BeingMade => "being made\n",
            Self::Whole => "whole\n",
        }
    }
}

pub fn set_mark(store: &Layout, mark: Mark) -> Result<()> {
    atomic_file::replace(&store.salvage_mark(), mark.word().as_bytes())
}

pub fn remove_mark(store: &Layout) -> Result<()> {
    atomic_file::remove_if_there(&store.salvage_mark()).map(drop)
}

fn mark_of(store: &Path) -> Option<Mark> {
    let text = read_regular::read_text(&Layout::new(store.to_path_buf()).salvage_mark()).ok()?;
    // A torn mark is that of a store that was not finished.
    Some(if text == Mark::Whole.word() { Mark::Whole } else { Mark::BeingMade })
}

/// A name beside the store that nobody has.
pub fn fresh_beside(place: &Path) -> PathBuf {
    beside(place, &format!("{FRESH_MARK}{}", atomic_file::random_hex()))
}

/// Where a damaged store is kept: `time_ms` is when it was found to be damaged.
pub fn kept_beside(place: &Path, time_ms: i64) -> PathBuf {
    let first = beside(place, &format!("{KEPT_MARK}{}", compact_utc(time_ms)));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    let numbered = (2_u32..).map(|number| beside(place, &format!("{KEPT_MARK}{}-{number}", compact_utc(time_ms))));
    std::iter::once(first.clone()).chain(numbered).find(is_free).unwrap_or(first)
}

fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    place.with_file_name(name)
}

/// Damaged copies of this store that were kept earlier, in order of their names.
pub fn kept_copies(place: &Path) -> Vec<PathBuf> {
    siblings(place, KEPT_MARK)
}

/// What salvages of this store left that were cut off.
pub fn unfinished(place: &Path) -> Vec<PathBuf> {
    siblings(place, FRESH_MARK)
}

fn siblings(place: &Path, mark: &str) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (place.parent(), place.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let prefix = format!("{name}{mark}");
    let mut found = names_in(parent).unwrap_or_default();
    found.retain(|name| name.starts_with(&prefix));
    found.sort();
    found.iter().map(|name| parent.join(name)).collect()
}

/// Puts a whole new store into its place; what was there is kept under `kept`.
///
/// # Errors
/// A rename failed. Both are there then, and the next writer finds out which is which.
pub fn put_in_place(fresh: &Path, place: &Path, kept: &Path) -> Result<()> {
    let parent = place.parent().unwrap_or(place);
    if atomic_file::exchange(fresh, place)? {
        atomic_file::sync_directory(parent)?;
        atomic_file::rename(fresh, kept)?;
    } else {
        atomic_file::rename(place, kept)?;
        atomic_file::sync_directory(parent)?;
        atomic_file::rename(fresh, place)?;
    }
    atomic_file::sync_directory(parent)
}

/// Puts right what killed salvages left beside a store. Waits that long for one that is under way, then leaves it alone.
///
/// # Errors
/// Something cannot be renamed or removed.
pub fn settle(place: &Path, wait: Duration) -> Result<()> {
    let left = siblings(place, FRESH_MARK);
    let layout = Layout::new(place.to_path_buf());
    if left.is_empty() && mark_of(place).is_none() {
        return Ok(());
    }
    let Some(parent) = place.parent() else { return Ok(()) };
    let Ok(_nobody_else) = lock::acquire_directory(parent, wait) else { return Ok(()) };
    for path in left.iter().filter(|path| is_fresh_name(path) && path.symlink_metadata().is_ok()) {
        match mark_of(path) {
            Some(Mark::Whole) if place.symlink_metadata().is_err() => atomic_file::rename(path, place)?,
            Some(Mark::BeingMade) => remove_store(path)?,
            None if is_hollow(path) => remove_store(path)?,
            // One that is whole may hold what came from a working directory that has changed since: that is kept too.
            Some(Mark::Whole) | None => atomic_file::rename(path, &kept_beside(place, changed_ms(path)))?,
        }
    }
    if place.is_dir() {
        remove_mark(&layout)?;
    }
    atomic_file::sync_directory(parent)
}

fn is_fresh_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit_once(FRESH_MARK));
    name.is_some_and(|(_, hex)| hex.len() == FRESH_DIGITS && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A directory that was made and has no file in it yet.
fn is_hollow(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) && !crate::store::gc::usage::has_files(path)
}

fn changed_ms(path: &Path) -> i64 {
    let changed = path.symlink_metadata().and_then(|meta| meta.modified()).ok();
    let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}

/// A half-made store holds nothing that the damaged one does not hold too.
#[expect(clippy::disallowed_methods, reason = "the directory was made by a salvage of ours and never used")]
pub fn remove_store(path: &Path) -> Result<()> {
    std::fs::remove_dir_all(path).map_err(Error::io("remove", path))
}
