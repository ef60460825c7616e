//! Checks a store's small files: constants, description, refs, manifest, journal, derived files.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::Result;
use crate::model::checkpoint::manifest;
use crate::store::damage::check::{CheckReport, finding};
use crate::store::files::read_regular;
use crate::store::gc::mark;
use crate::store::layout::Layout;
use crate::store::lifecycle::description::Description;
use crate::store::lifecycle::init;
use crate::store::refs::commit_cache;
use crate::store::refs::inventory::Inventory;
use crate::store::refs::ref_files::{self, Family, RefValue};
use crate::store::repository::Store;
use crate::store::runs::namespace::RefNamespace;
use crate::store::runs::{projected, run_roll};
use crate::store::small_files::journal::JournalState;
use crate::store::small_files::stat_cache;

/// Compares derived files with their sources, and reports unreadable files.
///
/// # Errors
/// A directory cannot be listed.
pub fn check(store: &Store, inventory: &Inventory, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    check_constants(layout, report);
    check_list(layout, report);
    check_own(store, report)?;
    check_refs(store, inventory, report)?;
    check_manifest(store, inventory, report);
    Ok(())
}

fn check_constants(layout: &Layout, report: &mut CheckReport) {
    for (path, expected) in init::constants(layout) {
        let why = match read_regular::read(&path) {
            Ok(found) if found == expected => continue,
            Ok(_) => "it is not what this program writes",
            Err(e) if e.kind() == ErrorKind::NotFound => "it is missing",
            Err(_) => "it cannot be read",
        };
        report.derived.push(finding(layout, &path, why.into()));
    }
}

/// Checks the exclusion list: any text is valid; without a list the built-in one is in force.
fn check_list(layout: &Layout, report: &mut CheckReport) {
    let path = layout.exclusion_list();
    match read_regular::read(&path) {
        Ok(bytes) if bytes.contains(&0) => {
            report
                .files
                .push(finding(layout, &path, "it is no text".into()));
        }
        Ok(_) => {}
        Err(e) => report.derived.push(finding(layout, &path, e.to_string())),
    }
}

fn check_own(store: &Store, report: &mut CheckReport) -> Result<()> {
    let layout = store.layout();
    if Description::read(layout)?.is_none() {
        report.derived.push(finding(
            layout,
            &layout.description(),
            "it is missing or makes no sense".into(),
        ));
    }
    if read_regular::lstat(&layout.lock()).is_ok_and(|found| found.is_none()) {
        report
            .derived
            .push(finding(layout, &layout.lock(), "it is missing".into()));
    }
    if store.journal()? == JournalState::Unreadable {
        let why = "the journal of an interrupted restore cannot be read: 'checkpoint undo' takes that restore back";
        report
            .files
            .push(finding(layout, &layout.journal(), why.into()));
    }
    let has_cache = layout.stat_cache().exists() || layout.stat_cache_patch().exists();
    if has_cache && stat_cache::read(layout).is_none() {
        report.derived.push(finding(
            layout,
            &layout.stat_cache(),
            "it does not add up".into(),
        ));
    }
    if commit_cache::is_sound(layout) == Some(false) {
        report.derived.push(finding(
            layout,
            &layout.commits(),
            "it does not add up".into(),
        ));
    }
    if let Err(why) = store.holds() {
        report
            .derived
            .push(finding(layout, &layout.holds(), why.to_string()));
    }
    if layout.workflow_roll().exists() && run_roll::read(layout).is_none() {
        report.derived.push(finding(
            layout,
            &layout.workflow_roll(),
            "it does not add up".into(),
        ));
    }
    if let Err(why) = projected::read(layout) {
        report
            .derived
            .push(finding(layout, &layout.projected(), why.to_string()));
    }
    for path in [layout.left_out(), layout.size_gate()] {
        if read_regular::read(&path)
            .is_ok_and(|bytes| bytes.contains(&0) || std::str::from_utf8(&bytes).is_err())
        {
            report
                .derived
                .push(finding(layout, &path, "it is no text".into()));
        }
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
                report.derived.push(finding(
                    layout,
                    &path,
                    "it does not name the commit after which it is called".into(),
                ));
            }
        }
    }
    let metas = ref_files::read_family(layout, Family::Meta)?;
    for checkpoint in &inventory.checkpoints {
        let expected = checkpoint.meta.map(RefValue::Id);
        if expected.is_some() && metas.get(&checkpoint.id).copied() != expected {
            let path = ref_files::path(layout, Family::Meta, checkpoint.id);
            report.derived.push(finding(
                layout,
                &path,
                "it does not name the meta of its checkpoint".into(),
            ));
        }
    }
    for id in mark::lost_pins(store)? {
        let path = ref_files::path(layout, Family::Pins, id);
        report
            .derived
            .push(finding(layout, &path, "it pins what is nowhere".into()));
    }
    check_main(store, inventory, report)?;
    let of_workflow = |path: &Path| {
        let name = path.strip_prefix(layout.dir()).ok().and_then(Path::to_str);
        name.is_some_and(|name| RefNamespace::of_name(name).is_some())
    };
    // Refs of runs are checked with their lines.
    for path in ref_files::unreadable(layout)?
        .into_iter()
        .filter(|path| !of_workflow(path))
    {
        report
            .files
            .push(finding(layout, &path, "it names no object".into()));
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
        report.derived.push(finding(
            layout,
            &layout.main(),
            "it does not name the newest checkpoint".into(),
        ));
    }
    if newest.is_none() && main.is_some_and(|id| !store.objects().contains(&id)) {
        report
            .derived
            .push(finding(layout, &layout.main(), "it names nothing".into()));
    }
    Ok(())
}

fn check_manifest(store: &Store, inventory: &Inventory, report: &mut CheckReport) {
    let path = store.layout().manifest();
    let mut derived = |path: &Path, why: &str| {
        report
            .derived
            .push(finding(store.layout(), path, why.into()));
    };
    match read_regular::read(&path) {
        Ok(bytes) if manifest::is_readable(&bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if text != inventory.manifest(&text) {
                let rows = manifest::ids(&text).len();
                derived(
                    &path,
                    &format!("its {rows} rows are not those of the checkpoints"),
                );
            }
        }
        Ok(_) => derived(&path, "it cannot be read as a manifest"),
        Err(e) if e.kind() == ErrorKind::NotFound && inventory.checkpoints.is_empty() => {}
        Err(e) => derived(&path, &e.to_string()),
    }
    for id in &inventory.without_ref {
        let path = ref_files::path(store.layout(), ref_files::Family::Checkpoints, *id);
        derived(&path, "it is missing, and its commit is there");
    }
}
