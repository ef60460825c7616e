//! Replaces a damaged store, which is kept beside the new one, and cleans up after a kill.
//!
//! The new store is built in `<name>.fresh-<16 hex>`, where the mark tells its progress. The
//! exchange is one step where the system allows it. Then the damaged one, which has no mark, has
//! the new one's name, and is renamed to `<name>.corrupt-<time>`. A store that the system does not
//! rename (a mount point, a lower layer of an overlay) is copied the same way, then emptied.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::base::random_name::{is_random_hex, random_hex};
use crate::base::time::compact_utc;
use crate::error::{Error, Result};
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::objects::loose_files::names_in;
use crate::store::{Layout, lock};

/// Separates a store's name from the time in the name of a damaged copy.
pub const KEPT_MARK: &str = ".corrupt-";
const FRESH_MARK: &str = ".fresh-";

/// The progress of a new store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str)]
pub enum Mark {
    /// Possibly incomplete.
    #[strum(serialize = "being made\n")]
    BeingMade,
    /// Complete and durable.
    #[strum(serialize = "whole\n")]
    Whole,
}

pub fn set_mark(store: &Layout, mark: Mark) -> Result<()> {
    atomic_file::replace(&store.salvage_mark(), mark.into_str().as_bytes())
}

pub fn remove_mark(store: &Layout) -> Result<()> {
    atomic_file::remove_if_there(&store.salvage_mark()).map(drop)
}

fn mark_of(store: &Path) -> Option<Mark> {
    let text = read_regular::read_text(&Layout::new(store.to_path_buf()).salvage_mark()).ok()?;
    // A torn mark belongs to an unfinished store.
    Some(if text == Mark::Whole.into_str() {
        Mark::Whole
    } else {
        Mark::BeingMade
    })
}

/// An unused name for a new store beside this one.
pub fn fresh_path(place: &Path) -> PathBuf {
    sibling(place, &format!("{FRESH_MARK}{}", random_hex()))
}

/// An unused path for a damaged store; `time_ms` is when the damage was found.
pub fn set_aside_path(place: &Path, time_ms: i64) -> PathBuf {
    let first = sibling(place, &format!("{KEPT_MARK}{}", compact_utc(time_ms)));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    let numbered = (2_u32..).map(|number| {
        sibling(
            place,
            &format!("{KEPT_MARK}{}-{number}", compact_utc(time_ms)),
        )
    });
    std::iter::once(first.clone())
        .chain(numbered)
        .find(is_free)
        .unwrap_or(first)
}

fn sibling(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    place.with_file_name(name)
}

/// Damaged copies of this store kept earlier, ordered by name.
pub fn damaged_copies(place: &Path) -> Vec<PathBuf> {
    siblings(place, KEPT_MARK)
}

/// New stores left by interrupted salvages of this store.
pub fn unfinished(place: &Path) -> Vec<PathBuf> {
    siblings(place, FRESH_MARK)
}

fn siblings(place: &Path, mark: &str) -> Vec<PathBuf> {
    let (Some(parent), Some(name)) = (
        place.parent(),
        place.file_name().and_then(|name| name.to_str()),
    ) else {
        return Vec::new();
    };
    let prefix = format!("{name}{mark}");
    let mut found = names_in(parent).unwrap_or_default();
    found.retain(|name| name.starts_with(&prefix));
    found.sort();
    found.iter().map(|name| parent.join(name)).collect()
}

/// Puts a complete new store into place, keeping the old one as `kept`.
///
/// # Errors
/// A step failed. Then both stores exist, and the next writer settles them.
pub fn put_in_place(fresh: &Path, place: &Path, kept: &Path) -> Result<()> {
    let parent = place.parent().unwrap_or(place);
    if atomic_file::exchange(fresh, place)? {
        atomic_file::sync_directory(parent)?;
        atomic_file::rename(fresh, kept)?;
    } else {
        move_store(place, kept)?;
        atomic_file::sync_directory(parent)?;
        put(fresh, place)?;
    }
    atomic_file::sync_directory(parent)
}

/// Renames a store; where the system cannot, copies it, and empties the old one when the copy is
/// durable.
///
/// # Errors
/// A step failed. Until the copy is whole, the store is where it was.
pub fn move_store(from: &Path, to: &Path) -> Result<()> {
    let Err(failed) = atomic_file::rename(from, to) else {
        return Ok(());
    };
    if !cannot_be_renamed(&failed) {
        return Err(failed);
    }
    let fresh = fresh_path(to);
    copy_store(from, &fresh)?;
    put(&fresh, to)?;
    remove_mark(&Layout::new(to.to_path_buf()))?;
    empty(from)
}

