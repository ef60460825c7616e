//! The history of files from checkpoint to checkpoint.

use std::collections::BTreeMap;

use crate::model::{Checkpoint, Line, Meta, ObjectId, PathPattern, RelPath};
use crate::ops::Warning;
use crate::store::{Store, TreeMemo};

/// Git mode and blob of a file; `None` if it does not exist.
pub type Version = Option<(u32, ObjectId)>;

/// A change of a path between two consecutive checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// Index of the first checkpoint with this change.
    pub at: usize,
    pub before: Version,
    pub after: Version,
    /// The checkpoint recorded that it could not capture the path, which may be unchanged.
    pub not_captured: bool,
}

/// All steps of the paths that match a pattern.
#[derive(Debug, Default)]
pub struct History {
    /// The readable checkpoints, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Oldest step first.
    pub steps: BTreeMap<RelPath, Vec<HistoryStep>>,
    /// One for each checkpoint that could not be read.
    pub warnings: Vec<Warning>,
}

impl History {
    /// Compares each checkpoint with its predecessor, safety checkpoints included. Scoped ones are
    /// skipped, since they say nothing about most paths and nothing about what came between.
    pub fn read(store: &Store, checkpoints: &Line, pattern: &PathPattern) -> Self {
        let mut memo = TreeMemo::new(store.objects());
        let mut history = Self::default();
        for checkpoint in checkpoints.iter().filter(|found| !found.is_scoped()) {
            let (at, id) = (history.checkpoints.len(), checkpoint.id);
            let before = history.checkpoints.last().map(|last| last.tree);
            let changes = memo.diff(before, Some(checkpoint.tree), &|dir| pattern.enters(dir));
            // All trees of the predecessor were read, so it is this checkpoint that is damaged.
            let mut changes = match changes.map_err(|why| store.damage(id, why).to_string()) {
                Ok(changes) => changes,
                Err(why) => {
                    history.warnings.push(Warning::PassedOver { id, why });
                    continue;
                }
            };
            changes.retain(|change| pattern.matches(&change.path));
            // `verify` reports damaged metas; without one, only the absence in the tree is known.
            let deletes = changes.iter().any(|change| change.after.is_none());
            let meta = deletes.then(|| store.meta(checkpoint).unwrap_or_default());
            for change in changes {
                let hides = |meta: &Meta| meta.hides(&change.path);
                let step = HistoryStep {
                    at,
                    before: change.before,
                    after: change.after,
                    not_captured: change.after.is_none() && meta.as_ref().is_some_and(hides),
                };
                history.steps.entry(change.path).or_default().push(step);
            }
            history.checkpoints.push(checkpoint.clone());
        }
        history
    }

    /// Returns the last checkpoint that holds a path with these steps, and the next one, if any,
    /// that does not.
    pub fn end_of(&self, steps: &[HistoryStep]) -> Option<(&Checkpoint, Option<&Checkpoint>)> {
        let last = steps.last()?;
        if last.after.is_some() {
            return Some((self.checkpoints.last()?, None));
        }
        let holder = self.checkpoints.get(last.at.checked_sub(1)?)?;
        Some((holder, self.checkpoints.get(last.at)))
    }
}
