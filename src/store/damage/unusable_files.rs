//! Files of a store that cannot be used: renamed out of the way, dropped if they are caches,
//! rebuilt if they are indexes.

use std::path::{Path, PathBuf};

use crate::base::time::compact_utc;
use crate::error::Result;
use crate::store::damage::unindexed_packs;
use crate::store::files::{atomic_file, read_regular};
use crate::store::lifecycle::init;
use crate::store::refs::commit_index;
use crate::store::small_files::{holds, origins, rewords, stat_cache};
use crate::store::transfer::remotes;
use crate::store::{JournalState, Layout, LockedStore};

impl LockedStore<'_> {
    /// Rebuilds the index of every intact pack that lacks a good one. Returns the files written.
    pub fn rebuild_indexes(&self) -> Result<Vec<PathBuf>> {
        self.store().objects().make_packs_readable();
        unindexed_packs::write_indexes(self.store().objects())
    }

    /// Renames unusable files out of the way: an unreadable journal, file of later
    /// reasons, of origins or of remotes, and an exclusion list that is not text. Returns the new names.
    pub fn set_unreadable_aside(&self, now_ms: i64) -> Result<Vec<PathBuf>> {
        let layout = self.store().layout();
        let mut aside = Vec::new();
        if self.journal()? == JournalState::Unreadable {
            aside.push(set_aside(layout, &layout.journal(), "journal", now_ms)?);
        }
        let list = layout.exclusion_list();
        if read_regular::read(&list).is_ok_and(|bytes| bytes.contains(&0)) {
            aside.push(set_aside(layout, &list, "exclusion-list", now_ms)?);
        }
        if rewords::read(layout).is_err() {
            aside.push(set_aside(layout, &layout.rewords(), "rewords", now_ms)?);
        }
        if origins::read(layout).is_err() {
            aside.push(set_aside(layout, &layout.origins(), "origins", now_ms)?);
        }
        if remotes::read(layout).is_err() {
            aside.push(set_aside(layout, &layout.remotes(), "remotes", now_ms)?);
        }
        init::write_exclusion_list(layout)?;
        Ok(aside)
    }

    /// Removes caches that fail their checks; the next `create` fills them again.
    pub fn drop_bad_caches(&self) -> Result<()> {
        let layout = self.store().layout();
        if stat_cache::read(layout).is_none() {
            stat_cache::remove(layout)?;
        }
        if commit_index::is_sound(layout) == Some(false) {
            atomic_file::remove_if_there(&layout.checkpoint_index())?;
        }
        if holds::read(layout).is_err() {
            atomic_file::remove_if_there(&layout.holds())?;
        }
        for path in [layout.left_out(), layout.size_gate()] {
            if !read_regular::read_text(&path).is_ok_and(|text| !text.contains('\0')) {
                atomic_file::remove_if_there(&path)?;
            }
        }
        Ok(())
    }
}

fn set_aside(layout: &Layout, path: &Path, name: &str, now_ms: i64) -> Result<PathBuf> {
    let aside = layout
        .own()
        .join(format!("{name}-damaged-{}", compact_utc(now_ms)));
    atomic_file::rename(path, &aside)?;
    atomic_file::sync_directory(&layout.own())?;
    Ok(aside)
}
