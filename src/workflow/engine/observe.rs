//! Looks up on disk the files that a run refers to.

use std::path::Path;

use crate::base::Glob;
use crate::error::Result;
use crate::model::RelPath;
use crate::ops::Context;
use crate::store::trees::digest;
use crate::workflow::rules::observation;
use crate::workflow::{Observations, ObservedFile, Workflow};
use crate::worktree::WorkTree;
use crate::worktree::files::state_file;

/// The folder in which a team of agents keeps its reports.
const REPORTS: &[u8] = b"memory/reports";

/// Looks at every output of phases and tasks. An unreadable file counts as broken, with the reason;
/// paths that lead out of the root are skipped, and all of them without a root.
///
/// # Errors
/// The root cannot be opened.
pub fn observe(context: &Context, workflow: &Workflow) -> Result<Observations> {
    let paths = observation::paths(workflow);
    if paths.is_empty() || !context.root.exists() {
        return Ok(Observations::new());
    }
    let work = WorkTree::open_root(&context.root)?;
    let find = |path: String| Some((path.clone(), find(&work, context.root.path(), &path)?));
    Ok(paths.into_iter().filter_map(find).collect())
}

fn find(tree: &WorkTree, root: &Path, path: &str) -> Option<ObservedFile> {
    let folder = path.strip_suffix('/');
    let inside = Path::new(folder.unwrap_or(path));
    let inside = inside.strip_prefix(root).unwrap_or(inside);
    let parsed = RelPath::within(inside).filter(|path| !path.is_root())?;
    Some(if folder.is_some() {
        of_folder(tree, &parsed)
    } else if parsed.name().contains(&b'*') {
        of_pattern(tree, &parsed)
    } else {
        match of_file(tree, &parsed) {
            ObservedFile::Missing => of_folders(tree, &parsed),
            found => found,
        }
    })
}

/// Looks for a report in the folders beside, as agents keep some in one of their own.
fn of_folders(tree: &WorkTree, path: &RelPath) -> ObservedFile {
    let reports = path.parent().unwrap_or_default();
    if reports.as_bytes() != REPORTS {
        return ObservedFile::Missing;
    }
    let folders = state_file::folders(tree, &reports).unwrap_or_default();
    let path_in = |folder: &String| reports.join(folder.as_bytes()).join(path.name());
    let mut found = folders.iter().map(|folder| of_file(tree, &path_in(folder)));
    let found = found.find(|found| *found != ObservedFile::Missing);
    found.unwrap_or(ObservedFile::Missing)
}

fn of_file(tree: &WorkTree, path: &RelPath) -> ObservedFile {
    match state_file::read(tree, path) {
        Ok(None) => ObservedFile::Missing,
        Ok(Some(bytes)) => {
            ObservedFile::of_file(&path.to_string(), &bytes, digest::sum_of_bytes(&bytes))
        }
        Err(error) => ObservedFile::Broken(error.to_string()),
    }
}

fn of_folder(tree: &WorkTree, path: &RelPath) -> ObservedFile {
    match (state_file::list(tree, path), tree.stat(path)) {
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
fn of_pattern(tree: &WorkTree, path: &RelPath) -> ObservedFile {
    let folder = path.parent().unwrap_or_default();
    let names = state_file::list(tree, &folder).unwrap_or_default();
    let glob = Glob::compile(path.name());
    let is_match = |name: &str| Some(glob.as_ref()?.matches(name.as_bytes()));
    let found = names.iter().filter(|name| is_match(name) == Some(true));
    let found = found.map(|name| of_file(tree, &folder.join(name.as_bytes())));
    let first = found.min_by_key(|found| !found.is_usable());
    first.unwrap_or(ObservedFile::Missing)
}
