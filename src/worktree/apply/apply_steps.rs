//! What is to be done to the directory, as data.

use std::sync::Arc;

use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{Name, Stat};

/// What must stand at a path for the plan to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Present(Stat),
}

/// A staged file that goes to its path.
#[derive(Clone, Debug)]
pub struct WriteStep {
    pub path: RelPath,
    /// The index under which it was staged.
    pub staged: usize,
    pub expect: Expect,
}

/// A file or link that goes.
#[derive(Clone, Debug)]
pub struct Removal {
    pub path: RelPath,
    pub expect: Stat,
}

/// A directory that is new with all that is in it. It was staged as a tree and goes to its path in one step.
#[derive(Clone, Debug)]
pub struct Graft {
    pub path: RelPath,
    /// The number of its tree in the stage.
    pub staged: usize,
    pub holds: Arc<[GraftedDir]>,
}

/// What was staged in one directory of a tree.
#[derive(Clone, Debug)]
pub struct GraftedDir {
    /// From the top of the tree.
    pub below: RelPath,
    pub files: Vec<(Name, Stat)>,
}

/// Everything that is to be done, in the order of these fields.
#[derive(Clone, Debug, Default)]
pub struct ApplyPlan {
    /// Files where a directory is needed, and files of directories where a file is needed.
    pub displaced: Vec<Removal>,
    /// Directories where a file is needed, children first.
    pub displaced_dirs: Vec<RelPath>,
    /// Where something new comes although something stands there: it goes with these, under another spelling.
    pub freed: Vec<RelPath>,
    /// With their permission bits, parents first.
    pub make_dirs: Vec<(RelPath, u32)>,
    pub grafts: Vec<Graft>,
    pub writes: Vec<WriteStep>,
    /// Files that keep their content.
    pub chmods: Vec<(RelPath, u32, Stat)>,
    pub deletes: Vec<Removal>,
    /// Children first. One that is not empty then stays.
    pub remove_dirs: Vec<RelPath>,
    pub dir_modes: Vec<(RelPath, u32)>,
    /// Whether set-uid, set-gid and sticky are set as given; otherwise directories keep theirs, and files only those
    /// that they have and should have.
    pub special_bits: bool,
}

/// One change to the directory.
#[derive(Debug)]
pub enum AppliedStep {
    /// What stood at `path` waits in the stage as `gone`.
    Moved {
        path: RelPath,
        gone: String,
        expected: Stat,
    },
    /// What stood at `path` waits in the stage as `staged`; `ours` stands at `path`.
    Exchanged {
        path: RelPath,
        staged: String,
        expected: Stat,
        ours: Stat,
    },
    /// `ours` stands at `path`, where nothing stood.
    Placed {
        path: RelPath,
        staged: String,
        ours: Stat,
    },
    /// The tree `staged` stands at `path`, where nothing stood.
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
    /// `perm` are the bits before.
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

    /// Where in the stage a file of the user's waits, and what it was.
    pub(in crate::worktree) fn waiting(&self) -> Option<(&str, &Stat)> {
        match self {
            Self::Moved { gone, expected, .. } => Some((gone, expected)),
            Self::Exchanged { staged, expected, .. } => Some((staged, expected)),
            _ => None,
        }
    }
}
