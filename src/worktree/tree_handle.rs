//! The root as an open directory: the only access to the user's files.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::{RelPath, Stat};
use crate::worktree::Root;
use crate::worktree::sys::{self, Access, Dir};

/// Bits that the owner needs to make and remove names in a directory.
pub const OWNER_WX: u32 = 0o300;

/// The root of a working directory, held open.
#[derive(Debug)]
pub struct WorkTree {
    path: PathBuf,
    root: Dir,
    stat: Stat,
    mount: Option<u64>,
}

impl WorkTree {
    /// Opens a root by its canonical path.
    ///
    /// # Errors
    /// It is no directory that can be opened, or a component became a symlink since it was resolved.
    pub fn open_root(root: &Root) -> Result<Self> {
        Self::of(root.path(), Dir::open_canonical(root.path()))
    }

    /// # Errors
    /// `path` is no directory that can be opened.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(path, Dir::open_root(path))
    }

    fn of(path: &Path, opened: io::Result<Dir>) -> Result<Self> {
        let root = opened.map_err(|error| {
            if sys::is_absent(&error) {
                Error::root_missing(path)
            } else {
                Error::tree_io("read", path, error)
            }
        })?;
        Self::of_open(path.to_path_buf(), root)
    }

    fn of_open(path: PathBuf, root: Dir) -> Result<Self> {
        let looked = root.stat_with_mount();
        let (stat, mount) = looked.map_err(|error| Error::tree_io("look at", &path, error))?;
        Ok(Self {
            path,
            root,
            stat,
            mount,
        })
    }

    pub fn root(&self) -> &Dir {
        &self.root
    }

    /// Opens the directory at a path, following no symlink.
    ///
    /// # Errors
    /// The path does not exist, a component is no directory (perhaps a symlink), or an I/O error.
    pub fn dir(&self, path: &RelPath) -> Result<Dir> {
        self.root
            .open_below(path, Access::Read)
            .map_err(|error| self.io("open", path, error))
    }

    /// Opens the directory at a path as a root of its own; it stays the same if the path is moved.
    ///
    /// # Errors
    /// As [`Self::dir`].
    pub fn below(&self, path: &RelPath) -> Result<Self> {
        self.with_root(path, self.dir(path)?)
    }

    /// As [`Self::below`], of a directory that is open already.
    ///
    /// # Errors
    /// I/O errors.
    pub fn with_root(&self, path: &RelPath, root: Dir) -> Result<Self> {
        Self::of_open(self.shown(path), root)
    }

    /// Returns the stat of a path, following no symlink; `None` if it does not exist.
    ///
    /// # Errors
    /// I/O errors.
    pub fn stat(&self, path: &RelPath) -> Result<Option<Stat>> {
        let stat = match path.parent() {
            None => self.root.stat(),
            Some(parent) if parent.is_root() => sys::stat_with_links(&self.root, path.name()),
            Some(parent) => self
                .root
                .open_below(&parent, Access::Search)
                .and_then(|dir| sys::stat_with_links(&dir, path.name())),
        };
        match stat {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if sys::is_absent(&error) => Ok(None),
            Err(error) => Err(self.io("look at", path, error)),
        }
    }

    /// Whether a directory of this stat and mount id is on another mount than the root.
    pub fn is_other_mount(&self, stat: &Stat, mount: Option<u64>) -> bool {
        match (self.mount, mount) {
            (Some(ours), Some(theirs)) => ours != theirs,
            _ => stat.dev != self.stat.dev,
        }
    }

    /// Whether the path of the root still leads to the directory that was opened.
    ///
    /// # Errors
    /// It leads nowhere or to another one.
    pub fn check_still_there(&self) -> Result<()> {
        let now = Dir::open_root(&self.path).and_then(|dir| dir.stat());
        match now {
            Ok(now) if sys::is_same_place(&now, &self.stat) => Ok(()),
            _ => Err(Error::root_missing(&self.path)),
        }
    }

    /// Returns the full path for messages; never to be opened.
    pub fn shown(&self, path: &RelPath) -> PathBuf {
        place_below(&self.path, path)
    }

    /// Makes the error of a failed action at a path.
    pub fn io(&self, action: &'static str, path: &RelPath, source: std::io::Error) -> Error {
        Error::tree_io(action, &self.shown(path), source)
    }
}

