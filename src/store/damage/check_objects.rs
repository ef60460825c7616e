//! Checks the files that hold objects: every pack with its index, every loose object, each copy of
//! each object.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::WorkPhase;
use crate::error::{Result, StoreFlaw};
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_walk;
use crate::store::{
    CheckOptions, CheckReport, IndexEntry, Layout, ObjectIds, Objects, Pack, PackIndex, PackReader,
};

/// Checks the frames of all packs; a full check reads and hashes all objects, loose ones too.
///
/// # Errors
/// The directories cannot be listed, or the caller asked to stop.
pub fn check(
    layout: &Layout,
    objects: &Objects,
    options: &CheckOptions<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    objects.make_packs_readable();
    let mut seen = ObjectIds::default();
    if options.full {
        // A full check counts each object, needed or not.
        (report.objects, report.bytes) = (0, 0);
    }
    let mut listed = HashSet::new();
    check_packs(layout, objects, options, &mut listed, &mut seen, report)?;
    // A writer may have added packs meanwhile; what is listed now is no leftover.
    let files = loose_files::names_in(&layout.packs())?;
    objects.refresh()?;
    check_packs(layout, objects, options, &mut listed, &mut seen, report)?;
    check_names(layout, &files, &listed, report);
    for id in loose_files::list(objects.objects_dir())? {
        (options.check_interrupt)()?;
        let path = loose_files::path_of(objects.objects_dir(), &id);
        let looked = if options.full {
            loose_files::read(objects.objects_dir(), &id).map(|(_, content)| content.len())
        } else if path
            .symlink_metadata()
            .is_ok_and(|meta| meta.is_file() && meta.len() > 0)
        {
            Ok(0)
        } else {
            Err("it is empty or no plain file".into())
        };
        match looked {
            Ok(len) if options.full && seen.insert(id) => {
                report.objects += 1;
                report.bytes += len as u64;
            }
            Ok(_) => {}
            Err(why) => report.add_damage(layout, &path, why),
        }
    }
    Ok(())
}

/// Checks the packs that are not in `listed` yet.
fn check_packs(
    layout: &Layout,
    objects: &Objects,
    options: &CheckOptions<'_>,
    listed: &mut HashSet<String>,
    seen: &mut ObjectIds,
    report: &mut CheckReport,
) -> Result<()> {
    let mut packs = objects.pack_list();
    packs.retain(|pack| listed.insert(pack.stamp.name.clone()));
    if packs.is_empty() {
        return Ok(());
    }
    let entries = |pack: &Arc<Pack>| pack.index().map_or(0, PackIndex::count);
    let count: usize = packs.iter().map(entries).sum();
    options
        .progress
        .begin(WorkPhase::Verifying, count as u64, 0);
    for pack in packs {
        (options.check_interrupt)()?;
        check_pack(layout, &pack, options, seen, report)?;
    }
    Ok(())
}

/// Whether nothing is wrong with a pack and all in it.
///
/// # Errors
/// The caller asked to stop.
pub fn is_intact(pack: &Pack, options: &CheckOptions<'_>) -> Result<bool> {
    let (layout, mut report) = (Layout::new(PathBuf::new()), CheckReport::default());
    check_pack(
        &layout,
        pack,
        options,
        &mut ObjectIds::default(),
        &mut report,
    )?;
    Ok(report.files.is_empty() && report.derived.is_empty() && pack.index().is_ok())
}

fn check_pack(
    layout: &Layout,
    pack: &Pack,
    options: &CheckOptions<'_>,
    seen: &mut ObjectIds,
    report: &mut CheckReport,
) -> Result<()> {
    if pack.pack_path.symlink_metadata().is_err() {
        // A prune has replaced the pack meanwhile.
        return Ok(());
    }
    if let Some(damage) = pack.damage() {
        if damage.is_whole {
            report.add_derived(layout, &pack.index_path, &damage.why);
        } else {
            report.add_damage(layout, &pack.pack_path, &damage.why);
        }
    } else if let Err(cause) = pack.check_frame() {
        report.add_damage(layout, &pack.pack_path, cause);
        return Ok(());
    }
    let Ok(index) = pack.index() else {
        return Ok(());
    };
    let found_before = report.files.len();
    check_entries(layout, pack, index, options, seen, report)?;
    pack.forget_bases();
    report.files[found_before..].sort_by(|a, b| a.why.cmp(&b.why));
    if options.full
        && report.files.len() == found_before
        && pack.damage().is_none()
        && !trailer_is_right(&pack.pack_path)
    {
        report.add_damage(layout, &pack.pack_path, StoreFlaw::BadChecksum);
    }
    Ok(())
}

/// Reads every object of a pack, in a full check.
fn check_entries(
    layout: &Layout,
    pack: &Pack,
    index: &PackIndex,
    options: &CheckOptions<'_>,
    seen: &mut ObjectIds,
    report: &mut CheckReport,
) -> Result<()> {
    let mut entries: Vec<IndexEntry> = index.entries().filter(|_| options.full).collect();
    // In order of offset: a delta comes after its base, which is then still cached.
    entries.sort_unstable_by_key(|entry| entry.offset);
    for entry in entries {
        (options.check_interrupt)()?;
        options.progress.add(1, 0);
        if !pack.has_intact(&entry.id) {
            report.add_damage(
                layout,
                &pack.pack_path,
                format!("object {} in it is damaged", entry.id),
            );
        } else if seen.insert(entry.id) {
            report.objects += 1;
            report.bytes += pack
                .header(&entry.id)
                .ok()
                .flatten()
                .map_or(0, |header| header.size);
        }
    }
    Ok(())
}

/// Reports packs that cannot be opened, and indexes without a pack. `files` are the names in the
/// directory before its packs were listed.
fn check_names(
    layout: &Layout,
    files: &[String],
    listed: &HashSet<String>,
    report: &mut CheckReport,
) {
    for file in files {
        let why = match file.rsplit_once('.') {
            Some((name, "pack")) if !listed.contains(name) => StoreFlaw::NoPack,
            Some((name, "idx")) if !files.contains(&format!("{name}.pack")) => {
                StoreFlaw::PackMissing
            }
            _ => continue,
        };
        let path = layout.packs().join(file);
        // A prune may have removed it meanwhile.
        if path.symlink_metadata().is_ok() {
            report.add_damage(layout, &path, why);
        }
    }
}

fn trailer_is_right(path: &Path) -> bool {
    PackReader::open(path)
        .and_then(|reader| pack_walk::check_trailer(&reader))
        .is_ok_and(|(_, right)| right)
}
