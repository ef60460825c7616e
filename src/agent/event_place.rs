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
        let of_worktree = |project: PathBuf| worktree_below(&project, &current).unwrap_or(project);
        let projects = projects.into_iter().map(of_worktree);
        projects.map(Place::searched).collect()
    }
}

/// Returns the linked worktree of a project's repository in which a directory below the project
/// lies: the project's own checkpoints leave it out.
fn worktree_below(project: &Path, current: &Path) -> Option<PathBuf> {
    let is_below = |dir: &&Path| dir.starts_with(project) && *dir != project;
    let mut dirs = current.ancestors().take_while(is_below);
    Some(dirs.find(|dir| is_worktree_of(dir, project))?.to_path_buf())
}
