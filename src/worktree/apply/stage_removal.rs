//! Removes a stage, or the leftover stage of a killed process.

use std::io::{self, Read};
use std::time::Duration;

use crate::base::random_name::is_random_name;
use crate::base::threads;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::model::state::entry::OWNER_RWX;
use crate::worktree::WorkTree;
use crate::worktree::sys::{self, Access, Dir, Item, ItemKind};
use crate::worktree::tree_handle::in_writable_root;

pub const STAGE_PREFIX: &str = ".checkpoint-stage-";
/// Prefix of the name of a tree.
pub const TREE_PREFIX: &str = "tree-";

/// Prefixes of the names under which a file system keeps removed files until they are closed.
const HIDDEN: [&[u8]; 2] = [b".fuse_hidden", b".nfs"];
/// Number of attempts to remove a directory that holds such files, [`REMOVAL_PAUSE`] apart.
const REMOVAL_TRIES: usize = 40;
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);
/// Number of names from which a second thread pays off.
const SHARED_FROM_NAMES: usize = 128;

/// Whether a leftover stage holds a file whose bytes are nowhere else, according to `is_known`.
///
/// # Errors
/// I/O errors, or `is_known` failed.
pub fn leftover_has_unsaved(
    work: &WorkTree,
    hex16: &str,
    is_known: &dyn Fn(&mut dyn Read, u64) -> Result<bool>,
) -> Result<bool> {
    let path = stage_path(hex16)?;
    let dir = match work.root().open_child(path.name(), Access::Read) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(work.io("open", &path, error)),
    };
    let mut pending = vec![RelPath::root()];
    while let Some(below) = pending.pop() {
        let failed = |error: io::Error| work.io("read", &path.join_all(&below), error);
        let place = dir.open_below(&below, Access::Read).map_err(failed)?;
        for item in place.list().map_err(failed)? {
            if let Ok((mut file, stat)) = place.open_file(&item.name) {
                if stat.size_bytes > 0 && !is_known(&mut file, stat.size_bytes)? {
                    return Ok(true);
                }
            } else if is_ours_to_enter(&place, &below, &item) {
                pending.push(below.join(&item.name));
            }
        }
    }
    Ok(false)
}

