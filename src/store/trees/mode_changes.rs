//! Files of two checkpoints that differ in permission bits alone, which no tree holds.

use crate::error::Result;
use crate::model::{Checkpoint, Entry, Meta, RelPath, TreeChange};
use crate::store::Store;

impl Store {
    /// Adds the files whose permission bits alone differ to the changes between two trees.
    ///
    /// # Errors
    /// A meta, or a tree that must be read for it, is damaged.
    pub fn add_mode_changes(
        &self,
        before: &Checkpoint,
        after: &Checkpoint,
        changes: &mut Vec<TreeChange>,
    ) -> Result<()> {
        // Plain git records no such bits.
        if before.meta == after.meta || before.adopted || after.adopted {
            return Ok(());
        }
        let metas = [self.meta(before)?, self.meta(after)?];
        let is_known = |path: &RelPath| changes.iter().any(|change| change.path == *path);
        let mut other = unusual_otherwise(&metas);
        if metas[0].usual == metas[1].usual && other.all(is_known) {
            return Ok(());
        }
        let [before, after] = [self.snapshot(before)?, self.snapshot(after)?];
        for (path, now) in &after.files {
            let then = before.files.get(path);
            let is_same = |then: &&Entry| (then.id, then.git_mode()) == (now.id, now.git_mode());
            if let Some(then) = then.filter(is_same)
                && then.perm != now.perm
            {
                changes.push(TreeChange {
                    path: path.clone(),
                    before: Some((then.git_mode(), then.id)),
                    after: Some((now.git_mode(), now.id)),
                });
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }
}

fn unusual_otherwise(metas: &[Meta; 2]) -> impl Iterator<Item = &RelPath> {
    let [then, now] = [&metas[0].unusual, &metas[1].unusual];
    let gone = then
        .iter()
        .filter(|(path, perm)| now.get(*path) != Some(*perm));
    let new = now
        .iter()
        .filter(|(path, perm)| then.get(*path) != Some(*perm));
    gone.chain(new).map(|(path, _)| path)
}
