//! Where an event of an agent, or its status line, belongs: in its project, whatever directory its
//! shell passes through; and where nothing is begun unasked.

use std::path::{Path, PathBuf};

use crate::ops::find_root::{canonical_or_gone, is_worktree_of};
use crate::ops::{Context, Place};

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

/// Directories of the system, and those that hold the directories of users: no projects.
const SYSTEM: &str = "/Applications /Library /System /Users /Volumes /bin /boot /dev /etc /home /lib \
    /media /mnt /opt /proc /root /run /sbin /srv /sys /usr /usr/local /var /var/lib";
/// Directories each of which holds a volume.
const VOLUMES: &str = "/Volumes /media /mnt";
/// Those of Windows, on any drive.
const SYSTEM_OF_WINDOWS: &str = "Program Files|Program Files (x86)|ProgramData|Users|Windows";

/// Whether a path is a directory of the system itself.
fn is_system(root: &Path) -> bool {
    if cfg!(windows) {
        let is_top = root.parent().is_some_and(|drive| drive.parent().is_none());
        let name = root.file_name().unwrap_or_default();
        let mut known = SYSTEM_OF_WINDOWS.split('|');
        return is_top && known.any(|known| name.eq_ignore_ascii_case(known));
    }
    let is_one = |tops: &str, dir: &Path| tops.split(' ').any(|top| dir == Path::new(top));
    is_one(SYSTEM, root) || root.parent().is_some_and(|above| is_one(VOLUMES, above))
}

/// Returns what a root is, if nothing is begun there unasked: a directory of the system, or one of
/// the user's settings. One with a repository or a store of its own is a project all the same.
pub fn unsuited(context: &Context) -> Option<&'static str> {
    let root = context.root.path();
    let is_below = |top: &&str| root.starts_with(top) && !root.starts_with("/dev/shm");
    let is_virtual = ["/proc", "/sys", "/dev"].iter().any(is_below);
    let is_own = || root.join(".git").exists() || !matches!(context.find_store(), Ok(None));
    let home = context.environment.home.as_deref();
    let home = home.and_then(canonical_or_gone);
    let below_home = home.and_then(|home| root.strip_prefix(home).ok());
    let first = below_home.and_then(|below| below.components().next());
    let is_settings = first.is_some_and(|first| {
        let name = first.as_os_str();
        name.as_encoded_bytes().starts_with(b".") || name == "AppData" || name == "Library"
    });
    let parts = ["HEAD", "objects", "refs"];
    let is_git_dir = parts.iter().all(|name| root.join(name).exists());
    let unowned = [
        (is_system(root), "a directory of the system"),
        (is_settings, "a directory of settings"),
        (is_git_dir, "a repository's own data"),
    ];
    if is_virtual {
        return Some(unowned[0].1);
    }
    let found = unowned.into_iter().find(|(is_one, _)| *is_one);
    found.filter(|_| !is_own()).map(|(_, what)| what)
}
