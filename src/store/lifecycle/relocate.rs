//! Brings all of another store into the one of this root, so that the other can be removed: until
//! then both are whole, and a second attempt goes on where a killed one ended.

use std::io::{self, Read as _};
use std::path::Path;

use crate::base::random_name::random_hex;
use crate::error::{Error, Result};
use crate::model::{ObjectId, run_id};
use crate::store::files::{atomic_file, checksummed_text, directories, read_regular};
use crate::store::objects::loose_files::names_in;
use crate::store::objects::pack::pack_reader::PIECE_BYTES;
use crate::store::refs::ref_files;
use crate::store::runs::run_line::lineage;
use crate::store::runs::run_refs;
use crate::store::transfer::remotes;
use crate::store::{Family, Layout, LockedStore, Origins};

/// Extensions of a pack's files, the index last: without it the pack is not seen.
const ENDINGS: [&str; 2] = ["pack", "idx"];
/// What each store has of its own, derives, or gets line by line.
const STAYING: [&str; 22] = [
    "HEAD",
    "config",
    "info",
    "packed-refs",
    "packed-refs.lock",
    "checkpoint-manifest.md",
    "refs/heads/main",
    "refs/workflows",
    "refs/remotes",
    "checkpoint/index",
    "checkpoint/description",
    "checkpoint/left-out",
    "checkpoint/lock",
    "checkpoint/monitor-off",
    "checkpoint/origins",
    "checkpoint/remotes",
    "checkpoint/rewords",
    "checkpoint/size-gate",
    "checkpoint/stat-cache",
    "checkpoint/stat-cache-head",
    "checkpoint/transport",
    "checkpoint/workflows",
];

/// Brings all of another store into this one. Both are locked.
///
/// # Errors
/// This store has a damaged checkpoint; or something cannot be read or written. Then both stores are
/// whole, and copied parts stay.
pub fn take_over(store: &LockedStore<'_>, from: &LockedStore<'_>) -> Result<()> {
    if let Some(lost) = store.inventory().damaged.first() {
        let why = format!("{}; nothing is taken over while that is so", lost.why);
        return Err(Error::damaged(
            format!("checkpoint {}", lost.id.short()),
            why,
        ));
    }
    let (into, source) = (store.store().layout(), from.store().layout());
    // A store without a manifest takes every commit for a checkpoint.
    store.write_derived()?;
    copy_folder(source, into, "objects")?;
    // First the one after which a checkpoint that is made meanwhile gets its number.
    if let Some(newest) = from.inventory().newest() {
        ref_files::write(into, Family::Checkpoints, newest.id, newest.id)?;
    }
    if into.packed_refs().symlink_metadata().is_err() {
        copy_file(source, into, "packed-refs")?;
    } else {
        for (name, value) in ref_files::packed(source, "refs/")? {
            ref_files::write_named(into, &name, value)?;
        }
    }
    copy_folder(source, into, "")?;
    let unread = |why| Error::damaged("what is noted of checkpoints", why);
    let mut reasons = store.store().later_reasons().map_err(unread)?;
    reasons.extend(from.store().later_reasons().map_err(unread)?);
    checksummed_text::write(&into.rewords(), &reasons)?;
    let origins = |of: &Layout| checksummed_text::read::<Origins>(&of.origins()).map_err(unread);
    let mut places = origins(into)?;
    places.extend(origins(source)?);
    checksummed_text::write(&into.origins(), &places)?;
    store.store().objects().refresh()?;
    take_over_remotes(store, source)?;
    take_over_workflows(store, from.store().workflows()?)
}

