//! The inputs that all steps of carrying out a restore share.

use crate::model::restore_plan::RestorePlan;
use crate::model::state::listing::Listing;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::snapshot::Snapshot;
use crate::model::state::stat::Stat;
use crate::ops::context::Context;
use crate::worktree::tree_handle::WorkTree;

/// A plan with everything needed to carry it out.
pub struct RestoreJob<'e> {
    pub context: &'e Context,
    pub worktree: &'e WorkTree,
    pub plan: &'e RestorePlan,
    /// The present state that the plan was made from.
    pub present: &'e Listing,
    pub target: ObjectId,
    /// The target state adapted to this directory, see
    /// [`crate::ops::restore::target::Target::adapted`].
    pub wanted: &'e Snapshot,
    pub special_bits: bool,
    /// Whether every written file is read back.
    pub reads_back: bool,
}

impl RestoreJob<'_> {
    pub(in crate::ops) fn stat_of(&self, path: &RelPath) -> Option<Stat> {
        self.present.file(path).map(|file| file.stat)
    }

    pub(in crate::ops) fn is_linked(&self, path: &RelPath) -> bool {
        self.stat_of(path).is_some_and(|stat| stat.links > 1)
    }
}
