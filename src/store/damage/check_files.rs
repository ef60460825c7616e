//! Checks a store's small files: constants, description, refs, manifest, journal, derived files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::time::compact_utc;
use crate::error::{Result, StoreFlaw};
use crate::model::checkpoint::manifest;
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::gc::reach;
use crate::store::lifecycle::init;
use crate::store::refs::{commit_index, ref_files};
use crate::store::runs::run_refs;
use crate::store::small_files::stat_cache;
use crate::store::transfer::remotes;
use crate::store::{
    CheckReport, Description, Family, Inventory, JournalState, Layout, LockedStore, Origins,
    RefValue, Store,
};

/// Compares derived files with their sources, and reports unreadable files.
///
/// # Errors
/// A directory cannot be listed.
pub fn check(store: &Store, inventory: &Inventory, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    check_constants(layout, report);
    check_own(store, report)?;
    check_refs(store, inventory, report)?;
    check_manifest(store, inventory, report);
    Ok(())
}

fn check_constants(layout: &Layout, report: &mut CheckReport) {
    for (path, expected) in init::constants(layout) {
        let flaw = match read_regular::read(&path) {
            Ok(found) if found == expected => continue,
            Ok(_) => StoreFlaw::NotAsWritten,
            Err(e) if e.kind() == ErrorKind::NotFound => StoreFlaw::Missing,
            Err(_) => StoreFlaw::Unreadable,
        };
        report.add_derived(layout, &path, flaw);
    }
}

fn check_own(store: &Store, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    for found in unusable_files(store)? {
        if found.is_derived {
            report.add_derived(layout, &found.path, found.why);
        } else {
            report.add_damage(layout, &found.path, found.why);
        }
    }
    // Any text is a valid list; without one the built-in list is in force.
    if let Err(cause) = read_regular::read(&layout.exclusion_list()) {
        report.add_derived(layout, &layout.exclusion_list(), cause);
    }
    if Description::read(layout)?.is_none() {
        report.add_derived(layout, &layout.description(), StoreFlaw::MissingOrSenseless);
    }
    if read_regular::lstat(&layout.lock()).is_ok_and(|found| found.is_none()) {
        report.add_derived(layout, &layout.lock(), StoreFlaw::Missing);
    }
    if layout.workflow_roll().exists() && run_refs::roll(layout).is_none() {
        report.add_derived(layout, &layout.workflow_roll(), StoreFlaw::BadSum);
    }
    Ok(())
}

fn check_refs(store: &Store, inventory: &Inventory, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    for family in [Family::Checkpoints, Family::Pins] {
        for (id, value) in ref_files::read_family(layout, family)? {
            if value != RefValue::Id(id) {
                // The name tells the right content.
                let path = ref_files::path(layout, family, id);
                report.add_derived(layout, &path, StoreFlaw::OtherCommit);
            }
        }
    }
    let metas = ref_files::read_family(layout, Family::Meta)?;
    for checkpoint in inventory.checkpoints.iter() {
        let expected = checkpoint.meta.map(RefValue::Id);
        if expected.is_some() && metas.get(&checkpoint.id).copied() != expected {
            let path = ref_files::path(layout, Family::Meta, checkpoint.id);
            report.add_derived(layout, &path, StoreFlaw::OtherMeta);
        }
    }
    for id in reach::lost_pins(store)? {
        let path = ref_files::path(layout, Family::Pins, id);
        report.add_derived(layout, &path, StoreFlaw::PinsNothing);
    }
    check_main(store, inventory, report)?;
    let of_workflow = |path: &Path| {
        let name = layout.name_of(path);
        let name = name.as_deref().and_then(Path::to_str);
        name.is_some_and(|name| run_refs::id_in(name).is_some())
    };
    // Refs of runs are checked with their lines.
    for path in ref_files::unreadable(layout)?
        .into_iter()
        .filter(|path| !of_workflow(path))
    {
        report.add_damage(layout, &path, StoreFlaw::NoObject);
    }
    Ok(())
}

/// Checks `main`; a commit that plain git put there is no fault.
fn check_main(store: &Store, inventory: &Inventory, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    let newest = inventory.newest().map(|newest| newest.id);
    let main = ref_files::read_main(layout)?;
    let is_foreign =
        main.is_some_and(|id| inventory.get(id).is_none() && store.objects().contains(&id));
    if newest.is_some() && main != newest && !is_foreign {
        report.add_derived(layout, &layout.main(), StoreFlaw::NotNewest);
    }
    if newest.is_none() && main.is_some_and(|id| !store.objects().contains(&id)) {
        report.add_derived(layout, &layout.main(), StoreFlaw::NamesNothing);
    }
    Ok(())
}

fn check_manifest(store: &Store, inventory: &Inventory, report: &mut CheckReport) {
    let layout = store.layout();
    let path = layout.manifest();
    match read_regular::read(&path) {
        Ok(bytes) if manifest::is_readable(&bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if text != inventory.manifest(&text) {
                let rows = manifest::ids(&text).len();
                report.add_derived(layout, &path, StoreFlaw::OtherRows { rows });
            }
        }
        Ok(_) => report.add_derived(layout, &path, StoreFlaw::NoManifest),
        Err(e) if e.kind() == ErrorKind::NotFound && inventory.checkpoints.is_empty() => {}
        Err(e) => report.add_derived(layout, &path, e),
    }
    for id in &inventory.without_ref {
        let path = ref_files::path(store.layout(), ref_files::Family::Checkpoints, *id);
        report.add_derived(layout, &path, StoreFlaw::RefMissing);
    }
}

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
pub fn unusable_files(store: &Store) -> Result<Vec<UnusableFile>> {
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
    let has_cache = layout.stat_cache().exists() || layout.stat_cache_head().exists();
    let is_lost =
        has_cache && !stat_cache::open(layout).is_some_and(|cache| cache.listing.is_whole());
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
        } in unusable_files(self.store())?
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
