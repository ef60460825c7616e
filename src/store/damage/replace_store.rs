//! Replaces a damaged store, which is kept beside the new one, and cleans up after a kill.
//!
//! The new store is built in `<name>.fresh-<16 hex>` and is whole once it has a description. Then it
//! gets the name `<name>.corrupt-<time>` and is exchanged with the damaged one, in one step where the
//! system allows it. A store that the system does not rename (a mount point, a lower layer of an
//! overlay) is copied the same way, then emptied.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::random_name::{is_random_hex, random_hex};
use crate::base::time::compact_utc;
use crate::error::{Error, Result};
use crate::store::files::{atomic_file, directories};
use crate::store::objects::loose_files::names_in;
use crate::store::objects::pack::pack_list::mtime_ns;
use crate::store::{Layout, lock};

/// Separates a store's name from the time in the name of a damaged copy.
pub const KEPT_MARK: &str = ".corrupt-";
const FRESH_MARK: &str = ".fresh-";

/// An unused name for a new store beside this one.
pub fn fresh_path(place: &Path) -> PathBuf {
    sibling(place, &format!("{FRESH_MARK}{}", random_hex()))
}

/// An unused path for a damaged store; `time_ms` is when the damage was found.
pub fn set_aside_path(place: &Path, time_ms: i64) -> PathBuf {
    let first = format!("{KEPT_MARK}{}", compact_utc(time_ms));
    let mut path = sibling(place, &first);
    let mut number = 1;
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = sibling(place, &format!("{first}-{number}"));
    }
    path
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

/// Puts a whole new store into place, keeping the old one as `kept`.
///
/// # Errors
/// A step failed. Then both stores exist, and the next writer settles them.
pub fn put_in_place(fresh: &Path, place: &Path, kept: &Path) -> Result<()> {
    let parent = place.parent().unwrap_or(place);
    atomic_file::rename(fresh, kept)?;
    if !atomic_file::exchange(kept, place)? {
        atomic_file::rename(kept, fresh)?;
        move_store(place, kept)?;
        atomic_file::sync_directory(parent)?;
        put(fresh, place)?;
    }
    atomic_file::sync_directory(parent)
}

/// Renames a store; where the system cannot, copies it, and empties the old one when the copy is
/// durable.
fn move_store(from: &Path, to: &Path) -> Result<()> {
    match atomic_file::rename(from, to) {
        Err(failed) if cannot_be_renamed(&failed) => {
            let fresh = fresh_path(to);
            copy_store(from, &fresh)?;
            atomic_file::rename(&fresh, to)?;
            empty(from)
        }
        done => done,
    }
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

/// Copies a store; its description comes last, when all else is durable.
fn copy_store(from: &Path, to: &Path) -> Result<()> {
    let description = Layout::new(from.to_path_buf()).description();
    copy_files(from, to, &description)?;
    if description.symlink_metadata().is_ok() {
        let copy = Layout::new(to.to_path_buf());
        atomic_file::link_or_copy(&description, &copy.description())?;
        atomic_file::sync_directory(&copy.own())?;
    }
    Ok(())
}

fn copy_files(from: &Path, to: &Path, left_out: &Path) -> Result<()> {
    directories::create_private(to)?;
    for name in names_in(from)? {
        let (old, new) = (from.join(&name), to.join(&name));
        let found = old.symlink_metadata().map_err(Error::io("read", &old))?;
        if found.is_dir() {
            copy_files(&old, &new, left_out)?;
        } else if old != left_out {
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
/// Returns whether another store is in the place now.
///
/// # Errors
/// A store cannot be renamed or removed.
pub fn settle(place: &Path, wait: Duration) -> Result<bool> {
    let left = unfinished(place);
    let (Some(parent), false) = (place.parent(), left.is_empty()) else {
        return Ok(false);
    };
    let Ok(_nobody_else) = lock::acquire_directory(parent, wait) else {
        return Ok(false);
    };
    let mut is_replaced = false;
    for path in left
        .iter()
        .filter(|path| is_fresh_name(path) && path.symlink_metadata().is_ok())
    {
        let aside = || set_aside_path(place, changed_ms(path));
        if !is_described(path) {
            remove_store(path)?;
        } else if place.symlink_metadata().is_err() || is_hollow(place) {
            empty(place)?;
            put(path, place)?;
            is_replaced = true;
        } else if is_described(place) {
            // It may hold files of a working directory that has changed since, so it is kept too.
            atomic_file::rename(path, &aside())?;
        } else {
            // Damaged, or a mount point of which the filling was interrupted.
            put_in_place(path, place, &aside())?;
            is_replaced = true;
        }
    }
    atomic_file::sync_directory(parent)?;
    Ok(is_replaced)
}

fn is_described(store: &Path) -> bool {
    let description = Layout::new(store.to_path_buf()).description();
    description.symlink_metadata().is_ok()
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
    let found = path.symlink_metadata();
    found.map_or(0, |found| mtime_ns(&found) / 1_000_000)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_random_name_behind_our_mark_is_ours() {
        let ours = fresh_path(Path::new("/store"));
        assert!(is_fresh_name(&ours), "{}", ours.display());
        for other in ["/store", "/store.fresh-", "/store.fresh-vegetables"] {
            assert!(!is_fresh_name(Path::new(other)), "{other}");
        }
    }
}