/// Returns the path of what lies below a directory.
pub fn place_below(dir: &Path, path: &RelPath) -> PathBuf {
    let mut place = dir.to_path_buf();
    for name in path.components() {
        #[cfg(unix)]
        place.push(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(name));
        #[cfg(not(unix))]
        place.push(String::from_utf8_lossy(name).as_ref());
    }
    place
}

/// Stats many paths in turn, keeping the last parent directory open; `None` if it is absent.
pub struct StatReader<'w> {
    work: &'w WorkTree,
    held: Option<(RelPath, Option<Dir>)>,
}

impl<'w> StatReader<'w> {
    pub fn new(work: &'w WorkTree) -> Self {
        Self { work, held: None }
    }

    /// As [`WorkTree::stat`].
    ///
    /// # Errors
    /// As [`WorkTree::stat`].
    pub fn stat(&mut self, path: &RelPath) -> Result<Option<Stat>> {
        let Some(parent) = path.parent() else {
            return self.work.stat(path);
        };
        let looked = match self.held.take().filter(|(held, _)| *held == parent) {
            Some((_, dir)) => Ok(dir),
            None => match self.work.root.open_below(&parent, Access::Search) {
                Err(error) if sys::is_absent(&error) => Ok(None),
                opened => opened.map(Some),
            },
        };
        let held = looked.map(|dir| self.held.insert((parent, dir)).1.as_ref());
        match held.and_then(|dir| dir.map(|dir| dir.stat_child(path.name())).transpose()) {
            Err(error) if sys::is_absent(&error) => Ok(None),
            Err(error) => Err(self.work.io("look at", path, error)),
            stat => Ok(stat.unwrap_or_default()),
        }
    }
}

/// Runs `act` in the root; if permission is denied, makes the root writable for that time.
pub fn in_writable_root<T>(work: &WorkTree, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let root = work.root();
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let perm = root.stat()?.perm();
            if perm & OWNER_WX == OWNER_WX || root.chmod(perm | OWNER_WX).is_err() {
                return Err(error);
            }
            let done = act();
            root.chmod(perm)?;
            done
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::error::Code;
    use crate::model::tests::path;

    #[test]
    fn what_cannot_be_reached_is_absent() {
        let temp = place("file=x");
        let work = WorkTree::open(temp.path()).unwrap();
        assert_eq!(work.stat(&path("file")).unwrap().unwrap().size_bytes, 1);
        assert!(work.stat(&RelPath::root()).unwrap().is_some());
        let mut reader = StatReader::new(&work);
        for absent in ["none", "none/a", "none/b", "file/below"].map(path) {
            assert!(work.stat(&absent).unwrap().is_none());
            assert!(reader.stat(&absent).unwrap().is_none());
        }
        assert!(reader.stat(&path("file")).unwrap().is_some());
        assert!(work.dir(&path("file")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_on_the_way_is_not_followed() {
        let temp = place("real/in/f=x link@real");
        let work = WorkTree::open(temp.path()).unwrap();
        assert!(work.stat(&path("real/in/f")).unwrap().is_some());
        assert!(work.stat(&path("link/in/f")).unwrap().is_none());
        let link = work.stat(&path("link")).unwrap().unwrap();
        assert_eq!(sys::kind_of(&link), sys::ItemKind::Symlink);
        assert!(work.dir(&path("link/in")).is_err());
    }

    #[test]
    fn a_root_that_was_replaced_is_noticed() {
        let temp = place("root/");
        let root = temp.path().join("root");
        let work = WorkTree::open(&root).unwrap();
        assert!(work.check_still_there().is_ok());
        std::fs::rename(&root, temp.path().join("moved")).unwrap();
        let is_missed = || {
            work.check_still_there()
                .is_err_and(|why| why.code == Code::ROOT_MISSING)
        };
        assert!(is_missed());
        std::fs::create_dir(&root).unwrap();
        assert!(is_missed());
    }
}
