//! Small files for other programs below the root: read and replaced whole, through no symlink.
//!
//! Only one process of this program may write at a time: each write removes temporary files that
//! killed processes left.

use std::io::{self, ErrorKind, Read as _, Write as _};

use crate::base::random_name::{is_random_name, random_hex};
use crate::error::{Error, Result};
use crate::model::state::entry::OWNER_RWX;
use crate::model::{RelPath, Stat};
use crate::worktree::WorkTree;
use crate::worktree::sys::{self, Access, Dir, ItemKind, invalid, kind_of};

/// Prefix of the names of temporary files; a random part follows.
pub(super) const TEMPORARY_PREFIX: &[u8] = b".checkpoint-state-";
pub(super) const LARGEST_STATE_FILE_BYTES: u64 = 16 << 20;
/// Mode of new files, less the umask.
const NEW_FILE_MODE: u32 = 0o644;
const NEW_DIR_MODE: u32 = 0o755;

/// Whether this is the name of a temporary file.
pub fn is_temporary(name: &[u8]) -> bool {
    is_random_name(name, TEMPORARY_PREFIX)
}

/// Returns a new name for a temporary file.
pub fn temporary_name() -> Vec<u8> {
    [TEMPORARY_PREFIX, random_hex().as_bytes()].concat()
}

/// Reads a file; `None` if the path does not exist.
///
/// # Errors
/// The file is not regular or too large, or an I/O error.
pub fn read(work: &WorkTree, path: &RelPath) -> Result<Option<Vec<u8>>> {
    let failed = |error| work.io("read", path, error);
    let Some(dir) = open_parent(work, path)? else {
        return Ok(None);
    };
    if stat_regular(work, &dir, path)?.is_none() {
        return Ok(None);
    }
    let (file, stat) = dir.open_file(path.name()).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_STATE_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if stat.size_bytes.max(bytes.len() as u64) > LARGEST_STATE_FILE_BYTES {
        return Err(failed(io::Error::new(
            ErrorKind::FileTooLarge,
            "it is larger than 16 MiB",
        )));
    }
    Ok(Some(bytes))
}

/// Replaces or makes a file atomically. An existing one keeps its mode; other hard links keep the
/// old bytes.
///
/// # Errors
/// The path is no regular file, a parent is no directory, or an I/O error.
pub fn replace(work: &WorkTree, path: &RelPath, bytes: &[u8]) -> Result<()> {
    let failed = |error| work.io("write", path, error);
    let dir = make_parent(work, path)?;
    let before = stat_regular(work, &dir, path)?;
    sweep(&dir).map_err(failed)?;
    let temporary = temporary_name();
    let done = write_aside(&dir, &temporary, before.as_ref(), bytes)
        .and_then(|()| dir.rename_over(&temporary, &dir, path.name()))
        .and_then(|()| dir.sync());
    done.map_err(|error| {
        // Fails harmlessly after the rename.
        let _ = dir.unlink(&temporary);
        failed(error)
    })
}

/// Removes a file; returns whether it existed.
///
/// # Errors
/// The path is no regular file, or an I/O error.
pub fn remove(work: &WorkTree, path: &RelPath) -> Result<bool> {
    let failed = |error| work.io("remove", path, error);
    let Some(dir) = open_parent(work, path)? else {
        return Ok(false);
    };
    if stat_regular(work, &dir, path)?.is_none() {
        return Ok(false);
    }
    let aside = temporary_name();
    dir.rename_no_replace(path.name(), &dir, &aside)
        .and_then(|()| sync_moved(&dir, path.name(), &dir, &aside))
        .map_err(failed)?;
    let _ = dir.unlink(&aside);
    Ok(true)
}

/// Syncs the directories of a file that was just moved; if that fails, it goes back: what may not last
/// counts as not done.
fn sync_moved(dir: &Dir, name: &[u8], target: &Dir, to: &[u8]) -> io::Result<()> {
    let synced = target.sync().and_then(|()| dir.sync());
    synced.inspect_err(|_| drop(target.rename_no_replace(to, dir, name)))
}

