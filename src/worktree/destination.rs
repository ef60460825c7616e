//! The directory of `restore --to`: checks whether it may be written to, and makes or opens it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::model::state::rel_path::is_dot_git;
use crate::worktree::root;
use crate::worktree::sys::{self, Dir};
use crate::worktree::{Root, WorkTree};

/// An empty or missing directory, by its canonical path.
#[derive(Clone, Debug)]
pub struct Destination {
    path: PathBuf,
    exists: bool,
}

impl Destination {
    /// Resolves symlinks in an existing path, including the last component; a new directory needs
    /// an existing parent.
    ///
    /// # Errors
    /// `bad_destination` if the path is no directory, is not empty, or cannot be made.
    pub fn resolve(typed: &Path) -> Result<Self> {
        let refuse = |why: &str| Error::bad_destination(typed, why.to_owned());
        match typed.symlink_metadata() {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => return Self::new_one(typed),
            Err(e) if e.kind() == ErrorKind::NotADirectory => {
                return Err(refuse("its parent is not a directory"));
            }
            Err(e) => return Err(Error::io("look at", typed)(e)),
        }
        let path = match root::canonical(typed) {
            Ok(path) => path,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(refuse("it is a symlink that leads nowhere"));
            }
            Err(e) => return Err(Error::io("find", typed)(e)),
        };
        if !path.is_dir() {
            return Err(refuse("it is not a directory"));
        }
        if path
            .read_dir()
            .map_err(Error::io("read", &path))?
            .next()
            .is_some()
        {
            return Err(refuse("it is not empty"));
        }
        Ok(Self { path, exists: true })
    }

    fn new_one(typed: &Path) -> Result<Self> {
        let missing = || Error::bad_destination(typed, "its parent is missing");
        Ok(Self {
            path: root::in_canonical_parent(typed).ok_or_else(missing)?,
            exists: false,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it lies inside the root, where the next checkpoint would capture it.
    ///
    /// # Errors
    /// `bad_destination` for the root itself, an existing directory in it, and any path in
    /// a `.git`, under the base or in a store.
    pub fn check_location(&self, root: &Root, base: &Path) -> Result<bool> {
        let refuse = |why: &str| Error::bad_destination(&self.path, why.to_owned());
        let is = |place: &Path, other: &Path| {
            place == other
                || root::identity(place).is_some_and(|found| root::identity(other) == Some(found))
        };
        if is(&self.path, root.path()) {
            return Err(refuse("it is the working directory itself"));
        }
        if self
            .path
            .components()
            .any(|name| is_dot_git(name.as_os_str().as_encoded_bytes()))
        {
            return Err(refuse("it is at or below a .git"));
        }
        let base = root::canonical(base).unwrap_or_else(|_| base.to_path_buf());
        if self
            .path
            .ancestors()
            .any(|above| is(above, &base) || root::is_store(above))
        {
            return Err(refuse("the stores of all checkpoints are there"));
        }
        let is_inside = self
            .path
            .ancestors()
            .skip(1)
            .any(|above| is(above, root.path()));
        if is_inside && self.exists {
            return Err(refuse("it is a part of the working directory"));
        }
        Ok(is_inside)
    }

    /// Finds what [`Self::claim`] would be refused.
    ///
    /// # Errors
    /// `bad_destination` if nothing can be written there.
    pub fn check_writable(&self) -> Result<()> {
        let above = self.path.parent().filter(|_| !self.exists);
        let place = above.unwrap_or(&self.path);
        let dir = Dir::open_root(place).map_err(Error::io("open", place))?;
        dir.refusal_to_write().map_or(Ok(()), |why| {
            Err(Error::bad_destination(&self.path, sys::reason(&why)))
        })
    }

    /// Opens the directory, making it first if it is missing.
    ///
    /// # Errors
    /// It cannot be made or opened, or is no longer empty.
    pub fn claim(&self) -> Result<Claimed> {
        if self.exists {
            let work = WorkTree::open(&self.path)?;
            let items = work.root().list().map_err(Error::io("read", &self.path))?;
            if !items.is_empty() {
                return Err(Error::bad_destination(&self.path, "it is not empty"));
            }
            return Ok(Claimed { work, made: None });
        }
        let above = self.path.parent().unwrap_or(&self.path);
        let name = self
            .path
            .file_name()
            .unwrap_or_default()
            .as_encoded_bytes()
            .to_vec();
        let parent = Dir::open_root(above).map_err(Error::io("open", above))?;
        parent
            .make_dir(&name)
            .map_err(Error::io("make", &self.path))?;
        match WorkTree::open(&self.path) {
            Ok(work) => Ok(Claimed {
                work,
                made: Some((parent, name)),
            }),
            Err(error) => Err(parent
                .rmdir(&name)
                .err()
                .map_or(error, Error::io("remove", &self.path))),
        }
    }
}

/// An open directory that was empty when opened.
#[derive(Debug)]
pub struct Claimed {
    pub work: WorkTree,
    /// Parent and name, if it was newly made.
    made: Option<(Dir, Vec<u8>)>,
}

impl Claimed {
    pub fn is_new(&self) -> bool {
        self.made.is_some()
    }

    /// Removes the directory if it was newly made.
    ///
    /// # Errors
    /// It is not empty.
    pub fn give_up(self) -> Result<()> {
        match &self.made {
            Some((parent, name)) => parent
                .rmdir(name)
                .map_err(|error| self.work.io("remove", &RelPath::root(), error)),
            None => Ok(()),
        }
    }
}
