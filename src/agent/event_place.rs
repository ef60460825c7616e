//! Where an event of an agent, or its status line, belongs: in its project, whatever directory its
//! shell passes through.

use std::path::{Path, PathBuf};

use crate::ops::find_root::{Place, canonical_or_gone, is_worktree_of};

/// The directories that a document names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedDirs {
    /// The directories that were opened in the agent.
    pub projects: Vec<PathBuf>,
    /// Where its shell stands.
    pub current: Option<PathBuf>,
}

impl NamedDirs {
    /// Returns the places of an event: those of the projects that it names, or else that of
    /// `known`, the project of its environment or the beginning of its session, or else that of the
    /// current directory. `here` is that of this process.
    pub fn places(&self, known: Option<&Path>, here: &Path) -> Vec<Place> {
        let plain = |dir: &Path| canonical_or_gone(dir).unwrap_or_else(|| dir.to_path_buf());
        let current = plain(self.current.as_deref().unwrap_or(here));
        let mut projects: Vec<PathBuf> = self.projects.iter().map(|dir| plain(dir)).collect();
        let around = projects.iter().filter(|dir| current.starts_with(dir));
        if let Some(nearest) = around.max_by_key(|dir| dir.as_os_str().len()).cloned() {
            projects = vec![nearest];
        }
        if projects.is_empty() {
            projects.push(known.map_or_else(|| current.clone(), plain));
        }
        // What is done while the shell stands in a linked worktree may be done in both.
        let with_worktree = |project: PathBuf| {
            let worktree = linked_worktree(&current, &project);
            std::iter::once(project).chain(worktree)
        };
        let places = projects.into_iter().flat_map(with_worktree);
        places.map(Place::searched).collect()
    }
}

/// Returns the linked worktree of a project's repository in which a directory lies: the project's own
/// checkpoints leave it out, if it is not beside the project anyway.
fn linked_worktree(current: &Path, project: &Path) -> Option<PathBuf> {
    let is_other = |dir: &&Path| !project.starts_with(dir);
    let mut dirs = current.ancestors().take_while(is_other);
    Some(dirs.find(|dir| is_worktree_of(dir, project))?.to_path_buf())
}
