//! Checks the files that hold objects: every pack with its index, every loose object, each copy of
//! each object.

use std::collections::HashSet;
use std::path::Path;

use crate::base::progress::WorkPhase;
use crate::error::Result;
use crate::store::damage::check::{CheckOptions, CheckReport, finding};
use crate::store::layout::Layout;
use crate::store::objects::id_set::ObjectIds;
use crate::store::objects::loose_files;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_index::IndexEntry;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::PackReader;
use crate::store::objects::pack::pack_walk;

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
    objects.look_again();
    let mut seen = ObjectIds::default();
    if options.full {
        // A full check counts each object, needed or not.
        (report.objects, report.bytes) = (0, 0);
    }
    let mut listed = HashSet::new();
    let packs = objects.pack_list();
    let in_all: usize = packs
        .iter()
        .filter_map(|pack| Some(pack.index().ok()?.count()))
        .sum();
    options
        .progress
        .begin(WorkPhase::Verifying, in_all as u64, 0);
    for pack in packs {
        (options.go_on)()?;
        listed.insert(pack.stamp.name.clone());
        check_pack(layout, &pack, options, &mut seen, report)?;
    }
    check_names(layout, &listed, report)?;
    for id in loose_files::list(objects.objects_dir())? {
        (options.go_on)()?;
        let path = loose_files::path_of(objects.objects_dir(), &id);
        let looked = if options.full {
            loose_files::read(objects.objects_dir(), &id).map(|(_, content)| content.len())
        } else {
            let plain = path
                .symlink_metadata()
                .is_ok_and(|meta| meta.is_file() && meta.len() > 0);
            if plain {
                Ok(0)
            } else {
                Err("it is empty or no plain file".into())
            }
        };
        match looked {
            Ok(len) if options.full && seen.insert(id) => {
                report.objects += 1;
                report.bytes += len as u64;
            }
            Ok(_) => {}
            Err(why) => report.files.push(finding(layout, &path, why.to_string())),
        }
    }
    Ok(())
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
    if let Some(rescued) = pack.rescued() {
        if rescued.is_whole {
            report
                .derived
                .push(finding(layout, &pack.index_path, rescued.why.clone()));
        } else {
            report
                .files
                .push(finding(layout, &pack.pack_path, rescued.why.clone()));
        }
    } else if let Err(cause) = pack.check_frame() {
        report
            .files
            .push(finding(layout, &pack.pack_path, cause.to_string()));
        return Ok(());
    }
    let Ok(index) = pack.index() else {
        return Ok(());
    };
    let found_before = report.files.len();
    let mut entries: Vec<IndexEntry> = index.entries().filter(|_| options.full).collect();
    // In order of offset: a delta comes after its base, which is then still cached.
    entries.sort_unstable_by_key(|entry| entry.offset);
    for entry in entries {
        (options.go_on)()?;
        options.progress.add(1, 0);
        if !pack.can_give(&entry.id) {
            report.files.push(finding(
                layout,
                &pack.pack_path,
                format!("object {} in it is damaged", entry.id),
            ));
        } else if seen.insert(entry.id) {
            report.objects += 1;
            report.bytes += pack
                .header(&entry.id)
                .ok()
                .flatten()
                .map_or(0, |header| header.size);
        }
    }
    pack.forget_bases();
    report.files[found_before..].sort_by(|a, b| a.why.cmp(&b.why));
    if options.full
        && report.files.len() == found_before
        && pack.rescued().is_none()
        && !trailer_is_right(&pack.pack_path)
    {
        report.files.push(finding(
            layout,
            &pack.pack_path,
            "it does not match its checksum".into(),
        ));
    }
    Ok(())
}

/// Reports packs that cannot be opened, and indexes without a pack.
fn check_names(layout: &Layout, listed: &HashSet<String>, report: &mut CheckReport) -> Result<()> {
    let files = loose_files::names_in(&layout.packs())?;
    for file in &files {
        let path = layout.packs().join(file);
        match file.rsplit_once('.') {
            Some((name, "pack")) if !listed.contains(name) => {
                report.files.push(finding(
                    layout,
                    &path,
                    "it cannot be opened as a pack".into(),
                ));
            }
            Some((name, "idx")) if !files.contains(&format!("{name}.pack")) => {
                report
                    .files
                    .push(finding(layout, &path, "its pack is missing".into()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn trailer_is_right(path: &Path) -> bool {
    PackReader::open(path)
        .and_then(|reader| pack_walk::check_trailer(&reader))
        .is_ok_and(|(_, right)| right)
}