/// Moves what is at a path, of any kind, to one that must be free; a symlink is moved itself. Returns
/// `false` if there is nothing.
///
/// # Errors
/// As [`replace`].
pub fn move_any(work: &WorkTree, from: &RelPath, to: &RelPath) -> Result<bool> {
    let Some(dir) = open_parent(work, from)? else {
        return Ok(false);
    };
    if work.stat(from)?.is_none() {
        return Ok(false);
    }
    let target = make_parent(work, to)?;
    let moved = dir.rename_no_replace(from.name(), &target, to.name());
    moved
        .and_then(|()| sync_moved(&dir, from.name(), &target, to.name()))
        .inspect_err(|_| remove_empty_above(work, to))
        .map_err(|error| work.io("move", from, error))?;
    Ok(true)
}

/// As [`move_any`], of a file that holds `known`; another goes back.
///
/// # Errors
/// As [`move_any`] and [`read`].
pub fn move_known(work: &WorkTree, from: &RelPath, to: &RelPath, known: &[u8]) -> Result<()> {
    let is_moved = move_any(work, from, to)?;
    if is_moved && read(work, to)?.is_some_and(|found| found != known) {
        move_any(work, to, from)?;
    }
    Ok(())
}

/// Removes a directory if it is empty; returns whether it did.
///
/// # Errors
/// I/O errors.
pub fn remove_empty_folder(work: &WorkTree, path: &RelPath) -> Result<bool> {
    let Some(dir) = open_parent(work, path)? else {
        return Ok(false);
    };
    match dir.rmdir(path.name()) {
        Ok(()) => Ok(true),
        Err(error) if sys::is_absent(&error) || error.kind() == ErrorKind::DirectoryNotEmpty => {
            Ok(false)
        }
        Err(error) => Err(work.io("remove", path, error)),
    }
}

/// Removes the directories above a path, up to one that is not empty or cannot be removed.
pub fn remove_empty_above(work: &WorkTree, path: &RelPath) {
    let is_gone = |folder: &RelPath| matches!(remove_empty_folder(work, folder), Ok(true));
    path.ancestors().take_while(is_gone).for_each(drop);
}

