//! The root: its canonical path, and whether it may have checkpoints.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::windows::verbatim::usual_path;
use crate::error::{Code, Error, Result};
use crate::model::RelPath;
use crate::model::state::rel_path::is_dot_git;
use crate::worktree::WorkTree;
use crate::worktree::sys::{self, Dir};

/// A root by its canonical path, existing or gone.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    /// The path as the user's shell names it, if different.
    logical: Option<PathBuf>,
    /// Device and inode, if it exists.
    identity: Option<(u64, u64)>,
    /// The current directory below it, from which PATHs count.
    current: RelPath,
}

/// Shared directories for temporary files.
const TEMP_ROOTS: [&str; 5] = [
    "/tmp",
    "/var/tmp",
    "/private/tmp",
    "/private/var/tmp",
    "/dev/shm",
];

impl Root {
    /// Resolves the root that `dir` names. `logical` is `PWD`, used only if it names the same
    /// directory. If the directory is gone, its parent is made canonical and the last name added.
    ///
    /// # Errors
    /// A path that is no directory, or whose parent is gone too.
    pub fn resolve(dir: &Path, logical: Option<&Path>) -> Result<Self> {
        match canonical(dir) {
            Ok(path) => Self::at(path, logical),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self::of_gone(dir),
            Err(e) => Err(Error::io("find", dir)(e)),
        }
    }

    /// As [`Self::resolve`], of a canonical path.
    pub fn at(path: PathBuf, logical: Option<&Path>) -> Result<Self> {
        let found = identity(&path);
        if found.is_none() {
            return Self::of_gone(&path);
        }
        if !path.is_dir() {
            return Err(Error::new(
                Code::ROOT_MISSING,
                format!("{} is a file, not a directory", path.display()),
            )
            .advise("name a directory with -C"));
        }
        let same = |logical: &&Path| {
            logical.is_absolute() && *logical != path && identity(logical) == found
        };
        Ok(Self {
            logical: logical.filter(same).map(Path::to_path_buf),
            identity: found,
            path,
            current: RelPath::root(),
        })
    }

    fn of_gone(dir: &Path) -> Result<Self> {
        let missing = || Error::root_missing(dir);
        Ok(Self {
            path: in_canonical_parent(dir).ok_or_else(missing)?,
            logical: None,
            identity: None,
            current: RelPath::root(),
        })
    }

    /// Returns the same root for a user who stands below it.
    #[must_use]
    pub fn seen_from(self, current: RelPath) -> Self {
        Self { current, ..self }
    }

    /// Returns the current directory below it, from which PATHs count.
    pub fn current(&self) -> &RelPath {
        &self.current
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn logical(&self) -> Option<&Path> {
        self.logical.as_deref()
    }

    pub fn identity(&self) -> Option<(u64, u64)> {
        self.identity
    }

    pub fn exists(&self) -> bool {
        self.identity.is_some()
    }

    /// Returns why this root must not have checkpoints, if so. Compares path, device and inode, so
    /// that no spelling, link or second mount gets round it.
    pub fn danger(&self, base: &Path, home: Option<&Path>) -> Option<String> {
        if self.path.parent().is_none() {
            return Some("it is the root of the file system".into());
        }
        if let Some(home) = home {
            if self.is(home) {
                return Some("it is the home directory".into());
            }
            let real = canonical(home).unwrap_or_else(|_| home.to_path_buf());
            if real.ancestors().skip(1).any(|above| self.is(above)) {
                return Some("the home directory is inside it".into());
            }
        }
        if TEMP_ROOTS.iter().any(|temp| self.is(Path::new(temp))) || is_macos_temp(&self.path) {
            return Some("it is a shared directory for temporary files".into());
        }
        if self.is(base) || self.is(&base.join("projects")) {
            return Some("it contains the stores of all checkpoints".into());
        }
        let in_store = self.path.ancestors().find(|above| is_store(above));
        in_store.map(|store| format!("it is inside the store {}", store.display()))
    }

    fn is(&self, other: &Path) -> bool {
        other == self.path || (self.exists() && identity(other) == self.identity)
    }
}

/// Returns the canonical path of a directory in its usual spelling.
///
/// # Errors
/// It does not exist, or cannot be looked at.
pub fn canonical(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize().map(usual_path)
}

/// Returns a missing path with its parent made canonical; `None` if that is missing too.
pub(super) fn in_canonical_parent(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let parent = match path.parent()? {
        empty if empty.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    Some(canonical(parent).ok()?.join(name))
}

/// Returns device and inode of a path, following symlinks; `None` if it cannot be read.
#[cfg(unix)]
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino()))
}

/// Returns volume and file index of a path, following symlinks; `None` if it cannot be read.
#[cfg(not(unix))]
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    crate::worktree::sys::identity(path)
}

/// Whether names in a directory that differ only by case are one, as far as a name in it tells.
pub fn folds_case(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let name = names.find(|name| name.to_lowercase() != name.to_uppercase());
    name.is_some_and(|name| {
        let found = |name: String| identity(&dir.join(name));
        let lower = found(name.to_lowercase());
        lower.is_some() && lower == found(name.to_uppercase())
    })
}

/// Makes a root that is gone, with the given permission bits.
pub fn make(path: &Path, perm: u32) -> Result<()> {
    std::fs::create_dir(path).map_err(Error::io("make", path))?;
    set_perm(path, perm)
}

/// Returns why names in a directory cannot be changed, if so; `None` if that is not known.
pub fn refusal_to_write(dir: &Path) -> Option<Error> {
    let why = Dir::open_root(dir).ok()?.refusal_to_write()?;
    Some(Error::io("write to", dir)(why))
}

/// Removes a root that was made and is still empty; one that holds something stays.
pub fn remove_empty(path: &Path) {
    let _ = std::fs::remove_dir(path);
}

#[cfg(unix)]
fn set_perm(path: &Path, perm: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(perm & 0o777))
        .map_err(Error::io("set the mode of", path))
}

#[cfg(not(unix))]
fn set_perm(_path: &Path, _perm: u32) -> Result<()> {
    Ok(())
}

pub(super) fn is_store(dir: &Path) -> bool {
    dir.join("checkpoint").join("description").is_file() && dir.join("objects").is_dir()
}

fn is_macos_temp(path: &Path) -> bool {
    let shown = path.to_string_lossy();
    shown.contains("/var/folders/") && shown.ends_with("/T")
}

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
        let path = match canonical(typed) {
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
            path: in_canonical_parent(typed).ok_or_else(missing)?,
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
            place == other || identity(place).is_some_and(|found| identity(other) == Some(found))
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
        let base = canonical(base).unwrap_or_else(|_| base.to_path_buf());
        if self
            .path
            .ancestors()
            .any(|above| is(above, &base) || is_store(above))
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
