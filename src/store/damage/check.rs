//! What a check of the store finds: damaged checkpoints with the paths concerned, damaged files, and derived things.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::progress::Progress;
use crate::model::checkpoint::record::{CheckpointId, DamagedCheckpoint};
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::store::layout::Layout;

/// How a check goes about its work.
pub struct CheckOptions<'o> {
    /// Every object is read and hashed, not only looked up.
    pub full: bool,
    /// Asked again and again; an error ends the check.
    pub go_on: &'o dyn Fn() -> crate::error::Result<()>,
    /// Told of each object that was looked at.
    pub progress: &'o Progress,
}

/// Everything that was found, and how much was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub checkpoints: usize,
    /// Distinct objects, and the bytes of their content.
    pub objects: u64,
    pub bytes: u64,
    pub damaged: Vec<DamagedState>,
    /// Files that hold what nothing else holds.
    pub files: Vec<FileFinding>,
    /// Files that are made from others, and will be again.
    pub derived: Vec<FileFinding>,
}

/// A checkpoint that cannot be had whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedState {
    pub id: CheckpointId,
    /// Unknown where the commit itself cannot be read.
    pub reason: Option<String>,
    pub faults: Vec<Fault>,
}

/// One of which not even the commit can be read.
impl From<DamagedCheckpoint> for DamagedState {
    fn from(lost: DamagedCheckpoint) -> Self {
        let object = lost.id.commit();
        Self { id: lost.id, reason: None, faults: vec![Fault { path: None, object, why: lost.why }] }
    }
}

/// One thing that a checkpoint lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `None` where it is no path of the user's: the commit or its meta.
    pub path: Option<RelPath>,
    /// The object that is missing or damaged, where it is one.
    pub object: Option<ObjectId>,
    pub why: String,
}

/// A file of the store that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFinding {
    /// Relative to the store.
    pub file: PathBuf,
    pub why: String,
}

impl CheckReport {
    /// Nothing is lost: at most derived files are wrong.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.files.is_empty()
    }

    /// Objects that checkpoints lack, with the paths at which they hold them.
    pub fn missing(&self) -> BTreeMap<ObjectId, Vec<RelPath>> {
        let mut missing: BTreeMap<ObjectId, Vec<RelPath>> = BTreeMap::new();
        for fault in self.damaged.iter().flat_map(|state| &state.faults) {
            let Some(id) = fault.object else { continue };
            let paths = missing.entry(id).or_default();
            paths.extend(fault.path.iter().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
        }
        missing
    }
}

/// A finding whose path is told from the store on.
pub fn finding(layout: &Layout, path: &Path, why: String) -> FileFinding {
    FileFinding { file: path.strip_prefix(layout.dir()).unwrap_or(path).to_path_buf(), why }
}
