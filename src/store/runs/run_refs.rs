//! The refs of runs. Their names are chosen by people, so a torn file does not tell its value; the
//! roll has all their ids, so that the loss of a ref is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::run_id::is_legal;
use crate::store::files::checksummed_text::{self, document};
use crate::store::files::{atomic_file, directories};
use crate::store::refs::ref_files;
use crate::store::{Layout, RefValue, TemporaryFile};

const FOLDER: &str = "refs/workflows";

/// The full name of a ref.
pub fn name_of(id: &str) -> String {
    format!("{FOLDER}/{id}")
}

/// The id in the full name of a ref; `None` if it is no ref of a run.
pub fn id_in(name: &str) -> Option<&str> {
    let id = name.strip_prefix(FOLDER)?.strip_prefix('/')?;
    is_legal(id).then_some(id)
}

/// The refs that exist, by id. Files with other names are not ours.
///
/// # Errors
/// The refs cannot be listed or read.
pub fn stored(layout: &Layout) -> Result<BTreeMap<String, RefValue>> {
    let mut found = BTreeMap::new();
    for (name, value) in ref_files::packed(layout, FOLDER)? {
        found.extend(id_in(&name).map(|id| (id.to_owned(), RefValue::Id(value))));
    }
    for entry in ref_files::list(&layout.dir().join(FOLDER))? {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let id = name.to_str().filter(|id| is_legal(id) && !is_folder);
        if let Some(id) = id {
            found.extend(ref_files::read_file(&entry.path())?.map(|value| (id.to_owned(), value)));
        }
    }
    Ok(found)
}

/// As [`stored`]. A run that is on the roll but has no ref has lost it and counts as torn.
///
/// # Errors
/// The refs cannot be listed or read.
pub fn read(layout: &Layout) -> Result<BTreeMap<String, RefValue>> {
    let mut found = stored(layout)?;
    for id in roll(layout).unwrap_or_default() {
        found.entry(id).or_insert(RefValue::Torn);
    }
    Ok(found)
}

/// Reads a ref; `None` if there is none.
///
/// # Errors
/// The ref cannot be read.
pub fn value(layout: &Layout, id: &str) -> Result<Option<RefValue>> {
    let (path, name) = (path(layout, id), name_of(id));
    if let Some(value) = ref_files::read_file(&path)? {
        return Ok(Some(value));
    }
    let packed = ref_files::packed(layout, &name)?;
    Ok(packed.get(&name).copied().map(RefValue::Id))
}

/// Renames a staged and flushed ref into place, durably.
///
/// # Errors
/// The rename or the flush failed.
pub fn publish(layout: &Layout, id: &str, staged: TemporaryFile) -> Result<()> {
    let folder = layout.dir().join(FOLDER);
    if !folder.is_dir() {
        clear_place(layout, &folder)?;
        directories::create_private(&folder)?;
        let above = folder.ancestors().skip(1);
        let mut above = above.take_while(|above| above.starts_with(layout.refs()));
        above.try_for_each(atomic_file::sync_directory)?;
    }
    atomic_file::put_in_place(staged, &layout.own(), &path(layout, id))?;
    atomic_file::sync_directory(&folder)?;
    // Without its entry on the roll the ref is valid; only its loss would go unnoticed.
    let _ = enter(layout, Some(id));
    Ok(())
}

/// Moves a file in place of a folder out of the way; one that is a ref to plain git stays a ref,
/// under another name.
fn clear_place(layout: &Layout, folder: &Path) -> Result<()> {
    let places = folder.ancestors();
    let up_to_refs = places.take_while(|place| *place != layout.refs());
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
pub fn write(layout: &Layout, id: &str, tip: ObjectId) -> Result<()> {
    let staged = ref_files::stage(layout, tip)?;
    staged.sync()?;
    publish(layout, id, staged)
}

/// Removes a ref, durably; returns whether there was one.
///
/// # Errors
/// The ref cannot be removed.
pub fn remove(layout: &Layout, id: &str) -> Result<bool> {
    strike_out(layout, id)?;
    // Plain git may have packed the ref since the lock was taken.
    let was_packed = ref_files::remove_packed(layout, &BTreeSet::from([name_of(id)]))?;
    let gone = atomic_file::remove_if_there(&path(layout, id))?;
    if gone {
        atomic_file::sync_directory(&layout.dir().join(FOLDER))?;
    }
    Ok(gone || was_packed)
}

/// The path of a ref.
pub fn path(layout: &Layout, id: &str) -> PathBuf {
    layout.dir().join(FOLDER).join(id)
}

/// Reads the roll; `None` if it is missing or invalid.
pub fn roll(layout: &Layout) -> Option<BTreeSet<String>> {
    let are_legal = |ids: &BTreeSet<String>| ids.iter().all(|id| is_legal(id));
    let is_sound = |roll: &Option<_>| roll.as_ref().is_none_or(are_legal);
    checksummed_text::read_if(&layout.workflow_roll(), is_sound).ok()?
}

/// Adds a new run to the roll. A missing roll is made from the refs, if there are any.
///
/// # Errors
/// The refs cannot be read, or the roll cannot be written; it is as before.
pub fn enter(layout: &Layout, new: Option<&str>) -> Result<()> {
    let known = roll(layout);
    let mut ids = match &known {
        Some(ids) => ids.clone(),
        None => stored(layout)?.into_keys().collect(),
    };
    ids.extend(new.map(str::to_owned));
    if ids == known.unwrap_or_default() {
        return Ok(());
    }
    let path = layout.workflow_roll();
    atomic_file::replace_derived(&layout.own(), &path, document(&ids).as_bytes())
}

/// Removes a run from the roll, durably, before its ref goes, so that it is not reported as lost.
/// If the roll cannot be read or written, it is deleted.
fn strike_out(layout: &Layout, id: &str) -> Result<()> {
    let path = layout.workflow_roll();
    let delete = || {
        atomic_file::remove_if_there(&path)?;
        atomic_file::sync_directory(&layout.own())
    };
    let Some(mut ids) = roll(layout) else {
        return delete();
    };
    if !ids.remove(id) {
        return Ok(());
    }
    let written = atomic_file::replace_through(&layout.own(), &path, document(&ids).as_bytes());
    written.or_else(|_| delete())
}
