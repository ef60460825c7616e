//! Kept copies that may hold more than a salvage could take, to be fetched once readable.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::damage::check_store::lacks_only_bytes;
use crate::store::damage::replace_store;
use crate::store::damage::salvage_objects::{Unreadable, copy_readable};
use crate::store::damage::salvage_refs::{remembered, restore_refs};
use crate::store::files::{atomic_file, read_regular};
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::refs::ref_files;
use crate::store::{KnownRefs, Layout, LockedStore, Objects};

/// By name of a kept copy: ids of checkpoints and names of refs that the store was already given.
/// They are not fetched again, so that dropped ones stay dropped.
type Notes = BTreeMap<String, BTreeSet<String>>;

/// Notes that a kept copy may hold checkpoints that its store lacks, beyond `already_given`.
///
/// # Errors
/// The note cannot be written.
pub fn note(layout: &Layout, copy: &Path, already_given: BTreeSet<String>) -> Result<()> {
    let mut notes = noted(layout)?;
    notes.insert(name_of(copy), already_given);
    write(layout, &notes)
}

/// The noted kept copies that still exist.
///
/// # Errors
/// The note cannot be read.
pub fn copies(layout: &Layout) -> Result<Vec<PathBuf>> {
    let notes = noted(layout)?;
    let mut copies = replace_store::damaged_copies(layout.dir());
    copies.retain(|copy| notes.contains_key(&name_of(copy)));
    Ok(copies)
}

fn name_of(copy: &Path) -> String {
    copy.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Fetches what the noted copies can give by now, and forgets copies without more. Returns the
/// number of fetched checkpoints; if any, the caller reads the inventory again.
///
/// # Errors
/// The store cannot be written, or the caller asked to stop.
pub fn fetch(locked: &LockedStore<'_>, check_interrupt: &dyn Fn() -> Result<()>) -> Result<usize> {
    let layout = locked.store().layout();
    let before = noted(layout)?;
    let mut after = Notes::new();
    let mut fetched = 0;
    for copy in copies(layout)? {
        let mut already_given = before.get(&name_of(&copy)).cloned().unwrap_or_default();
        let (came, is_all) = fetch_from(
            locked,
            &Layout::new(copy.clone()),
            &mut already_given,
            check_interrupt,
        )?;
        fetched += came;
        if !is_all {
            after.insert(name_of(&copy), already_given);
        }
    }
    if before != after {
        write(layout, &after)?;
    }
    Ok(fetched)
}

/// Returns the number of fetched checkpoints, and whether the copy has no more.
fn fetch_from(
    locked: &LockedStore<'_>,
    copy: &Layout,
    already_given: &mut BTreeSet<String>,
    check_interrupt: &dyn Fn() -> Result<()>,
) -> Result<(usize, bool)> {
    let store = locked.store();
    let Ok(old) = Objects::open(&copy.objects()) else {
        return Ok((0, false));
    };
    old.make_packs_readable();
    let mut wanted = remembered(copy, &old);
    wanted
        .checkpoints
        .retain(|id| !already_given.contains(&id.to_hex()));
    wanted
        .others
        .retain(|name, _| !already_given.contains(name));
    let is_readable = |id: &ObjectId| read_checkpoint(&old, *id).is_ok();
    let readable: Vec<ObjectId> = wanted
        .checkpoints
        .iter()
        .copied()
        .filter(is_readable)
        .collect();
    if readable.is_empty() && !wanted.others.values().any(|id| old.contains(id)) {
        return Ok((
            0,
            wanted.checkpoints.is_empty() && wanted.others.is_empty() && !wanted.is_doubtful,
        ));
    }
    copy_readable(
        &copy.objects(),
        store.objects(),
        Unreadable::IsPassedOver,
        check_interrupt,
    )?;
    let came: Vec<ObjectId> = readable
        .into_iter()
        .filter(|id| lacks_only_bytes(store, &(*id).into()))
        .collect();
    let lost = restore_refs(
        store.layout(),
        store.objects(),
        &wanted,
        &came,
        check_interrupt,
    )?;
    ref_files::sync(store.layout())?;
    already_given.extend(given(&wanted, &came, &lost));
    Ok((
        came.len(),
        came.len() == wanted.checkpoints.len() && lost.is_empty() && !wanted.is_doubtful,
    ))
}

/// The remembered checkpoints and refs that a store was given.
pub fn given(
    remembered: &KnownRefs,
    checkpoints: &[ObjectId],
    lost_refs: &[String],
) -> BTreeSet<String> {
    let names = remembered
        .others
        .keys()
        .filter(|name| !lost_refs.contains(name))
        .cloned();
    checkpoints
        .iter()
        .map(|id| id.to_hex())
        .chain(names)
        .collect()
}

fn noted(layout: &Layout) -> Result<Notes> {
    let text = match read_regular::read_text(&layout.left_behind()) {
        // A note that is not text counts as none.
        Err(cause)
            if matches!(
                cause.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData
            ) =>
        {
            String::new()
        }
        read => read.map_err(Error::io("read", &layout.left_behind()))?,
    };
    let note = |line: &str| {
        let mut words = line.split(' ').map(str::to_owned);
        Some((words.next()?, words.collect()))
    };
    Ok(text.lines().filter_map(note).collect())
}

fn write(layout: &Layout, notes: &Notes) -> Result<()> {
    if notes.is_empty() {
        return atomic_file::remove_if_there(&layout.left_behind()).map(drop);
    }
    let words = |already_given: &BTreeSet<String>| {
        already_given
            .iter()
            .map(|word| format!(" {word}"))
            .collect::<String>()
    };
    let text: String = notes
        .iter()
        .map(|(name, already_given)| format!("{name}{}\n", words(already_given)))
        .collect();
    atomic_file::replace_through(&layout.own(), &layout.left_behind(), text.as_bytes())
}