/// Whether an error says that this directory is only moved by a copy.
pub fn cannot_be_renamed(error: &Error) -> bool {
    let kinds = [ErrorKind::CrossesDevices, ErrorKind::ResourceBusy];
    error.io_kind().is_some_and(|kind| kinds.contains(&kind))
}

/// Renames a whole new store to its place, or fills the empty mount point that is there.
fn put(fresh: &Path, place: &Path) -> Result<()> {
    match atomic_file::rename(fresh, place) {
        Err(failed) if cannot_be_renamed(&failed) => {
            copy_store(fresh, place)?;
            remove_store(fresh)
        }
        done => done,
    }
}

/// Copies a store, which is marked as unfinished until all of it is durable.
fn copy_store(from: &Path, to: &Path) -> Result<()> {
    let layout = Layout::new(to.to_path_buf());
    directories::create_private(&layout.own())?;
    set_mark(&layout, Mark::BeingMade)?;
    copy_files(from, to, &layout.salvage_mark())?;
    set_mark(&layout, Mark::Whole)
}

fn copy_files(from: &Path, to: &Path, mark: &Path) -> Result<()> {
    directories::create_private(to)?;
    for name in names_in(from)? {
        let (old, new) = (from.join(&name), to.join(&name));
        let found = old.symlink_metadata().map_err(Error::io("read", &old))?;
        if found.is_dir() {
            copy_files(&old, &new, mark)?;
        } else if new != mark {
            atomic_file::link_or_copy(&old, &new)?;
        }
    }
    atomic_file::sync_directory(to)
}

/// Removes a store that was copied, or all in it where its directory is a mount point.
///
/// # Errors
/// Something in it cannot be removed.
pub fn empty(store: &Path) -> Result<()> {
    match remove_store(store) {
        Err(failed) if cannot_be_renamed(&failed) && is_hollow(store) => Ok(()),
        done => done,
    }
}

/// Cleans up after killed salvages of a store; leaves one alone that runs for longer than `wait`.
///
/// # Errors
/// A store cannot be renamed or removed.
pub fn settle(place: &Path, wait: Duration) -> Result<()> {
    let left = siblings(place, FRESH_MARK);
    let layout = Layout::new(place.to_path_buf());
    let mark = mark_of(place);
    if left.is_empty() && mark.is_none() {
        return Ok(());
    }
    let Some(parent) = place.parent() else {
        return Ok(());
    };
    let Ok(_nobody_else) = lock::acquire_directory(parent, wait) else {
        return Ok(());
    };
    for path in left
        .iter()
        .filter(|path| is_fresh_name(path) && path.symlink_metadata().is_ok())
    {
        match mark_of(path) {
            Some(Mark::Whole) if place.symlink_metadata().is_err() => {
                atomic_file::rename(path, place)?;
            }
            // The place is a mount point, and filling it was interrupted.
            Some(Mark::Whole) if mark == Some(Mark::BeingMade) || is_hollow(place) => {
                empty(place)?;
                put(path, place)?;
            }
            Some(Mark::BeingMade) => remove_store(path)?,
            None if is_hollow(path) => remove_store(path)?,
            // A complete store may hold files of a working directory that has changed since, so it
            // is kept too.
            Some(Mark::Whole) | None => {
                atomic_file::rename(path, &set_aside_path(place, changed_ms(path)))?;
            }
        }
    }
    if place.is_dir() {
        remove_mark(&layout)?;
    }
    atomic_file::sync_directory(parent)
}

fn is_fresh_name(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.rsplit_once(FRESH_MARK));
    name.is_some_and(|(_, hex)| is_random_hex(hex.as_bytes()))
}

/// Whether a path is a directory without any file in it.
fn is_hollow(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) && !has_files(path)
}

fn has_files(dir: &Path) -> bool {
    let mut entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.any(|entry| {
        entry
            .file_type()
            .is_ok_and(|kind| !kind.is_dir() || has_files(&entry.path()))
    })
}

fn changed_ms(path: &Path) -> i64 {
    let changed = path
        .symlink_metadata()
        .and_then(|meta| meta.modified())
        .ok();
    let since = changed
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}

/// Removes a store, all of which another one holds too, or that nobody wants any more.
///
/// # Errors
/// A file cannot be removed.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is a store, and nothing in it is the user's"
)]
pub fn remove_store(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        // Another process may be removing the same leftover.
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}
