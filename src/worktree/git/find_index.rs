//! Finds and reads the git index of the project's own repository, which is never written.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::base::read_regular;
use crate::error::{Error, Result};
use crate::model::git_index;
use crate::model::stat_cache::cached_block::is_racy;
use crate::model::{IgnoreFileAbove, IndexNames, ObjectId, Stat};
use crate::worktree::rules::tracked::Tracked;
use crate::worktree::sys;

/// Upper bound on the size of an index in bytes; no real project comes near it.
const MAX_INDEX_BYTES: u64 = 2 << 30;
/// Upper bound in bytes on an ignore file; a larger one is treated as absent.
const MAX_IGNORE_BYTES: u64 = 16 << 20;
/// Upper bound in bytes on a `.git` file, which holds one line with a path.
const MAX_LINK_BYTES: u64 = 64 << 10;

/// The user's repository in which a root lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository {
    /// Its top directory: the root or one above it.
    top: PathBuf,
    git_dir: PathBuf,
}

impl Repository {
    /// Finds the repository around a root, as git does: the nearest directory upwards with a `.git`
    /// that has a HEAD or an index, on the same file system. As for git, one above the root that is
    /// neither the superuser's nor of the root's owner is none.
    ///
    /// # Errors
    /// The `.git` of the root itself cannot be read.
    pub fn containing(root: &Path) -> Result<Option<Self>> {
        let device = |dir: &Path| sys::stat_path(dir).ok().map(|stat| stat.dev);
        let own = device(root);
        for top in root.ancestors() {
            if top != root && device(top) != own {
                break;
            }
            let git_dir = match git_dir(top) {
                Err(error) if top == root => return Err(error),
                found => found.ok().flatten(),
            };
            let has = |dir: &Path, name| !matches!(read_regular::lstat(&dir.join(name)), Ok(None));
            if let Some(git_dir) = git_dir.filter(|dir| has(dir, "HEAD") || has(dir, "index")) {
                let owner = sys::owner(&top.join(".git"));
                let is_trusted = top == root || [sys::owner(root), Some(0)].contains(&owner);
                let top = top.to_path_buf();
                return Ok(is_trusted.then_some(Self { top, git_dir }));
            }
        }
        Ok(None)
    }

    /// The repository that a root is taken for whose `.git` cannot be read.
    pub fn unread(root: &Path) -> Self {
        let (top, git_dir) = (root.to_path_buf(), root.join(".git"));
        Self { top, git_dir }
    }

    /// Returns the `.gitignore` files between its top and a root in it, nearest first.
    pub fn ignore_files_above(&self, root: &Path) -> Vec<IgnoreFileAbove> {
        let read = |file: PathBuf| {
            let text = read_plain(&file, MAX_IGNORE_BYTES).ok()??;
            let way = slashed(root.strip_prefix(file.parent()?).ok()?)?;
            Some(IgnoreFileAbove { way, text })
        };
        self.ignore_paths_above(root).filter_map(read).collect()
    }

    /// Returns one of these files that cannot be read.
    pub fn unread_ignore_file_above(&self, root: &Path) -> Option<PathBuf> {
        let mut files = self.ignore_paths_above(root);
        files.find(|file| read_plain(file, MAX_IGNORE_BYTES).is_err())
    }

    fn ignore_paths_above(&self, root: &Path) -> impl Iterator<Item = PathBuf> {
        let above = root.ancestors().skip(1);
        let within = above.take_while(|dir| dir.starts_with(&self.top));
        let files = within.map(|dir| dir.join(".gitignore"));
        // Like git, a link is not followed.
        files.filter(|file| file.symlink_metadata().is_ok_and(|found| found.is_file()))
    }

    /// Whether the `.git` of a directory makes it a working tree of this repository, or a linked
    /// one of a submodule. If that cannot be read, or went meanwhile, it may be one.
    pub fn has_worktree(&self, dir: &Path) -> bool {
        let of_dir = match linked_git_dir(dir) {
            Ok(Some(of_dir)) => of_dir,
            Ok(None) => return true,
            Err(error) => return error.kind() != io::ErrorKind::InvalidData,
        };
        let Ok(common) = common_dir(&self.git_dir) else {
            return !dir.join(".git").is_dir();
        };
        let is_common = |dir: &Path| is_same_dir(dir, &common);
        let entries = of_dir.parent().filter(|dir| dir.ends_with("worktrees"));
        let holder = entries.and_then(Path::parent);
        let is_linked = holder.is_some_and(|holder| {
            let is_submodule = || holder.join("HEAD").exists() && is_below(holder, &common);
            is_common(holder) || is_submodule()
        });
        // The whole repository may have been moved: the link then still has the former place.
        let is_moved = || {
            let name = of_dir.file_name().filter(|_| entries.is_some());
            let entry = name.map(|name| common.join("worktrees").join(name));
            !of_dir.exists() && entry.is_some_and(|entry| entry.is_dir())
        };
        is_linked || is_moved() || is_common(&of_dir)
    }

