//! Refs that a salvage could not keep: a later repair writes them once a kept copy of the store can
//! give their objects. None of a checkpoint that was dropped is among them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::damage::replace_store;
use crate::store::damage::salvage_objects::{Unreadable, copy_readable};
use crate::store::damage::salvage_refs::{self, NamedRefs};
use crate::store::files::{atomic_file, read_regular};
use crate::store::refs::ref_files;
use crate::store::{CheckOptions, CheckpointChecker, Layout, LockedStore, Objects, Store};

/// Notes those of these refs that the store has not.
///
/// # Errors
/// The note cannot be written.
pub fn note(layout: &Layout, refs: NamedRefs) -> Result<()> {
    let mut lost = read(layout);
    for (name, id) in refs {
        if let Some(id) = id
            && !layout.below(&name).exists()
        {
            lost.insert(name, id);
        }
    }
    write(layout, &lost)
}

/// Writes the noted refs whose objects can be read by now; returns the number of checkpoints among
/// them. If there are any, the caller reads the inventory again.
///
/// # Errors
/// The store cannot be written, or the caller asked to stop.
pub fn fetch(locked: &LockedStore<'_>, options: &CheckOptions<'_>) -> Result<usize> {
    let (store, layout) = (locked.store(), locked.store().layout());
    let noted = read(layout);
    let wanted: Vec<ObjectId> = noted.values().copied().collect();
    copy_from_copies(layout.dir(), store, &wanted, options)?;
    let mut checker = CheckpointChecker::new(store.objects(), options);
    let (mut fetched, mut left) = (0, noted.clone());
    for (name, id) in &noted {
        if salvage_refs::write_if_whole(store, &mut checker, name, Some(*id))?.is_none() {
            fetched += usize::from(name.starts_with("refs/checkpoints/"));
            left.remove(name);
        }
    }
    if left != noted {
        ref_files::sync(layout)?;
        write(layout, &left)?;
    }
    Ok(fetched)
}

/// Copies what the kept damaged copies of a store can give, if that is any of the wanted objects.
///
/// # Errors
/// The store cannot be written, or the caller asked to stop.
pub fn copy_from_copies(
    place: &Path,
    store: &Store,
    wanted: &[ObjectId],
    options: &CheckOptions<'_>,
) -> Result<()> {
    for copy in replace_store::damaged_copies(place) {
        let objects = Layout::new(copy).objects();
        let can_give = |kept: Objects| wanted.iter().any(|id| kept.read_any(id).is_ok());
        if Objects::open(&objects).is_ok_and(can_give) {
            let how = Unreadable::IsPassedOver;
            copy_readable(&objects, store.objects(), how, options)?;
        }
    }
    Ok(())
}

/// The noted refs; a note that cannot be read counts as none.
fn read(layout: &Layout) -> BTreeMap<String, ObjectId> {
    let text = read_regular::read_text(&layout.left_behind()).unwrap_or_default();
    ref_files::named_in(&text)
}

fn write(layout: &Layout, refs: &BTreeMap<String, ObjectId>) -> Result<()> {
    let path = layout.left_behind();
    if refs.is_empty() {
        return atomic_file::remove_if_there(&path).map(drop);
    }
    let line = |(name, id)| format!("{id} {name}\n");
    let text: String = refs.iter().map(line).collect();
    atomic_file::replace(&path, text.as_bytes())
}
