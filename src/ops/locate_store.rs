//! Finds the store of a root under the base, which may lie under another key than the root's.

use std::path::{Path, PathBuf};

use crate::error::{Code, Error, More, Result};
use crate::store::layout::{dir_hash, store_dir};
use crate::store::{Description, Layout};
use crate::worktree::Root;

/// Returns where the store of this root lies, or would lie.
///
/// # Errors
/// Several stores match this root.
pub fn locate_store(base: &Path, at: &Root) -> Result<PathBuf> {
    let place = store_dir(base, at.path());
    if place.is_dir() {
        return Ok(place);
    }
    let projects = projects(base)?;
    let mut found = stores_of(&projects, at.path(), None)?;
    if let Some(logical) = at.logical() {
        found.extend(stores_of(&projects, logical, Some(at.path()))?);
    }
    found.sort();
    found.dedup();
    match found.as_slice() {
        [] => Ok(place),
        [one] => Ok(one.clone()),
        _ => {
            let shown = found.iter().map(|path| path.display().to_string());
            let shown = shown.collect::<Vec<_>>().join(", ");
            let what = format!("several stores belong to this directory: {shown}");
            Err(Error::new(Code::AMBIGUOUS_STORE, what)
                .advise("move all but one of them away")
                .more(More::Stores(found)))
        }
    }
}

/// Stores of any project folder named by the hash of `root`, whose description, if any, names it
/// (or `also`).
pub fn stores_of(projects: &[PathBuf], root: &Path, also: Option<&Path>) -> Result<Vec<PathBuf>> {
    let hash = dir_hash(root);
    let mut found = Vec::new();
    for project in projects {
        let dir = project.join("checkpoints").join(&hash);
        if !dir.is_dir() {
            continue;
        }
        let description = Description::read(&Layout::new(dir.clone()))?;
        let names = |d: &Description| d.names(root) || also.is_some_and(|also| d.names(also));
        if description.as_ref().is_none_or(names) {
            found.push(dir);
        }
    }
    Ok(found)
}

pub fn projects(base: &Path) -> Result<Vec<PathBuf>> {
    subdirectories(&base.join("projects"))
}

pub fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", dir)(e)),
    };
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<std::io::Result<_>>()
        .map_err(Error::io("read", dir))?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}
