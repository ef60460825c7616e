//! The refs of workflows. Their names are chosen by people, so a torn file does not tell what it should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file::{self, TemporaryFile};
use crate::store::files::directories;
use crate::store::layout::Layout;
use crate::store::refs::ref_files::{self, RefValue};
use crate::store::runs::namespace::{RefNamespace, stored};
use crate::store::runs::run_roll;

/// All on one shelf, by id. Files of other names are no refs of ours. A workflow that the roll has there and of which there is
/// no ref has lost it: that counts as torn.
///
/// # Errors
/// They cannot be listed or read.
pub fn read(layout: &Layout, namespace: RefNamespace) -> Result<BTreeMap<String, RefValue>> {
    let mut found = stored(layout, namespace)?;
    for ((on, id), _) in run_roll::read(layout).unwrap_or_default() {
        if on == namespace {
            found.entry(id).or_insert(RefValue::Torn);
        }
    }
    Ok(found)
}

/// What one of them says; `None` if there is none.
///
/// # Errors
/// It cannot be read.
pub fn value(layout: &Layout, namespace: RefNamespace, id: &str) -> Result<Option<RefValue>> {
    match ref_files::read_file(&path(layout, namespace, id))? {
        Some(value) => Ok(Some(value)),
        None => Ok(ref_files::packed(layout, &namespace.name_of(id))?
            .get(&namespace.name_of(id))
            .copied()
            .map(RefValue::Id)),
    }
}

/// A ref under a temporary name, to be flushed together with what it names.
///
/// # Errors
/// It cannot be written.
pub fn stage(layout: &Layout, tip: ObjectId) -> Result<TemporaryFile> {
    atomic_file::written_aside(&layout.own(), format!("{tip}\n").as_bytes())
}

/// Gives a staged ref, which was flushed, its name, durably.
///
/// # Errors
/// It could not be renamed, or not be made durable.
pub fn publish(layout: &Layout, namespace: RefNamespace, id: &str, tip: ObjectId, staged: TemporaryFile) -> Result<()> {
    let folder = layout.dir().join(namespace.folder());
    if !folder.is_dir() {
        clear_place(layout, &folder)?;
        directories::create_private(&folder)?;
        let mut above = folder.ancestors().skip(1).take_while(|above| above.starts_with(layout.refs()));
        above.try_for_each(atomic_file::sync_directory)?;
    }
    atomic_file::put_in_place(staged, &layout.own(), &path(layout, namespace, id))?;
    atomic_file::sync_directory(&folder)?;
    // Without it the ref counts as ever; only its loss would not be noticed.
    let _ = run_roll::enter(layout, namespace, id, tip);
    Ok(())
}

/// A file in the place of a folder goes out of the way: one that is a ref to plain git stays one, under another name.
fn clear_place(layout: &Layout, folder: &Path) -> Result<()> {
    let up_to_refs = folder.ancestors().take_while(|place| *place != layout.refs());
    for place in up_to_refs.filter(|place| !place.is_dir()) {
        match ref_files::read_file(place)? {
            Some(RefValue::Id(_)) => atomic_file::rename(place, &ref_files::out_of_the_way(layout))?,
            Some(RefValue::Torn) => {
                atomic_file::rename(place, &layout.own().join(format!("in-the-way-{}", atomic_file::random_hex())))?;
            }
            None => {}
        }
    }
    Ok(())
}

/// Writes one, durably.
///
/// # Errors
/// It could not be written; then it is as before.
pub fn write(layout: &Layout, namespace: RefNamespace, id: &str, tip: ObjectId) -> Result<()> {
    let staged = stage(layout, tip)?;
    staged.sync()?;
    publish(layout, namespace, id, tip, staged)
}

/// Removes one, durably; whether there was one.
///
/// # Errors
/// It could not be removed.
pub fn remove(layout: &Layout, namespace: RefNamespace, id: &str) -> Result<bool> {
    run_roll::strike_out(layout, namespace, id)?;
    // Plain git may have packed it since the lock was taken.
    let was_packed = ref_files::remove_packed(layout, &BTreeSet::from([namespace.name_of(id)]))?;
    let gone = atomic_file::remove_if_there(&path(layout, namespace, id))?;
    if gone {
        atomic_file::sync_directory(&layout.dir().join(namespace.folder()))?;
    }
    Ok(gone || was_packed)
}

/// The file of one.
pub fn path(layout: &Layout, namespace: RefNamespace, id: &str) -> PathBuf {
    layout.dir().join(namespace.folder()).join(id)
}
