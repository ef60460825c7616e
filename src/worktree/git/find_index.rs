//! Finds and reads the git index of the project's own repository, which is never written.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::git_index::{self, IndexNames};
use crate::model::stat_cache::racy::is_racy;
use crate::model::state::object_id::ObjectId;
use crate::model::state::stat::Stat;
use crate::worktree::rules::rule_set::Tracked;
use crate::worktree::sys;

/// Upper bound on the size of an index in bytes; no real project comes near it.
const MAX_INDEX_BYTES: u64 = 2 << 30;
/// Upper bound in bytes on a `.git` file, which holds one line with a path.
const MAX_LINK_BYTES: u64 = 64 << 10;

/// Returns the paths tracked by the repository at exactly this root; none without a repository or
/// an index.
///
/// # Errors
/// Why it cannot be read, for a warning.
pub fn load(root: &Path) -> Result<Tracked> {
    let Some(git_dir) = git_dir(root)? else {
        return Ok(Tracked::none());
    };
    let Some(index) = read_index(&git_dir.join("index"))? else {
        return Ok(Tracked::none());
    };
    let shared = match index.shared {
        None => None,
        Some(id) => {
            let name = format!(
                "sharedindex.{}",
                ObjectId::from_slice(&id)
                    .map(ObjectId::to_hex)
                    .unwrap_or_default()
            );
            let path = git_dir.join(name);
            Some(
                read_index(&path)?
                    .ok_or_else(|| unusable(&path, "it is missing, and the index refers to it"))?,
            )
        }
    };
    Ok(Tracked::from_parts(shared.into_iter().chain([index])))
}

/// Blob ids by path.
pub type Blobs = HashMap<Box<[u8]>, ObjectId>;

/// Returns the blobs in the index; `None` without a repository or an index, or if its ids cannot be
/// compared with ours (split index, SHA-256).
///
/// # Errors
/// As [`load`].
pub fn blobs(root: &Path) -> Result<Option<Blobs>> {
    let Some(git_dir) = git_dir(root)? else {
        return Ok(None);
    };
    let Some(index) = read_index(&git_dir.join("index"))? else {
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
    Ok(comparable.then(|| files.into_iter().zip(index.blobs).collect()))
}

/// Returns the stat of the index, to notice changes: a default one without an index, and `None` if
/// it is racy.
pub fn stamp(root: &Path) -> Option<Stat> {
    let started_ns = sys::coarse_now_ns();
    let index = git_dir(root)
        .ok()?
        .and_then(|dir| sys::stat_path(&dir.join("index")).ok())
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
    let Some(bytes) = read_regular(path, MAX_INDEX_BYTES)? else {
        return Ok(None);
    };
    git_index::parse(&bytes)
        .map(Some)
        .map_err(|why| unusable(path, why))
}

/// Returns the repository's directory: `.git` itself, or the target of a `.git` file in a linked
/// worktree or submodule.
pub(in crate::worktree) fn git_dir(root: &Path) -> Result<Option<PathBuf>> {
    let dot_git = root.join(".git");
    match fs::metadata(&dot_git) {
        Ok(found) if found.is_dir() => return Ok(Some(dot_git)),
        Ok(_) => {}
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::io("read", &dot_git)(error)),
    }
    let text = read_regular(&dot_git, MAX_LINK_BYTES)?.unwrap_or_default();
    let named = text
        .strip_prefix(b"gitdir: ")
        .ok_or_else(|| unusable(&dot_git, "it names no git directory"))?;
    let end = named
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |at| at + 1);
    let named =
        path_from(&named[..end]).ok_or_else(|| unusable(&dot_git, "its path is not UTF-8"))?;
    Ok(Some(root.join(named)))
}

/// Reads a regular file; `None` if it does not exist. A FIFO is not opened, as that would block.
pub(in crate::worktree) fn read_regular(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(unusable(path, "it is not a regular file")),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Error::io("read", path)(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(Error::io("read", path))?;
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", path))?;
    if bytes.len() as u64 > max_bytes {
        return Err(unusable(path, "it is too large"));
    }
    Ok(Some(bytes))
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
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a path must be UTF-8")]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path_from(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make and break files directly"
)]
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
}
