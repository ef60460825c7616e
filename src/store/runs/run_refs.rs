//! The refs of runs. Their names are chosen by people, so a torn file does not tell its value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file::{self, TemporaryFile};
use crate::store::files::directories;
use crate::store::layout::Layout;
use crate::store::refs::ref_files::{self, RefValue};
use crate::store::runs::namespace::{RefNamespace, stored};
use crate::store::runs::run_roll;

/// Reads the refs of a namespace, by id. Files with other names are not ours. A run that is on the
/// roll but has no ref has lost it and counts as torn.
///
/// # Errors
/// The refs cannot be listed or read.
pub fn read(layout: &Layout, namespace: RefNamespace) -> Result<BTreeMap<String, RefValue>> {
    let mut found = stored(layout, namespace)?;
    for ((on, id), _) in run_roll::read(layout).unwrap_or_default() {
        if on == namespace {
            found.entry(id).or_insert(RefValue::Torn);
        }
    }
    Ok(found)
}

/// Reads a ref; `None` if there is none.
///
/// # Errors
/// The ref cannot be read.
pub fn value(layout: &Layout, namespace: RefNamespace, id: &str) -> Result<Option<RefValue>> {
    let (path, name) = (path(layout, namespace, id), namespace.name_of(id));
    if let Some(value) = ref_files::read_file(&path)? {
        return Ok(Some(value));
    }
    let packed = ref_files::packed(layout, &name)?;
    Ok(packed.get(&name).copied().map(RefValue::Id))
}

/// Writes a ref under a temporary name, to be flushed together with its commit.
///
/// # Errors
/// The file cannot be written.
pub fn stage(layout: &Layout, tip: ObjectId) -> Result<TemporaryFile> {
    atomic_file::write_temporary(&layout.own(), format!("{tip}\n").as_bytes())
}

/// Renames a staged and flushed ref into place, durably.
///
/// # Errors
/// The rename or the flush failed.
pub fn publish(
    layout: &Layout,
    namespace: RefNamespace,
    id: &str,
    tip: ObjectId,
    staged: TemporaryFile,
) -> Result<()> {
    let folder = layout.dir().join(namespace.folder());
    if !folder.is_dir() {
        clear_place(layout, &folder)?;
        directories::create_private(&folder)?;
        let mut above = folder
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(layout.refs()));
        above.try_for_each(atomic_file::sync_directory)?;
    }
    atomic_file::put_in_place(staged, &layout.own(), &path(layout, namespace, id))?;
    atomic_file::sync_directory(&folder)?;
    // Without its entry on the roll the ref is valid; only its loss would go unnoticed.
    let _ = run_roll::enter(layout, namespace, id, tip);
    Ok(())
}

/// Moves a file in place of a folder out of the way; one that is a ref to plain git stays a ref,
/// under another name.
fn clear_place(layout: &Layout, folder: &Path) -> Result<()> {
    let up_to_refs = folder
        .ancestors()
        .take_while(|place| *place != layout.refs());
    for place in up_to_refs.filter(|place| !place.is_dir()) {
        let to = match ref_files::read_file(place)? {
            Some(RefValue::Id(_)) => ref_files::out_of_the_way(layout),
            Some(RefValue::Torn) => layout.own().join(format!("in-the-way-{}", random_hex())),
            None => continue,
        };
        atomic_file::rename(place, &to)?;
    }
    Ok(())
}

/// Writes a ref, durably.
///
/// # Errors
/// The ref cannot be written; it is as before.
pub fn write(layout: &Layout, namespace: RefNamespace, id: &str, tip: ObjectId) -> Result<()> {
    let staged = stage(layout, tip)?;
    staged.sync()?;
    publish(layout, namespace, id, tip, staged)
}

/// Removes a ref, durably; returns whether there was one.
///
/// # Errors
/// The ref cannot be removed.
pub fn remove(layout: &Layout, namespace: RefNamespace, id: &str) -> Result<bool> {
    run_roll::strike_out(layout, namespace, id)?;
    // Plain git may have packed the ref since the lock was taken.
    let was_packed = ref_files::remove_packed(layout, &BTreeSet::from([namespace.name_of(id)]))?;
    let gone = atomic_file::remove_if_there(&path(layout, namespace, id))?;
    if gone {
        atomic_file::sync_directory(&layout.dir().join(namespace.folder()))?;
    }
    Ok(gone || was_packed)
}

/// The path of a ref.
pub fn path(layout: &Layout, namespace: RefNamespace, id: &str) -> PathBuf {
    layout.dir().join(namespace.folder()).join(id)
}
