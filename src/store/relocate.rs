//! Moving a store to the place of another root, and taking over what was recorded at that place meanwhile.
//!
//! Order: everything of the other store comes into this one, which loses nothing if it ends there; the other one is
//! taken out of its name; this one takes that name; the description follows. After a kill at any point the whole
//! history is in a store that its description names, and the next attempt goes on.

use std::path::Path;

use crate::error::{Error, Result};
use crate::store::description::Description;
use crate::store::directories;
use crate::store::durable;
use crate::store::layout::Layout;
use crate::store::locked::LockedStore;
use crate::store::loose_files::{self, names_in};
use crate::store::refs::{self, Family};
use crate::store::removal::{Detached, Removal};

/// What belongs to one pack, the index last: without it the pack is not seen.
const ENDINGS: [&str; 2] = ["pack", "idx"];

/// Brings all objects, checkpoints and pins of one store into another. Both are locked.
///
/// # Errors
/// Something cannot be read or written; both stores are whole, and what came over stays.
pub fn take_over(into: &LockedStore<'_>, from: &LockedStore<'_>) -> Result<()> {
    let (into, source) = (into.store().layout(), from.store().layout());
    copy_packs(&source.packs(), &into.packs())?;
    for id in loose_files::list(&source.objects())? {
        let to = loose_files::path_of(&into.objects(), &id);
        if let Some(folder) = to.parent() {
            directories::create_private(folder)?;
            bring(&loose_files::path_of(&source.objects(), &id), &to)?;
            durable::sync_directory(folder)?;
        }
    }
    for checkpoint in &from.inventory().checkpoints {
        if let Some(meta) = checkpoint.meta {
            refs::write(into, Family::Meta, checkpoint.id, meta)?;
        }
        refs::write(into, Family::Checkpoints, checkpoint.id, checkpoint.id)?;
        if checkpoint.pinned {
            refs::write(into, Family::Pins, checkpoint.id, checkpoint.id)?;
        }
    }
    Ok(())
}

fn copy_packs(from: &Path, into: &Path) -> Result<()> {
    for name in names_in(from)?.iter().filter_map(|name| name.strip_suffix(".idx")) {
        for ending in ENDINGS {
            let file = format!("{name}.{ending}");
            bring(&from.join(&file), &into.join(&file))?;
        }
    }
    durable::sync_directory(into)
}

/// The name of such a file tells its content, so one that is there is the same. A link costs no room.
fn bring(from: &Path, to: &Path) -> Result<()> {
    if to.exists() || std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let bytes = std::fs::read(from).map_err(Error::io("read", from))?;
    durable::replace(to, &bytes)
}

/// Gives a store the name of another one, in one step where the system can do that, so that nobody finds the place
/// empty. The other one, which is no longer needed, comes out of its name.
///
/// # Errors
/// A rename failed. Both are there; a second attempt goes on.
pub fn trade(store: LockedStore<'_>, other: LockedStore<'_>, description: &Description) -> Result<Detached> {
    let (old, place) = (store.store().dir().to_path_buf(), other.store().dir().to_path_buf());
    if !durable::exchange(&old, &place)? {
        let detached = Removal::of_locked(other).detach()?;
        return move_to(store, &place, description).map(|()| detached);
    }
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        durable::sync_directory(folder)?;
    }
    description.write(&Layout::new(place))?;
    Removal::of_locked_at(other, old).detach()
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
    durable::rename(&old, place)?;
    for folder in [place.parent(), old.parent()].into_iter().flatten() {
        durable::sync_directory(folder)?;
    }
    let described = description.write(&Layout::new(place.to_path_buf()));
    // The lock's file moved with the store: held until the description is right, it keeps others out all the time.
    drop(store);
    described
}