/// Removes the leftover stage of a killed process, if there is one. Follows no symlink.
///
/// # Errors
/// The stage is no directory, an I/O error, or it holds a directory that is neither empty nor a
/// tree of ours: this program never makes one, so it is the user's.
pub fn remove_leftover(work: &WorkTree, hex16: &str) -> Result<()> {
    let path = stage_path(hex16)?;
    match work.root().open_child(path.name(), Access::Read) {
        Ok(dir) => remove(work, &dir, &path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(work.io("open", &path, error)),
    }
}

/// Whether an item is a directory of ours: in the stage itself only a tree, in a tree any.
fn is_ours_to_enter(place: &Dir, below: &RelPath, item: &Item) -> bool {
    (!below.is_root() || is_tree_name(&item.name)) && is_dir(place, &item.name)
}

fn is_dir(place: &Dir, name: &[u8]) -> bool {
    place
        .stat_child(name)
        .is_ok_and(|stat| sys::kind_of(&stat) == ItemKind::Dir)
}

/// Removes an open stage and its content.
pub(in crate::worktree) fn remove(work: &WorkTree, dir: &Dir, path: &RelPath) -> Result<()> {
    // Parents come first; the emptied directories are removed in reverse.
    let mut places = vec![RelPath::root()];
    let mut at = 0;
    while let Some(below) = places.get(at).cloned() {
        let entered = empty(dir, &below).map_err(|(name, error)| {
            let place = path.join_all(&below);
            if name.is_empty() {
                work.io("read", &place, error)
            } else {
                work.io("remove", &place.join(&name), error)
            }
        })?;
        places.extend(entered);
        at += 1;
    }
    for below in places.iter().skip(1).rev() {
        let parent = dir.open_below(&below.parent().unwrap_or_default(), Access::Search);
        let removed = parent.and_then(|parent| parent.rmdir(below.name()));
        removed.map_err(|error| work.io("remove", &path.join_all(below), error))?;
    }
    let mut removed = in_writable_root(work, || work.root().rmdir(path.name()));
    for _ in 0..REMOVAL_TRIES {
        if removed.is_ok() || !holds_only_hidden(dir) {
            break;
        }
        std::thread::sleep(REMOVAL_PAUSE);
        removed = in_writable_root(work, || work.root().rmdir(path.name()));
    }
    removed.map_err(|error| work.io("remove", path, error))?;
    flush_root(work);
    Ok(())
}

/// Whether only hidden files are left: FUSE and NFS rename a removed file until the system knows
/// that it is closed.
fn holds_only_hidden(dir: &Dir) -> bool {
    let is_hidden = |item: &Item| HIDDEN.iter().any(|prefix| item.name.starts_with(prefix));
    dir.list().is_ok_and(|items| items.iter().all(is_hidden))
}

/// Syncs the root: the journal that names the stage is removed next, perhaps on another disk, and
/// after a power loss a stage that reappeared would belong to no journal. A failure is ignored, as
/// an orphaned stage is the worst outcome.
fn flush_root(work: &WorkTree) {
    let root = RelPath::root();
    if work
        .root()
        .open_below(&root, Access::Read)
        .and_then(|root| root.sync())
        .is_err()
    {
        let _ = work.root().sync_file_system();
    }
}

/// The name that could not be removed (empty for the directory itself), and why.
type Refusal = (Vec<u8>, io::Error);

/// Removes all entries of a directory except trees and directories in them, which it returns.
fn empty(stage: &Dir, below: &RelPath) -> std::result::Result<Vec<RelPath>, Refusal> {
    let whole = |error: io::Error| (Vec::new(), error);
    let place = open_for_change(stage, below).map_err(whole)?;
    let items = place.list().map_err(whole)?;
    if items.len() < SHARED_FROM_NAMES {
        return remove_items(&place, below, &items);
    }
    // The file system frees one file while the next name is removed.
    std::thread::scope(|scope| {
        let (one, other) = items.split_at(items.len() / 2);
        let remove_one = || remove_items(&place, below, one);
        let removing = threads::start(scope, remove_one);
        let other = remove_items(&place, below, other);
        let mut left = removing.map_or_else(remove_one, threads::join)?;
        left.extend(other?);
        Ok(left)
    })
}

fn remove_items(
    place: &Dir,
    below: &RelPath,
    items: &[Item],
) -> std::result::Result<Vec<RelPath>, Refusal> {
    let mut left = Vec::new();
    for item in items {
        match place.unlink(&item.name) {
            Ok(()) => {}
            Err(_) if is_ours_to_enter(place, below, item) => left.push(below.join(&item.name)),
            Err(_) if is_dir(place, &item.name) => {
                place
                    .rmdir(&item.name)
                    .map_err(|error| (item.name.to_vec(), error))?;
            }
            Err(error) => return Err((item.name.to_vec(), error)),
        }
    }
    Ok(left)
}

/// Opens a directory for removal of its entries; one rolled back into the stage may lack its
/// owner's permissions.
fn open_for_change(stage: &Dir, below: &RelPath) -> io::Result<Dir> {
    let opened = stage.open_below(below, Access::Read);
    if below.is_root() {
        return opened;
    }
    if let Ok(dir) = &opened
        && dir.stat()?.perm() & OWNER_RWX == OWNER_RWX
    {
        return opened;
    }
    let parent = stage.open_below(&below.parent().unwrap_or_default(), Access::Search)?;
    parent.chmod_child(below.name(), OWNER_RWX)?;
    parent.open_child(below.name(), Access::Read)
}

/// Whether this is the name of a tree in a stage.
pub fn is_tree_name(name: &[u8]) -> bool {
    name.strip_prefix(TREE_PREFIX.as_bytes())
        .is_some_and(|number| number.iter().all(u8::is_ascii_digit))
}

pub fn stage_path(hex16: &str) -> Result<RelPath> {
    let name = format!("{STAGE_PREFIX}{hex16}");
    if !is_stage_name(name.as_bytes()) {
        return Err(Error::unexpected(format!(
            "'{name}' is not a name of a stage"
        )));
    }
    Ok(RelPath::root().join(name.as_bytes()))
}

/// Whether this is the name of a stage.
pub fn is_stage_name(name: &[u8]) -> bool {
    random_part(name).is_some()
}

/// Returns the digits in the name of a stage.
pub fn random_part(name: &[u8]) -> Option<&str> {
    let digits = std::str::from_utf8(name).ok()?.strip_prefix(STAGE_PREFIX)?;
    is_random_name(name, STAGE_PREFIX.as_bytes()).then_some(digits)
}
