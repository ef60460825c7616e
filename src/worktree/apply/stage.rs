//! Staging directory in the root: holds new content until it is complete, and replaced files until
//! the apply ends.
//!
//! Single files are named by number. A directory that is new as a whole is staged as a tree,
//! `tree-<number>`, and moved to its path by one rename.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::base::mutex::lock;
use crate::base::random_name::is_random_name;
use crate::base::{Interrupt, threads};
use crate::error::{Error, Result};
use crate::model::state::entry::OWNER_RWX;
use crate::model::{RelPath, Stat};
use crate::worktree::apply::materialize::{Content, materialize};
use crate::worktree::sys::{self, Access, Dir, Item, ItemKind};
use crate::worktree::tree_handle::in_writable_root;
use crate::worktree::{WantedTree, WorkTree};

/// Upper bound on files and directories synced one by one; more are synced by one call for the
/// whole file system.
const FILES_SYNCED_SINGLY: usize = 16;

/// Returns the name of a tree in the stage.
pub fn tree_name(number: usize) -> String {
    format!("{TREE_PREFIX}{number}")
}

/// Whether a directory with these permission bits can be filled and moved.
pub fn can_be_moved(perm: u32) -> bool {
    perm & OWNER_RWX == OWNER_RWX
}

/// An open stage. It stays on disk until it is discarded.
#[derive(Debug)]
pub struct Stage {
    inside: WorkTree,
    path: RelPath,
    unsynced: Mutex<Unsynced>,
}

/// Content not yet synced.
#[derive(Debug, Default)]
struct Unsynced {
    /// At most [`FILES_SYNCED_SINGLY`] open files, to be synced one by one.
    files: Vec<File>,
    count: usize,
}

impl Stage {
    /// Makes `.checkpoint-stage-<hex16>` in the root, accessible to its owner only.
    ///
    /// # Errors
    /// The stage exists, or the root cannot be written.
    pub fn create(work: &WorkTree, hex16: &str) -> Result<Self> {
        let path = stage_path(hex16)?;
        let make = |name: &[u8]| -> io::Result<Dir> {
            work.root().make_dir(name)?;
            let dir = work.root().open_child(name, Access::Read)?;
            dir.chmod(0o700)?;
            Ok(dir)
        };
        let dir = in_writable_root(work, || make(path.name()))
            .map_err(|error| work.io("make", &path, error))?;
        Ok(Self {
            inside: work.with_root(&path, dir)?,
            path,
            unsynced: Mutex::default(),
        })
    }

    pub fn dir(&self) -> &Dir {
        self.inside.root()
    }

    pub fn inside(&self) -> &WorkTree {
        &self.inside
    }

    pub fn path(&self) -> &RelPath {
        &self.path
    }

    /// Fills it; see [`materialize`].
    ///
    /// # Errors
    /// As [`materialize`].
    pub fn fill(
        &self,
        wanted: &WantedTree<'_>,
        content: &Content<'_>,
        stop: &Interrupt,
    ) -> Result<Vec<Stat>> {
        lock(&self.unsynced).count += wanted.dirs.len();
        let keep = |file| self.note_unsynced(file);
        materialize(&self.inside, wanted, content, &keep, stop)
    }

    /// Returns the path in the stage of a user's file that an emulated exchange moved out and could
    /// not put back.
    pub(in crate::worktree) fn half_exchanged(&self) -> Option<RelPath> {
        let items = self.dir().list().ok()?;
        let found = items
            .iter()
            .find(|item| item.name.ends_with(sys::SWAP_SUFFIX))?;
        Some(self.path.join(&found.name))
    }

    fn note_unsynced(&self, file: File) -> io::Result<()> {
        let mut unsynced = lock(&self.unsynced);
        unsynced.count += 1;
        if unsynced.count <= FILES_SYNCED_SINGLY {
            unsynced.files.push(file);
            return Ok(());
        }
        drop(unsynced);
        if cfg!(target_os = "linux") {
            Ok(())
        } else {
            file.sync_all()
        }
    }

    /// Whether one sync of the whole file system is cheaper than one for each file.
    pub(in crate::worktree) fn holds_many(&self) -> bool {
        lock(&self.unsynced).count > FILES_SYNCED_SINGLY
    }

