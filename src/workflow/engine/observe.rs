//! Looks up on disk the files that a run refers to.

use std::path::{Component, Path};

use crate::base::wildmatch::Glob;
use crate::error::Result;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::store::trees::digest;
use crate::workflow::rules::observation::{self, Observations, ObservedFile};
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// The folder in which a team of agents keeps its reports.
const REPORTS: &[u8] = b"memory/reports";

/// Looks at every output of phases and tasks. An unreadable file counts as broken, with the reason;
/// paths that lead out of the root are skipped.
///
/// # Errors
/// The root cannot be opened.
pub fn observe(context: &Context, workflow: &Workflow) -> Result<Observations> {
    let paths = observation::paths(workflow);
    if paths.is_empty() {
        return Ok(Observations::new());
    }
    let work = WorkTree::open_root(&context.root)?;
    let find = |path: String| Some((path.clone(), find(&work, context.root.path(), &path)?));
    Ok(paths.into_iter().filter_map(find).collect())
}

fn find(work: &WorkTree, root: &Path, path: &str) -> Option<ObservedFile> {
    let (folder, is_folder) = path
        .strip_suffix('/')
        .map_or((path, false), |folder| (folder, true));
    let inside = Path::new(folder)
        .strip_prefix(root)
        .unwrap_or(Path::new(folder));
    let parsed = RelPath::new(&names_of(inside)?.join(&b'/'))
        .ok()
        .filter(|path| !path.is_root())?;
    Some(if is_folder {
        of_folder(work, &parsed)
    } else if parsed.name().contains(&b'*') {
        of_pattern(work, &parsed)
    } else {
        match of_file(work, &parsed) {
            ObservedFile::Missing => of_folders(work, &parsed),
            found => found,
        }
    })
}

/// Looks for a report in the folders beside, as agents keep some in one of their own.
fn of_folders(work: &WorkTree, path: &RelPath) -> ObservedFile {
    let reports = path.parent().unwrap_or_default();
    let folders = state_file::folders(work, &reports).unwrap_or_default();
    let beside = folders.iter().filter(|_| reports.as_bytes() == REPORTS);
    beside
        .map(|name| of_file(work, &reports.join(name.as_bytes()).join(path.name())))
        .find(|found| *found != ObservedFile::Missing)
        .unwrap_or(ObservedFile::Missing)
}

/// Returns the names of a path, without `.` and `..`; `None` if it leads out of its base.
fn names_of(path: &Path) -> Option<Vec<&[u8]>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.as_encoded_bytes()),
            Component::CurDir => {}
            Component::ParentDir if names.pop().is_some() => {}
            _ => return None,
        }
    }
    Some(names)
}

fn of_file(work: &WorkTree, path: &RelPath) -> ObservedFile {
    match state_file::read(work, path) {
        Ok(None) => ObservedFile::Missing,
        Ok(Some(bytes)) => {
            ObservedFile::of_file(&path.to_string(), &bytes, digest::sum_of_bytes(&bytes))
        }
        Err(error) => ObservedFile::Broken(error.to_string()),
    }
}

fn of_folder(work: &WorkTree, path: &RelPath) -> ObservedFile {
    match (state_file::list(work, path), work.stat(path)) {
        (Ok(names), _) if !names.is_empty() => ObservedFile::There {
            sum: None,
            status: None,
        },
        (_, Ok(None)) => ObservedFile::Missing,
        (Ok(_), _) => ObservedFile::Empty,
        (Err(error), _) => ObservedFile::Broken(error.to_string()),
    }
}

/// Returns the first usable file by name that matches, else the first match.
fn of_pattern(work: &WorkTree, path: &RelPath) -> ObservedFile {
    let folder = path.parent().unwrap_or_default();
    let Ok(mut names) = state_file::list(work, &folder) else {
        return ObservedFile::Missing;
    };
    let Some(glob) = Glob::compile(path.name()) else {
        return ObservedFile::Missing;
    };
    names.retain(|name| glob.matches(name.as_bytes()));
    names.sort_unstable();
    let found: Vec<ObservedFile> = names
        .iter()
        .map(|name| of_file(work, &folder.join(name.as_bytes())))
        .collect();
    found
        .iter()
        .find(|found| found.is_usable())
        .or(found.first())
        .cloned()
        .unwrap_or(ObservedFile::Missing)
}
