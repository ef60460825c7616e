//! Checks a store's small files: constants, description, refs, manifest, journal, derived files.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Result, StoreFlaw};
use crate::model::checkpoint::manifest;
use crate::store::damage::check_report::finding;
use crate::store::damage::unusable_files;
use crate::store::files::read_regular;
use crate::store::gc::mark;
use crate::store::lifecycle::init;
use crate::store::refs::ref_files;
use crate::store::runs::run_refs;
use crate::store::{CheckReport, Description, Family, Inventory, Layout, RefValue, Store};

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
        report.derived.push(finding(layout, &path, flaw));
    }
}

fn check_own(store: &Store, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    for found in unusable_files::find(store)? {
        let list = if found.is_derived {
            &mut report.derived
        } else {
            &mut report.files
        };
        list.push(finding(layout, &found.path, found.why));
    }
    let mut derived = |path: &Path, flaw: &dyn Display| {
        report.derived.push(finding(layout, path, flaw));
    };
    // Any text is a valid list; without one the built-in list is in force.
    if let Err(cause) = read_regular::read(&layout.exclusion_list()) {
        derived(&layout.exclusion_list(), &cause);
    }
    if Description::read(layout)?.is_none() {
        derived(&layout.description(), &StoreFlaw::MissingOrSenseless);
    }
    if read_regular::lstat(&layout.lock()).is_ok_and(|found| found.is_none()) {
        derived(&layout.lock(), &StoreFlaw::Missing);
    }
    if layout.workflow_roll().exists() && run_refs::roll(layout).is_none() {
        derived(&layout.workflow_roll(), &StoreFlaw::BadSum);
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
                report
                    .derived
                    .push(finding(layout, &path, StoreFlaw::OtherCommit));
            }
        }
    }
    let metas = ref_files::read_family(layout, Family::Meta)?;
    for checkpoint in inventory.checkpoints.iter() {
        let expected = checkpoint.meta.map(RefValue::Id);
        if expected.is_some() && metas.get(&checkpoint.id).copied() != expected {
            let path = ref_files::path(layout, Family::Meta, checkpoint.id);
            report
                .derived
                .push(finding(layout, &path, StoreFlaw::OtherMeta));
        }
    }
    for id in mark::lost_pins(store)? {
        let path = ref_files::path(layout, Family::Pins, id);
        report
            .derived
            .push(finding(layout, &path, StoreFlaw::PinsNothing));
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
        report
            .files
            .push(finding(layout, &path, StoreFlaw::NoObject));
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
        report
            .derived
            .push(finding(layout, &layout.main(), StoreFlaw::NotNewest));
    }
    if newest.is_none() && main.is_some_and(|id| !store.objects().contains(&id)) {
        report
            .derived
            .push(finding(layout, &layout.main(), StoreFlaw::NamesNothing));
    }
    Ok(())
}

fn check_manifest(store: &Store, inventory: &Inventory, report: &mut CheckReport) {
    let path = store.layout().manifest();
    let mut derived = |path: &Path, flaw: &dyn Display| {
        report.derived.push(finding(store.layout(), path, flaw));
    };
    match read_regular::read(&path) {
        Ok(bytes) if manifest::is_readable(&bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if text != inventory.manifest(&text) {
                let rows = manifest::ids(&text).len();
                derived(&path, &StoreFlaw::OtherRows { rows });
            }
        }
        Ok(_) => derived(&path, &StoreFlaw::NoManifest),
        Err(e) if e.kind() == ErrorKind::NotFound && inventory.checkpoints.is_empty() => {}
        Err(e) => derived(&path, &e),
    }
    for id in &inventory.without_ref {
        let path = ref_files::path(store.layout(), ref_files::Family::Checkpoints, *id);
        derived(&path, &StoreFlaw::RefMissing);
    }
}
