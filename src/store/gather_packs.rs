//! Merging many small packs into one, without asking what in them still lives: cheap however long the history is.

use crate::error::Result;
use crate::store::ObjectIds;
use crate::store::locked::LockedStore;
use crate::store::repack_plan;
use crate::store::survey;

impl LockedStore<'_> {
    /// Makes one pack of the smallest, `most` at a time and none larger than this. Nothing goes: what is dead is dropped by
    /// a prune.
    ///
    /// # Errors
    /// Something cannot be read or written; every object is where it was, or in the new pack.
    pub fn gather_small_packs(&self, most: usize, largest_bytes: u64, stop: &dyn Fn() -> bool) -> Result<()> {
        let objects = self.store().objects();
        objects.refresh()?;
        let mut all = ObjectIds::default();
        for pack in objects.pack_list() {
            // One without a readable index stays as it is.
            if let Ok(index) = pack.index() {
                all.extend(index.entries().map(|entry| entry.id));
            }
        }
        let survey = survey::survey(objects, &all)?;
        let plan = repack_plan::plan_gather(&survey.facts(), most, largest_bytes);
        if !plan.keeps_all_packs() {
            self.repack(&survey, &plan, &all, stop)?;
        }
        Ok(())
    }
}