    /// Whether a directory holds the data of this repository. If that cannot be read, it may.
    pub fn is_git_dir(&self, dir: &Path) -> bool {
        let is_common = || common_dir(&self.git_dir).is_ok_and(|common| is_same_dir(dir, &common));
        is_same_dir(dir, &self.git_dir) || is_common()
    }

    /// Returns the path of `root` from its top as git spells it, with a slash behind it; nothing for
    /// the top itself, and for what is not Unicode where it has to be.
    fn way_to(&self, root: &Path) -> Vec<u8> {
        let way = root.strip_prefix(&self.top).ok().and_then(slashed);
        match way.unwrap_or_default() {
            way if way.is_empty() => way,
            way => [&*way, b"/"].concat(),
        }
    }
}

/// Returns the directory that a repository shares with its linked worktrees.
fn common_dir(git_dir: &Path) -> Result<PathBuf> {
    let named = read_plain(&git_dir.join("commondir"), MAX_LINK_BYTES)?;
    let named = named.and_then(|text| path_from(text.trim_ascii_end()));
    Ok(named.map_or_else(|| git_dir.to_path_buf(), |named| git_dir.join(named)))
}

fn is_below(dir: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(dir)
        .zip(real(other))
        .is_some_and(|(dir, other)| dir.starts_with(other))
}

/// Whether two paths lead to one place, or may do so.
fn is_same_dir(one: &Path, other: &Path) -> bool {
    match (sys::stat_path(one), sys::stat_path(other)) {
        (Ok(one), Ok(other)) => sys::is_same_place(&one, &other),
        (Err(error), _) | (_, Err(error)) => !is_absent(&error),
    }
}

/// Returns a relative path with slashes.
fn slashed(path: &Path) -> Option<Vec<u8>> {
    let names = path.iter().map(|name| bytes_of(name));
    Some(names.collect::<Option<Vec<_>>>()?.join(&b'/'))
}

/// Returns the paths tracked by the repository around this root, from the root on; none without a
/// repository or an index.
///
/// # Errors
/// Why it cannot be read, for a warning.
pub fn load(root: &Path) -> Result<Tracked> {
    let Some(repository) = Repository::containing(root)? else {
        return Ok(Tracked::none());
    };
    let Some(index) = read_index(&repository.git_dir.join("index"))? else {
        return Ok(Tracked::none());
    };
    let read_shared = |id| {
        let name = format!("sharedindex.{}", ObjectId::from_bytes(id));
        let path = repository.git_dir.join(name);
        let missing = || unusable(&path, "it is missing, and the index refers to it");
        read_index(&path)?.ok_or_else(missing)
    };
    let shared = index.shared.map(read_shared).transpose()?;
    let first = repository.way_to(root);
    let parts = shared.into_iter().chain([index]);
    Ok(Tracked::from_parts(parts.map(|part| below(part, &first))))
}

/// Returns the names that begin so, without that.
fn below(mut names: IndexNames, first: &[u8]) -> IndexNames {
    // At a million names, a copy takes longer than the rest.
    if first.is_empty() {
        return names;
    }
    let cut = |path: Box<[u8]>| path.strip_prefix(first).map(Into::into);
    names.paths = names.paths.into_iter().filter_map(cut).collect();
    names.repositories = names.repositories.into_iter().filter_map(cut).collect();
    names
}

/// Blob ids by path.
pub type Blobs = HashMap<Box<[u8]>, ObjectId>;

/// Returns the blobs in the index, by paths from the root; `None` without a repository or an index,
/// or if its ids cannot be compared with ours (split index, SHA-256).
///
/// # Errors
/// As [`load`].
pub fn blobs(root: &Path) -> Result<Option<Blobs>> {
    let Some(repository) = Repository::containing(root)? else {
        return Ok(None);
    };
    let Some(index) = read_index(&repository.git_dir.join("index"))? else {
        return Ok(None);
    };
    let repositories: HashSet<&Box<[u8]>> = index.repositories.iter().collect();
    let files: Vec<Box<[u8]>> = index
        .paths
        .iter()
        .filter(|path| !repositories.contains(path))
        .cloned()
        .collect();
    let comparable = index.shared.is_none() && files.len() == index.blobs.len();
    let first = repository.way_to(root);
    let cut = |(path, id): (Box<[u8]>, ObjectId)| Some((path.strip_prefix(&*first)?.into(), id));
    Ok(comparable.then(|| files.into_iter().zip(index.blobs).filter_map(cut).collect()))
}