/// Copies what is in a folder of a store, by its name, but for what stays.
fn copy_folder(source: &Layout, into: &Layout, folder: &str) -> Result<()> {
    let place = into.below(folder);
    directories::create_private(&place)?;
    let mut names = names_in(&source.below(folder))?;
    // A pack comes before its index.
    names.sort_unstable_by(|one, other| other.cmp(one));
    for name in names {
        let name = [folder, &name].join("/").trim_start_matches('/').to_owned();
        let path = source.below(&name);
        let found = path
            .symlink_metadata()
            .map_err(Error::io("look at", &path))?;
        if STAYING.contains(&&*name) {
            continue;
        }
        if found.is_dir() {
            copy_folder(source, into, &name)?;
        } else if found.is_file() {
            copy_file(source, into, &name)?;
        }
    }
    atomic_file::sync_directory(&place)
}

fn copy_file(source: &Layout, into: &Layout, name: &str) -> Result<()> {
    let from = source.below(name);
    match from.symlink_metadata() {
        Ok(_) => link_or_copy(&from, &into.below(name)),
        Err(_) => Ok(()),
    }
}

/// Copies remotes that the store does not know, and what was fetched from them.
fn take_over_remotes(store: &LockedStore<'_>, source: &Layout) -> Result<()> {
    let into = store.store().layout();
    let unreadable = |why| Error::damaged("the file of remotes", why);
    let mut known = remotes::read(into).map_err(unreadable)?;
    let mut taken = remotes::read(source).unwrap_or_default();
    taken.retain(|one| known.iter().all(|other| other.name != one.name));
    for remote in &taken {
        for (line, tip) in remotes::fetched(source, &remote.name)? {
            store.write_fetched(&remote.name, &line, tip)?;
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    known.append(&mut taken);
    store.write_remotes(&known)
}

/// Adds runs to a store that already has their objects. On equal ids the incoming run gets a number,
/// unless one continues the other.
pub(in crate::store) fn take_over_workflows(
    store: &LockedStore<'_>,
    runs: impl IntoIterator<Item = (String, ObjectId)>,
) -> Result<()> {
    let (into, objects) = (store.store().layout(), store.store().objects());
    for (id, tip) in runs {
        let is_after = |upper, lower| lineage(objects, upper).any(|id| id == lower);
        let is_same = |known| is_after(tip, known) || is_after(known, tip);
        // The first of `id`, `id-2`, … that is free or is this run.
        let (mut name, mut number) = (id.clone(), 1);
        let known = loop {
            let known = run_refs::value(into, &name)?;
            let tip = known.and_then(|known| known.id());
            if known.is_none() || tip.is_some_and(is_same) {
                break tip;
            }
            number += 1;
            name = run_id::numbered(&id, number);
        };
        if known.is_none_or(|known| known != tip && is_after(tip, known)) {
            run_refs::write(into, &name, tip)?;
        }
    }
    Ok(())
}

pub(in crate::store) fn copy_packs(from: &Path, into: &Path) -> Result<()> {
    for name in names_in(from)?
        .iter()
        .filter_map(|name| name.strip_suffix(".idx"))
    {
        for ending in ENDINGS {
            let file = format!("{name}.{ending}");
            link_or_copy(&from.join(&file), &into.join(&file))?;
        }
    }
    atomic_file::sync_directory(into)
}

/// Links or copies a file in the place of one that differs: where the name is derived from the
/// content, that one is damaged.
fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if to.symlink_metadata().is_err() {
        return atomic_file::link_or_copy(from, to);
    }
    if has_same_bytes(from, to).map_err(Error::io("compare", to))? {
        return Ok(());
    }
    let aside = to.with_file_name(format!("{}{}", atomic_file::TMP_PREFIX, random_hex()));
    atomic_file::link_or_copy(from, &aside)?;
    atomic_file::rename(&aside, to)
}

fn has_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (read_regular::open(one)?, read_regular::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut piece, mut other_piece) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    loop {
        let read = one.read(&mut piece)?;
        if read == 0 {
            return Ok(true);
        }
        other.read_exact(&mut other_piece[..read])?;
        if piece[..read] != other_piece[..read] {
            return Ok(false);
        }
    }
}
