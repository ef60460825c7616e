//! Checks a whole store, or one of its checkpoints, into one report.

use crate::base::WorkPhase;
use crate::error::Result;
use crate::model::CheckpointId;
use crate::store::damage::{check_checkpoints, check_files, check_objects, check_workflows};
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::refs::inventory;
use crate::store::{CheckOptions, CheckReport, Store};

impl Store {
    /// Checks the whole store or one checkpoint, also one of a remote. Writes nothing.
    ///
    /// # Errors
    /// The store could not be examined, or the caller asked to stop. Damage is in the report.
    pub fn check(
        &self,
        only: Option<&CheckpointId>,
        options: &CheckOptions<'_>,
    ) -> Result<CheckReport> {
        let inventory = self.inventory_as_stored()?;
        let mut report = CheckReport::default();
        options.progress.begin(WorkPhase::Verifying, 0, 0);
        let mut checker = check_checkpoints::CheckpointChecker::new(self.objects(), options);
        let is_asked = |id: &CheckpointId| only.is_none_or(|wanted| wanted == id);
        for checkpoint in inventory
            .checkpoints
            .iter()
            .filter(|checkpoint| is_asked(&checkpoint.id.into()))
        {
            checker.check(checkpoint.id, &mut report)?;
        }
        for lost in inventory.damaged.iter().filter(|lost| is_asked(&lost.id)) {
            report.checkpoints += 1;
            report.damaged.push(lost.clone().into());
        }
        inventory::drop_evicted(self.layout(), &inventory, &mut report)?;
        let of_remote = only.and_then(CheckpointId::commit);
        let of_remote = of_remote.filter(|id| !inventory.knows(*id));
        if let Some(id) = of_remote.filter(|id| self.fetched_with(*id).is_some()) {
            checker.check(id, &mut report)?;
        }
        if only.is_none() {
            check_workflows::check(self, &mut checker, &mut report)?;
            check_files::check(self, &inventory, &mut report)?;
            check_objects::check(self.layout(), self.objects(), options, &mut report)?;
        }
        Ok(report)
    }
}

/// Whether commit, meta and all trees of a checkpoint are readable, so only contents are missing.
pub fn lacks_only_bytes(store: &Store, id: &CheckpointId) -> bool {
    let commit = id
        .commit()
        .and_then(|id| read_checkpoint(store.objects(), id).ok());
    commit.is_some_and(|checkpoint| store.snapshot(&checkpoint).is_ok())
}