    /// Syncs the files made in the stage, wherever they are by now.
    ///
    /// # Errors
    /// I/O errors.
    pub(in crate::worktree) fn sync_files(&self) -> io::Result<()> {
        lock(&self.unsynced)
            .files
            .iter()
            .try_for_each(File::sync_all)
    }

    /// Removes the stage and its remaining content.
    ///
    /// # Errors
    /// I/O errors, or the stage holds something that this program never put there.
    pub fn discard(self, work: &WorkTree) -> Result<()> {
        // Some systems cannot remove open files.
        lock(&self.unsynced).files.clear();
        remove(work, self.dir(), &self.path)
    }
}

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

/// Interval between write-backs.
const GATHERED_FOR: Duration = Duration::from_millis(120);

/// Syncs the file system of `dir` in the background until the result is dropped, which does not wait
/// for a sync under way. Without a thread, the final sync takes longer. Write errors are not reported
/// here; the caller syncs afterwards.
pub fn write_back(dir: &Dir) -> Sender<()> {
    let (ends, ended) = mpsc::channel();
    // A separate descriptor: a write error reported here is reported again through the others.
    if let Ok(own) = dir.open_below(&RelPath::root(), Access::Read) {
        let goes_on = move || ended.recv_timeout(GATHERED_FOR) == Err(RecvTimeoutError::Timeout);
        threads::detach(move || while goes_on() && matches!(own.sync_file_system(), Ok(true)) {});
    }
    ends
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::tests::place;
    use crate::model::state::entry::{Entry, Kind};
    use crate::model::tests::{file, path};
    #[cfg(unix)]
    use crate::worktree::apply::stage::{STAGE_PREFIX, is_stage_name};

    const HEX: &str = "0123456789abcdef";

    fn stage_in(temp: &tempfile::TempDir) -> (WorkTree, Stage) {
        let work = WorkTree::open(temp.path()).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        (work, stage)
    }

    fn put(stage: &Stage, kind: Kind, text: &str) -> Stat {
        let entry = Entry {
            kind,
            ..file(0, 0o4751)
        };
        let wanted = WantedTree {
            top: None,
            dirs: &BTreeMap::new(),
            files: &[(path("0"), entry)],
            special_bits: false,
        };
        let content = |_: usize, out: &mut dyn std::io::Write| {
            out.write_all(text.as_bytes()).unwrap();
            Ok(text.len() as u64)
        };
        let stats = stage.fill(&wanted, &content, &Interrupt::default());
        stats.unwrap()[0]
    }

    #[test]
    fn a_stage_is_made_once_and_removed_whole() {
        let temp = place("");
        let (work, stage) = stage_in(&temp);
        assert!(Stage::create(&work, HEX).is_err());
        let stat = put(&stage, Kind::File, "abc");
        assert_eq!(stat.size_bytes, 3);
        if cfg!(unix) {
            assert_eq!(stat.perm(), 0o751);
        }
        stage.sync_files().unwrap();
        drop(stage);
        remove_leftover(&work, HEX).unwrap();
        remove_leftover(&work, HEX).unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn removal_of_a_leftover_follows_no_link_and_takes_nobody_elses_directory() {
        let (temp, outside) = (place(""), place("keep=x"));
        let (work, stage) = stage_in(&temp);
        let target = outside.path().to_str().unwrap().to_owned();
        put(&stage, Kind::Symlink, &target);
        drop(stage);
        let foreign = temp.path().join(format!("{STAGE_PREFIX}{HEX}/theirs"));
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("f"), "x").unwrap();
        assert!(remove_leftover(&work, HEX).is_err());
        assert!(foreign.join("f").exists());
        std::fs::remove_file(foreign.join("f")).unwrap();
        remove_leftover(&work, HEX).unwrap();
        assert!(outside.path().join("keep").exists());
        let link = temp.path().join(format!("{STAGE_PREFIX}{HEX}"));
        std::os::unix::fs::symlink(outside.path(), link).unwrap();
        assert!(remove_leftover(&work, HEX).is_err());
        assert!(outside.path().join("keep").exists());
    }

    #[test]
    fn only_sixteen_hex_digits_make_a_stage_name() {
        assert!(is_stage_name(b".checkpoint-stage-0123456789abcdef"));
        for digits in ["", "0123456789abcdeg", "0123456789abcdef0"] {
            let name = format!(".checkpoint-stage-{digits}");
            assert!(!is_stage_name(name.as_bytes()), "{name}");
        }
        assert!(!is_stage_name(b"x"));
    }
}
