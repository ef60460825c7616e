//! Planned and applied changes of the directory, as data.

use std::sync::Arc;

use crate::model::{Name, RelPath, Stat};

/// State of a path that the plan expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Present(Stat),
}

/// A staged file to be moved to its path.
#[derive(Clone, Debug)]
pub struct WriteStep {
    pub path: RelPath,
    /// Index of the file in the stage.
    pub staged: usize,
    pub expect: Expect,
}

/// A file or symlink to be removed.
#[derive(Clone, Debug)]
pub struct Removal {
    pub path: RelPath,
    pub expect: Stat,
}

/// A directory that is new as a whole, staged as a tree and moved to its path by one rename.
#[derive(Clone, Debug)]
pub struct Graft {
    pub path: RelPath,
    /// Number of the tree in the stage.
    pub staged: usize,
    pub holds: Arc<[GraftedDir]>,
}

/// The files staged in one directory of a tree.
#[derive(Clone, Debug)]
pub struct GraftedDir {
    /// Path relative to the top of the tree.
    pub below: RelPath,
    pub files: Vec<(Name, Stat)>,
}

/// All planned changes, applied in the order of these fields.
#[derive(Clone, Debug, Default)]
pub struct ApplyPlan {
    /// Files to be replaced by a directory, and files in directories to be replaced by a file.
    pub displaced: Vec<Removal>,
    /// Directories to be replaced by a file, children first.
    pub displaced_dirs: Vec<RelPath>,
    /// Target paths occupied under another spelling by an entry of `displaced` or `displaced_dirs`.
    pub freed: Vec<RelPath>,
    /// New directories with their permission bits, parents first.
    pub make_dirs: Vec<(RelPath, u32)>,
    pub grafts: Vec<Graft>,
    pub writes: Vec<WriteStep>,
    /// Files of which only the mode changes.
    pub chmods: Vec<(RelPath, u32, Stat)>,
    pub deletes: Vec<Removal>,
    /// Children first; a directory that is not empty by then stays.
    pub remove_dirs: Vec<RelPath>,
    pub dir_modes: Vec<(RelPath, u32)>,
    /// Whether set-uid, set-gid and sticky are set as given; otherwise directories keep theirs, and
    /// files keep only those that they have and should have.
    pub special_bits: bool,
}

/// One change to the directory.
#[derive(Debug)]
pub enum AppliedStep {
    /// The old file was moved to `<stage>/<gone>`.
    Moved {
        path: RelPath,
        gone: String,
        expected: Stat,
    },
    /// The old file was exchanged with `<stage>/<staged>`; `path` now holds `ours`.
    Exchanged {
        path: RelPath,
        staged: String,
        expected: Stat,
        ours: Stat,
    },
    /// The staged file was moved to `path`, which was free.
    Placed {
        path: RelPath,
        staged: String,
        ours: Stat,
    },
    /// The tree `staged` was moved to `path`, which was free.
    Grafted {
        path: RelPath,
        staged: String,
        holds: Arc<[GraftedDir]>,
    },
    MadeDir {
        path: RelPath,
    },
    RemovedDir {
        path: RelPath,
        perm: u32,
    },
    /// `perm` holds the bits before the change.
    ChangedMode {
        path: RelPath,
        perm: u32,
    },
}

impl AppliedStep {
    pub(in crate::worktree) fn path(&self) -> &RelPath {
        match self {
            Self::Moved { path, .. }
            | Self::Exchanged { path, .. }
            | Self::Placed { path, .. }
            | Self::Grafted { path, .. }
            | Self::MadeDir { path }
            | Self::RemovedDir { path, .. }
            | Self::ChangedMode { path, .. } => path,
        }
    }

    /// Returns the name in the stage of the user's replaced file, with its expected stat.
    pub(in crate::worktree) fn waiting(&self) -> Option<(&str, &Stat)> {
        match self {
            Self::Moved { gone, expected, .. } => Some((gone, expected)),
            Self::Exchanged {
                staged, expected, ..
            } => Some((staged, expected)),
            _ => None,
        }
    }
}