/// Returns the target of a symlink, if there is one at a path.
pub fn link_target(work: &WorkTree, path: &RelPath) -> Option<String> {
    let text = open_parent(work, path).ok()??.read_link(path.name()).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the sorted names of the directories in a directory; none if it does not exist.
///
/// # Errors
/// I/O errors.
pub fn folders(work: &WorkTree, path: &RelPath) -> Result<Vec<String>> {
    names(work, path, &|kind| kind == ItemKind::Dir)
}

/// Returns the sorted names of all that is in a directory; none if it does not exist.
///
/// # Errors
/// I/O errors.
pub fn entries(work: &WorkTree, path: &RelPath) -> Result<Vec<String>> {
    names(work, path, &|_| true)
}

/// Returns the sorted names of the regular files in a directory; none if it does not exist. Names
/// that are not UTF-8 are skipped.
///
/// # Errors
/// I/O errors.
pub fn list(work: &WorkTree, path: &RelPath) -> Result<Vec<String>> {
    names(work, path, &|kind| kind == ItemKind::File)
}

fn names(
    work: &WorkTree,
    path: &RelPath,
    is_wanted: &dyn Fn(ItemKind) -> bool,
) -> Result<Vec<String>> {
    let failed = |error| work.io("read", path, error);
    let dir = match work.root().open_below(path, Access::Read) {
        Err(error) if sys::is_absent(&error) => return Ok(Vec::new()),
        opened => opened.map_err(failed)?,
    };
    let mut names = Vec::new();
    for item in dir.list().map_err(failed)? {
        let kind = match item.kind {
            ItemKind::Unknown => dir
                .stat_child(&item.name)
                .map_or(ItemKind::Unknown, |stat| kind_of(&stat)),
            kind => kind,
        };
        let name = std::str::from_utf8(&item.name)
            .ok()
            .filter(|_| is_wanted(kind));
        names.extend(
            name.filter(|name| !is_temporary(name.as_bytes()))
                .map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}

/// Whether a file could be there: no symlink or file blocks the way.
pub fn is_reached(work: &WorkTree, path: &RelPath) -> bool {
    open_parent(work, path).is_ok()
}

/// Opens the parent directory; `None` if it does not exist.
pub(super) fn open_parent(work: &WorkTree, path: &RelPath) -> Result<Option<Dir>> {
    let parent = parent_of(path)?;
    match work.root().open_below(&parent, Access::Read) {
        Err(error) if sys::is_absent(&error) => no_symlink_on_the_way(work, &parent).map(|()| None),
        opened => opened
            .map(Some)
            .map_err(|error| work.io("open", &parent, error)),
    }
}

/// Fails if a symlink or file blocks the way: the path must not pass for absent, or the caller
/// would write over it.
fn no_symlink_on_the_way(work: &WorkTree, parent: &RelPath) -> Result<()> {
    for above in parent.ancestors().chain([parent.clone()]) {
        if let Some(stat) = work.stat(&above)?
            && kind_of(&stat) != ItemKind::Dir
        {
            return Err(work.io(
                "open",
                &above,
                io::Error::new(ErrorKind::NotADirectory, "it is not a directory"),
            ));
        }
    }
    Ok(())
}

fn parent_of(path: &RelPath) -> Result<RelPath> {
    path.parent()
        .ok_or_else(|| Error::unexpected("the root is not a file"))
}

/// Opens the parent directory of a file, making and syncing missing directories.
pub(super) fn make_parent(work: &WorkTree, path: &RelPath) -> Result<Dir> {
    let mut dir = work.dir(&RelPath::root())?;
    let mut reached = RelPath::root();
    for name in parent_of(path)?.components() {
        reached = reached.join(name);
        dir = enter(&dir, name).map_err(|error| work.io("open", &reached, error))?;
    }
    Ok(dir)
}

fn enter(above: &Dir, name: &[u8]) -> io::Result<Dir> {
    match above.open_child(name, Access::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match above.make_dir_with(name, NEW_DIR_MODE) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let finish = || {
        let perm = above.stat_child(name)?.perm();
        if perm & OWNER_RWX != OWNER_RWX {
            above.chmod_child(name, perm | OWNER_RWX)?;
        }
        above.sync()?;
        above.open_child(name, Access::Read)
    };
    finish().inspect_err(|_| drop(above.rmdir(name)))
}

/// Returns the stat of a file, refusing anything but a regular one.
pub(super) fn stat_regular(work: &WorkTree, dir: &Dir, path: &RelPath) -> Result<Option<Stat>> {
    match dir.stat_child(path.name()) {
        Ok(stat) if kind_of(&stat) == ItemKind::File => Ok(Some(stat)),
        Ok(_) => Err(work.io("use", path, invalid("it is not a regular file"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(work.io("look at", path, error)),
    }
}

/// Removes what killed processes left in a directory.
pub fn sweep_folder(work: &WorkTree, path: &RelPath) {
    if let Ok(dir) = work.root().open_below(path, Access::Read) {
        let _ = sweep(&dir);
    }
}

pub(super) fn sweep(dir: &Dir) -> io::Result<()> {
    for item in dir.list()?.iter().filter(|item| is_temporary(&item.name)) {
        // A leftover that cannot be removed does no harm.
        let _ = dir.unlink(&item.name);
    }
    Ok(())
}

pub(super) fn write_aside(
    dir: &Dir,
    name: &[u8],
    before: Option<&Stat>,
    bytes: &[u8],
) -> io::Result<()> {
    let mut file = dir.create_file_with(name, NEW_FILE_MODE)?;
    file.write_all(bytes)?;
    if let Some(before) = before {
        sys::set_file_mode(&file, before.perm())?;
    }
    file.sync_all()
}

/// Replaces or makes a file if it still holds `known` (`None`: does not exist); otherwise returns
/// `false` and changes nothing. Concurrent writes of others are detected or replace ours.
///
/// # Errors
/// As [`super::state_file::replace`].
pub fn replace_known(
    work: &WorkTree,
    path: &RelPath,
    known: Option<&[u8]>,
    bytes: &[u8],
) -> Result<bool> {
    let failed = |error| work.io("write", path, error);
    let dir = make_parent(work, path)?;
    let before = stat_regular(work, &dir, path)?;
    if before.is_some() != known.is_some() {
        return Ok(false);
    }
    sweep(&dir).map_err(failed)?;
    let temporary = temporary_name();
    let done = write_aside(&dir, &temporary, before.as_ref(), bytes)
        .and_then(|()| exchange_known(&dir, &temporary, path.name(), known))
        .and_then(|is_done| {
            let synced = dir.sync().map(|()| is_done);
            // What may not last is taken back.
            synced.inspect_err(|_| {
                let _ = match known {
                    Some(_) if is_done => dir.rename_exchange(&temporary, &dir, path.name()),
                    None if is_done => dir.unlink(path.name()),
                    _ => Ok(()),
                };
            })
        });
    // By now the replaced file, or ours if it was not placed.
    let _ = dir.unlink(&temporary);
    done.map_err(failed)
}

/// Exchanges `ours` with a file that should hold `known`; returns whether it did. The file taken
/// out is checked afterwards, as another process may have written between check and rename.
fn exchange_known(dir: &Dir, ours: &[u8], name: &[u8], known: Option<&[u8]>) -> io::Result<bool> {
    let Some(known) = known else {
        return match dir.rename_no_replace(ours, dir, name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            done => done.map(|()| true),
        };
    };
    match dir.rename_exchange(ours, dir, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        done => done?,
    }
    let is_known = holds(dir, ours, known);
    if !matches!(is_known, Ok(true)) {
        dir.rename_exchange(ours, dir, name)?;
    }
    is_known
}

fn holds(dir: &Dir, name: &[u8], known: &[u8]) -> io::Result<bool> {
    let (file, _) = dir.open_file(name)?;
    let mut found = Vec::new();
    file.take(LARGEST_STATE_FILE_BYTES)
        .read_to_end(&mut found)?;
    Ok(found == known)
}

/// Removes a file if it still holds `known`; otherwise it stays and `false` is returned.
///
/// # Errors
/// As [`super::state_file::remove`].
pub fn remove_known(work: &WorkTree, path: &RelPath, known: &[u8]) -> Result<bool> {
    let failed = |error| work.io("remove", path, error);
    let Some(dir) = open_parent(work, path)? else {
        return Ok(true);
    };
    let aside = temporary_name();
    match dir.rename_no_replace(path.name(), &dir, &aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        done => done.map_err(failed)?,
    }
    let is_known = holds(&dir, &aside, known);
    if !matches!(is_known, Ok(true)) {
        match dir.rename_no_replace(&aside, &dir, path.name()) {
            // Another process wrote the file again; its version is newer.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => done.map_err(failed)?,
        }
    }
    let is_known = is_known.and_then(|is_known| {
        sync_moved(&dir, path.name(), &dir, &aside)?;
        Ok(is_known)
    });
    let _ = dir.unlink(&aside);
    is_known.map_err(failed)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::path;

    fn names_in(dir: &std::path::Path) -> usize {
        std::fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn what_is_written_is_read_and_keeps_its_mode() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let (file, at) = (path("a/b/state.json"), temp.path().join("a/b/state.json"));
        assert_eq!(read(&work, &file).unwrap(), None);
        replace(&work, &file, b"one").unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::fs::hard_link(&at, temp.path().join("other")).unwrap();
        let left = temp.path().join("a/b/.checkpoint-state-0123456789abcdef");
        std::fs::write(left, "left").unwrap();
        replace(&work, &file, b"two").unwrap();
        assert_eq!(read(&work, &file).unwrap().as_deref(), Some(&b"two"[..]));
        let mode = std::fs::metadata(&at).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
        assert_eq!(std::fs::read(temp.path().join("other")).unwrap(), b"one");
        assert_eq!(names_in(&temp.path().join("a/b")), 1);
        let grown = std::fs::File::create(&at).unwrap();
        grown.set_len(LARGEST_STATE_FILE_BYTES + 1).unwrap();
        read(&work, &file).unwrap_err();
        replace(&work, &path("top"), b"x").unwrap();
    }

    #[test]
    fn files_are_listed_moved_and_removed() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        for name in "d/b d/a d/.checkpoint-state-0123456789abcdef d/sub/c".split(' ') {
            replace(&work, &path(name), b"x").unwrap();
        }
        assert_eq!(list(&work, &path("d")).unwrap(), ["a", "b"]);
        assert!(list(&work, &path("none")).unwrap().is_empty());
        assert!(move_any(&work, &path("d/a"), &path("failed/deep/a")).unwrap());
        assert!(!move_any(&work, &path("d/a"), &path("failed/deep/a")).unwrap());
        move_any(&work, &path("d/b"), &path("failed/deep/a")).unwrap_err();
        assert!(remove(&work, &path("d/b")).unwrap() && !remove(&work, &path("d/b")).unwrap());
        assert!(!remove(&work, &path("none/b")).unwrap());
        assert!(temp.path().join("failed/deep/a").exists());
    }

    #[test]
    fn nothing_is_reached_through_a_symlink_and_only_files_are_touched() {
        let temp = place("root/dir/ outside/f=theirs root/away@../outside root/link@../outside/f");
        let (root, outside) = (temp.path().join("root"), temp.path().join("outside"));
        let work = WorkTree::open(&root).unwrap();
        for place in ["away/f", "away/new", "link", "dir", "link/x"].map(path) {
            read(&work, &place).unwrap_err();
            replace(&work, &place, b"x").unwrap_err();
            remove(&work, &place).unwrap_err();
        }
        for place in ["away/f", "away/new", "link/x"].map(path) {
            move_any(&work, &place, &path("moved")).unwrap_err();
        }
        replace(&work, &path("ours"), b"x").unwrap();
        move_any(&work, &path("ours"), &path("away/ours")).unwrap_err();
        assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"theirs");
        assert_eq!(names_in(&outside), 1);
        assert!(root.join("ours").exists());
    }

    #[test]
    fn only_what_is_known_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let (path, at) = (path("a/state.json"), temp.path().join("a/state.json"));
        let write = |known: Option<&str>, bytes: &str| {
            let known = known.map(str::as_bytes);
            let is_done = replace_known(&work, &path, known, bytes.as_bytes()).unwrap();
            assert_eq!(names_in(&temp.path().join("a")), usize::from(at.exists()));
            (is_done, std::fs::read_to_string(&at).unwrap_or_default())
        };
        assert_eq!(write(Some("x"), "one"), (false, String::new()));
        assert_eq!(write(None, "one"), (true, "one".into()));
        assert_eq!(write(None, "two"), (false, "one".into()));
        assert_eq!(write(Some("other"), "two"), (false, "one".into()));
        assert_eq!(write(Some("one"), "two"), (true, "two".into()));
        assert!(!remove_known(&work, &path, b"one").unwrap() && at.exists());
        assert!(remove_known(&work, &path, b"two").unwrap() && !at.exists());
        assert!(remove_known(&work, &path, b"two").unwrap());
    }
}
