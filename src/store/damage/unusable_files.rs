//! Small files of a store that cannot be used: found, then renamed out of the way, or dropped where
//! they are made anew.

use std::path::{Path, PathBuf};

use crate::base::time::compact_utc;
use crate::error::{Result, StoreFlaw};
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::lifecycle::init;
use crate::store::refs::commit_index;
use crate::store::small_files::stat_cache;
use crate::store::transfer::remotes;
use crate::store::{JournalState, LockedStore, Origins, Store};

/// A small file that cannot be used.
pub struct UnusableFile {
    pub path: PathBuf,
    /// Whether nothing is lost with it.
    pub is_derived: bool,
    pub why: String,
}

/// Finds the small files that cannot be used.
///
/// # Errors
/// The journal cannot be read.
pub fn find(store: &Store) -> Result<Vec<UnusableFile>> {
    let layout = store.layout();
    let mut found = Vec::new();
    let mut add = |path: PathBuf, is_derived: bool, why: Option<String>| {
        found.extend(why.map(|why| UnusableFile {
            path,
            is_derived,
            why,
        }));
    };
    let flaw = |is_bad: bool, flaw: StoreFlaw| is_bad.then(|| flaw.to_string());
    let bad_sum = |is_bad: bool| flaw(is_bad, StoreFlaw::BadSum);
    let words = |cause: Option<std::io::Error>| cause.map(|cause| cause.to_string());
    let is_bad = |path: &Path, is_text: fn(&[u8]) -> bool| {
        read_regular::read(path).is_ok_and(|bytes| bytes.contains(&0) || !is_text(&bytes))
    };
    let is_torn = store.journal()? == JournalState::Unreadable;
    add(
        layout.journal(),
        false,
        flaw(is_torn, StoreFlaw::JournalUnreadable),
    );
    let list = layout.exclusion_list();
    let why = flaw(is_bad(&list, |_| true), StoreFlaw::NoText);
    add(list, false, why);
    add(layout.rewords(), false, words(store.later_reasons().err()));
    let origins = checksummed_text::read::<Origins>(&layout.origins());
    add(layout.origins(), false, words(origins.err()));
    add(layout.remotes(), false, words(remotes::read(layout).err()));
    let has_cache = layout.stat_cache().exists() || layout.stat_cache_patch().exists();
    let is_lost = has_cache && stat_cache::read(layout).is_none();
    add(layout.stat_cache(), true, bad_sum(is_lost));
    let is_lost = commit_index::is_sound(layout) == Some(false);
    add(layout.checkpoint_index(), true, bad_sum(is_lost));
    add(layout.holds(), true, words(store.holds().err()));
    for path in [layout.left_out(), layout.size_gate()] {
        let is_lost = is_bad(&path, |bytes| std::str::from_utf8(bytes).is_ok());
        add(path, true, flaw(is_lost, StoreFlaw::NoText));
    }
    Ok(found)
}

impl LockedStore<'_> {
    /// Renames small files that cannot be used out of the way, and drops those that are made anew.
    /// Returns the new names.
    pub fn clear_unusable(&self, now_ms: i64) -> Result<Vec<PathBuf>> {
        let layout = self.store().layout();
        let mut all_aside = Vec::new();
        for UnusableFile {
            path, is_derived, ..
        } in find(self.store())?
        {
            if path == layout.stat_cache() {
                stat_cache::remove(layout)?;
            } else if is_derived {
                atomic_file::remove_if_there(&path)?;
            } else {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let name = name.replace(".gitignore", "exclusion-list");
                let aside = format!("{name}-damaged-{}", compact_utc(now_ms));
                let aside = layout.own().join(aside);
                atomic_file::rename(&path, &aside)?;
                atomic_file::sync_directory(&layout.own())?;
                all_aside.push(aside);
            }
        }
        init::write_exclusion_list(layout)?;
        Ok(all_aside)
    }
}
