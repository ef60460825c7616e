//! What happened to files from checkpoint to checkpoint.

use std::collections::BTreeMap;

use crate::model::checkpoint::record::Checkpoint;
use crate::model::path_pattern::PathPattern;
use crate::model::state::meta::Meta;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::store::trees::tree_memo::TreeMemo;

/// Git mode and blob of a file; `None` where it is not there.
pub type Version = Option<(u32, ObjectId)>;

/// One difference of a path between two checkpoints that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// Which of the checkpoints has it first.
    pub at: usize,
    pub before: Version,
    pub after: Version,
    /// The checkpoint does not hold it, and tells that it could not: it may have stood there unchanged.
    pub not_captured: bool,
}

/// All steps of the paths that a pattern means.
#[derive(Debug, Default)]
pub struct History {
    /// Those that could be read, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Oldest step first.
    pub steps: BTreeMap<RelPath, Vec<HistoryStep>>,
    /// One for each checkpoint that could not be read.
    pub warnings: Vec<Warning>,
}

impl History {
    /// Compares each checkpoint with the one before it, safety checkpoints too. Scoped ones tell nothing of most paths,
    /// and of none what came between: they are passed over.
    pub fn read(store: &Store, checkpoints: &[Checkpoint], pattern: &PathPattern) -> Self {
        let mut memo = TreeMemo::new(store.objects());
        let mut history = Self::default();
        for checkpoint in checkpoints.iter().filter(|checkpoint| !checkpoint.is_scoped()) {
            let before = history.checkpoints.last().map(|last| last.tree);
            // All trees of the one before were read, so it is this one that cannot be.
            match memo.diff(before, Some(checkpoint.tree), &|dir| pattern.enters(dir)) {
                Err(why) => {
                    let why = store.damage(checkpoint.id, why).to_string();
                    history.warnings.push(Warning::PassedOver { id: checkpoint.id, why });
                }
                Ok(changes) => {
                    let at = history.checkpoints.len();
                    let changes: Vec<_> = changes.into_iter().filter(|change| pattern.matches(&change.path)).collect();
                    let meta = if changes.iter().any(|change| change.after.is_none()) {
                        // `verify` is for metas; without one all that is known is that the tree lacks the file.
                        store.meta(checkpoint).unwrap_or_default()
                    } else {
                        Meta::default()
                    };
                    for change in changes {
                        let not_captured = change.after.is_none() && meta.hides(&change.path);
                        let step = HistoryStep { at, before: change.before, after: change.after, not_captured };
                        history.steps.entry(change.path).or_default().push(step);
                    }
                    history.checkpoints.push(checkpoint.clone());
                }
            }
        }
        history
    }

    /// The last checkpoint that holds a path with these steps, and the first one that does not, if there is one.
    pub fn end_of(&self, steps: &[HistoryStep]) -> Option<(&Checkpoint, Option<&Checkpoint>)> {
        let last = steps.last()?;
        if last.after.is_some() {
            return Some((self.checkpoints.last()?, None));
        }
        let holder = self.checkpoints.get(last.at.checked_sub(1)?)?;
        Some((holder, self.checkpoints.get(last.at)))
    }
}