/// Returns the stat of the index, to notice changes: a default one without an index, and `None` if
/// it is racy.
pub fn stamp(repository: Option<&Repository>) -> Option<Stat> {
    let started_ns = sys::coarse_now_ns();
    let index = repository
        .and_then(|found| sys::stat_path(&found.git_dir.join("index")).ok())
        .unwrap_or_default();
    (!is_racy(&index, started_ns)).then_some(index)
}

/// Whether the index names a path more than once, as in a conflict.
pub(in crate::worktree) fn has_conflicts(git_dir: &Path) -> bool {
    let index = read_index(&git_dir.join("index"))
        .ok()
        .flatten()
        .unwrap_or_default();
    index.paths.windows(2).any(|pair| pair[0] == pair[1])
}

fn read_index(path: &Path) -> Result<Option<IndexNames>> {
    let Some(bytes) = read_plain(path, MAX_INDEX_BYTES)? else {
        return Ok(None);
    };
    git_index::parse(&bytes)
        .map(Some)
        .map_err(|why| unusable(path, why))
}

/// Returns the repository's directory: `.git` itself, or the target of a `.git` file in a linked
/// worktree or submodule.
pub(in crate::worktree) fn git_dir(root: &Path) -> Result<Option<PathBuf>> {
    linked_git_dir(root).map_err(Error::io("read", &root.join(".git")))
}

/// As [`git_dir`]; what is there and leads nowhere is `InvalidData`.
fn linked_git_dir(root: &Path) -> io::Result<Option<PathBuf>> {
    let dot_git = root.join(".git");
    let text = match fs::metadata(&dot_git) {
        Ok(found) if found.is_dir() => return Ok(Some(dot_git)),
        Ok(_) => read_regular::read_linked(&dot_git, MAX_LINK_BYTES),
        Err(error) => Err(error),
    };
    let text = match text {
        Err(error) if is_absent(&error) => return Ok(None),
        text => text?,
    };
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let named = text.strip_prefix(b"gitdir: ");
    let named = named.ok_or_else(|| invalid("it names no git directory"))?;
    let end = named
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |at| at + 1);
    let named = path_from(&named[..end]).ok_or_else(|| invalid("its path is not UTF-8"))?;
    Ok(Some(root.join(named)))
}

/// Reads a regular file; `None` if it does not exist. A FIFO is not opened, as that would block.
pub(in crate::worktree) fn read_plain(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>> {
    match read_regular::read_linked(path, max_bytes) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unusable(path: &Path, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::io("read", path)(io::Error::other(why))
}

#[cfg(unix)]
pub fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a name must be Unicode")]
fn bytes_of(name: &OsStr) -> Option<&[u8]> {
    Some(std::os::unix::ffi::OsStrExt::as_bytes(name))
}

#[cfg(not(unix))]
fn bytes_of(name: &OsStr) -> Option<&[u8]> {
    name.to_str().map(str::as_bytes)
}

#[cfg(not(unix))]
pub fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_repository_nothing_is_tracked_and_a_bad_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()).unwrap(), Tracked::none());
        let dot_git = dir.path().join(".git");
        fs::create_dir(&dot_git).unwrap();
        assert_eq!(load(dir.path()).unwrap(), Tracked::none());
        fs::write(dot_git.join("index"), "DIRC garbage").unwrap();
        assert!(load(dir.path()).unwrap_err().to_string().contains("index"));
        fs::remove_dir_all(&dot_git).unwrap();
        fs::write(&dot_git, "gitdir: ../nowhere\n").unwrap();
        assert_eq!(load(dir.path()).unwrap(), Tracked::none());
        fs::write(&dot_git, "something else").unwrap();
        assert!(load(dir.path()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_whose_link_cannot_be_read_may_be_a_worktree() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".git/worktrees/one")).unwrap();
        let own = Repository::unread(dir.path());
        let below = dir.path().join("below");
        fs::create_dir(&below).unwrap();
        let dot_git = below.join(".git");
        fs::write(&dot_git, "something else").unwrap();
        assert!(!own.has_worktree(&below));
        fs::write(&dot_git, "gitdir: ../.git/worktrees/one\n").unwrap();
        assert!(own.has_worktree(&below));
        fs::remove_file(&dot_git).unwrap();
        std::os::unix::fs::symlink(".git", &dot_git).unwrap();
        assert!(own.has_worktree(&below), "a link to itself cannot be read");
    }
}
