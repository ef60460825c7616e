//! Moving a store to the place of another root, and taking over what was recorded at that place meanwhile.
//!
//! Order: everything of the other store comes into this one, which loses nothing if it ends there; the other one is
//! taken out of its name; this one takes that name; the description follows. After a kill at any point the whole
//! history is in a store that its description names, and the next attempt goes on.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::files::{atomic_file, directories};
use crate::store::layout::Layout;
use crate::store::lifecycle::description::Description;
use crate::store::lifecycle::removal::{Detached, StoreRemoval};
use crate::store::locked::LockedStore;
use crate::store::objects::loose_files::{self, names_in};
use crate::store::refs::ref_files::{self, Family, RefValue};
use crate::store::runs::namespace::RefNamespace;
use crate::store::runs::run_writer::free_name;
use crate::store::runs::{projected, run_reader, run_refs};

/// What belongs to one pack, the index last: without it the pack is not seen.
const ENDINGS: [&str; 2] = ["pack", "idx"];

/// Brings all objects, checkpoints, pins and workflows of one store into another. Both are locked.
///
/// # Errors
/// A checkpoint of the other store is damaged: what tells of it would go with that store. Or something cannot be read or
/// written; both stores are whole, and what came over stays.
pub fn take_over(store: &LockedStore<'_>, from: &LockedStore<'_>) -> Result<()> {
    if let Some(lost) = from.inventory().damaged.first() {
        let why = format!("{}; nothing is taken over while that is so", lost.why);
        return Err(Error::Damaged { what: format!("checkpoint {}", lost.id.short()), why });
    }
    let (into, source) = (store.store().layout(), from.store().layout());
    copy_packs(&source.packs(), &into.packs())?;
    for id in loose_files::list(&source.objects())? {
        let to = loose_files::path_of(&into.objects(), &id);
        if let Some(folder) = to.parent() {
            directories::create_private(folder)?;
            bring(&loose_files::path_of(&source.objects(), &id), &to)?;
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
    store.store().objects().refresh()?;
    take_over_workflows(store, from)
}

/// Brings the workflows of one store into another that has its objects by now. Of two of the same id the one that comes
/// gets a number, unless one of them only goes on where the other ends. Files that were written for them are those of
/// the store that comes: it is the one of the directory as it stands.
fn take_over_workflows(store: &LockedStore<'_>, from: &LockedStore<'_>) -> Result<()> {
    let (into, source, objects) = (store.store().layout(), from.store().layout(), store.store().objects());
    let mut names = BTreeMap::new();
    for namespace in RefNamespace::BOTH {
        for (id, tip) in run_reader::tips(from.store(), namespace)?.found {
            let mut goes_on = false;
            let (name, is_there) = free_name(into, namespace, &id, &mut |value| {
                let RefValue::Id(known) = value else { return false };
                goes_on = known != tip && run_reader::stands_on(objects, tip, known);
                goes_on || run_reader::stands_on(objects, known, tip)
            })?;
            if goes_on || !is_there {
                run_refs::write(into, namespace, &name, tip)?;
            }
            if namespace == RefNamespace::Live {
                names.insert(id, name);
            }
        }
    }
    let mut files = projected::read(source).unwrap_or_default();
    for file in &mut files {
        file.workflow = names.get(&file.workflow).unwrap_or(&file.workflow).clone();
    }
    let mut known = projected::read(into).unwrap_or_default();
    known.retain(|known| files.iter().all(|file| file.path != known.path));
    files.extend(known);
    projected::write(into, &files)
}

fn copy_packs(from: &Path, into: &Path) -> Result<()> {
    for name in names_in(from)?.iter().filter_map(|name| name.strip_suffix(".idx")) {
        for ending in ENDINGS {
            let file = format!("{name}.{ending}");
            bring(&from.join(&file), &into.join(&file))?;
        }
    }
    atomic_file::sync_directory(into)
}

/// The name of such a file tells its content, so one that is there is the same. A link costs no room.
fn bring(from: &Path, to: &Path) -> Result<()> {
    if to.exists() || std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let bytes = std::fs::read(from).map_err(Error::io("read", from))?;
    atomic_file::replace(to, &bytes)
}

/// Gives a store the name of another one, in one step where the system can do that, so that nobody finds the place
/// empty. The other one, which is no longer needed, comes out of its name.
///
/// # Errors
/// A rename failed. Both are there; a second attempt goes on.
pub fn trade(store: LockedStore<'_>, other: LockedStore<'_>, description: &Description) -> Result<Detached> {
    let (old, place) = (store.store().dir().to_path_buf(), other.store().dir().to_path_buf());
    if !atomic_file::exchange(&old, &place)? {
        let detached = StoreRemoval::of_locked(other).detach()?;
        return move_to(store, &place, description).map(|()| detached);
    }
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        atomic_file::sync_directory(folder)?;
    }
    description.write(&Layout::new(place))?;
    StoreRemoval::of_locked_at(other, old).detach()
}

/// Gives a store the name `place`, which must be free, and describes it as the store of another root.
///
/// # Errors
/// It cannot be renamed; then it is where it was.
pub fn move_to(store: LockedStore<'_>, place: &Path, description: &Description) -> Result<()> {
    if let Some(folder) = place.parent() {
        directories::create_private(folder)?;
    }
    let old = store.store().dir().to_path_buf();
    atomic_file::rename(&old, place)?;
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        atomic_file::sync_directory(folder)?;
    }
    let described = description.write(&Layout::new(place.to_path_buf()));
    // The lock's file moved with the store: held until the description is right, it keeps others out all the time.
    drop(store);
    described
}
