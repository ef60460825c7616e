//! Moves a store to the place of another root, adding the checkpoints recorded there meanwhile.
//!
//! Order: copy everything from the other store into this one, detach the other one, rename this one
//! to its place, then update the description. After a kill at any point the whole history is in a
//! store that its description names, and the next attempt continues.

use std::io::{self, Read as _};
use std::path::Path;

use crate::base::random_name::random_hex;
use crate::error::{Error, Result};
use crate::model::run_id;
use crate::store::damage::replace_store;
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::layout::Layout;
use crate::store::lifecycle::description::Description;
use crate::store::lifecycle::removal::{Detached, StoreRemoval};
use crate::store::locked::LockedStore;
use crate::store::objects::loose_files::{self, names_in};
use crate::store::objects::pack::pack_reader::PIECE_BYTES;
use crate::store::refs::ref_files::{self, Family};
use crate::store::repository::Store;
use crate::store::runs::run_line::lineage;
use crate::store::runs::run_refs;
use crate::store::small_files::rewords;
use crate::store::transfer::remotes;

/// Extensions of a pack's files, the index last: without it the pack is not seen.
const ENDINGS: [&str; 2] = ["pack", "idx"];

/// Copies all objects, checkpoints, pins and runs of one store into another. Both are locked.
///
/// # Errors
/// The other store has a damaged checkpoint, whose traces would be lost with it; or something
/// cannot be read or written. Then both stores are whole, and copied parts stay.
pub fn take_over(store: &LockedStore<'_>, from: &LockedStore<'_>) -> Result<()> {
    if let Some(lost) = from.inventory().damaged.first() {
        let why = format!("{}; nothing is taken over while that is so", lost.why);
        return Err(Error::damaged(
            format!("checkpoint {}", lost.id.short()),
            why,
        ));
    }
    let (into, source) = (store.store().layout(), from.store().layout());
    copy_packs(&source.packs(), &into.packs())?;
    for id in loose_files::list(&source.objects())? {
        let to = loose_files::path_of(&into.objects(), &id);
        if let Some(folder) = to.parent() {
            directories::create_private(folder)?;
            link_or_copy(&loose_files::path_of(&source.objects(), &id), &to)?;
            atomic_file::sync_directory(folder)?;
        }
    }
    for checkpoint in &from.inventory().checkpoints {
        if let Some(meta) = checkpoint.meta {
            ref_files::write(into, Family::Meta, checkpoint.id, meta)?;
        }
        ref_files::write(into, Family::Checkpoints, checkpoint.id, checkpoint.id)?;
        if checkpoint.pinned {
            ref_files::write(into, Family::Pins, checkpoint.id, checkpoint.id)?;
        }
    }
    let taken = rewords::read(source).unwrap_or_default();
    if !taken.is_empty() {
        let mut known = rewords::read(into).unwrap_or_default();
        known.extend(taken);
        rewords::write(into, &known)?;
    }
    store.store().objects().refresh()?;
    take_over_remotes(store, source)?;
    take_over_workflows(store, from.store())
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

/// Copies the runs of one store into another that already has its objects. On equal ids the
/// incoming run gets a number, unless one continues the other.
pub(in crate::store) fn take_over_workflows(store: &LockedStore<'_>, from: &Store) -> Result<()> {
    let (into, objects) = (store.store().layout(), store.store().objects());
    for (id, tip) in from.workflows()? {
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

/// Links or copies a file whose name is derived from its content: one that is there and differs is
/// damaged, and gives way.
fn link_or_copy(from: &Path, to: &Path) -> Result<()> {
    if to.symlink_metadata().is_err() {
        return atomic_file::link_or_copy(from, to);
    }
    if has_same_bytes(from, to).map_err(Error::io("compare", to))? {
        return Ok(());
    }
    let aside = to.with_file_name(format!("tmp_pack_{}", random_hex()));
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

/// Exchanges the places of two stores, in one step where the system can, so that the place is never
/// seen empty. The other store, no longer needed, is detached, or removed where it cannot be renamed.
///
/// # Errors
/// A rename failed. This store exists, with all of the other one; a second attempt continues.
pub fn trade(
    store: LockedStore<'_>,
    other: LockedStore<'_>,
    description: &Description,
) -> Result<Option<Detached>> {
    let (old, place) = (
        store.store().dir().to_path_buf(),
        other.store().dir().to_path_buf(),
    );
    if !atomic_file::exchange(&old, &place)? {
        let mut detached = Some(StoreRemoval::of_locked(other).detach()?);
        if let Some(in_the_way) = detached.take_if(|detached| detached.is_at(&place)) {
            in_the_way.remove()?;
        }
        return move_to(store, &place, description).map(|()| detached);
    }
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        atomic_file::sync_directory(folder)?;
    }
    description.write(&Layout::new(place))?;
    StoreRemoval::of_locked_at(other, old).detach().map(Some)
}

/// Moves a store to `place`, which must be free, and describes it as the store of another root.
///
/// # Errors
/// The move failed; the store is where it was.
pub fn move_to(store: LockedStore<'_>, place: &Path, description: &Description) -> Result<()> {
    if let Some(folder) = place.parent() {
        directories::create_private(folder)?;
    }
    let old = store.store().dir().to_path_buf();
    replace_store::move_store(&old, place)?;
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        atomic_file::sync_directory(folder)?;
    }
    let described = description.write(&Layout::new(place.to_path_buf()));
    // The lock file moved with the store: holding it until the description is right keeps other
    // processes out.
    drop(store);
    described
}
