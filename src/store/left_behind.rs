//! What a salvage could not take over: the kept copies that may hold more, and fetching it once they can be read.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::object_id::ObjectId;
use crate::store::commit_reader::read_checkpoint;
use crate::store::durable;
use crate::store::layout::Layout;
use crate::store::locked::LockedStore;
use crate::store::objects::Objects;
use crate::store::plain_file;
use crate::store::refs::{self, Family};
use crate::store::salvage::lacks_only_bytes;
use crate::store::salvage_objects::{Unreadable, take_over};
use crate::store::salvage_refs::{other_refs, put_back, remembered};
use crate::store::swap;

/// Remembers that a kept copy may hold checkpoints which its store lacks.
///
/// # Errors
/// The note cannot be written.
pub fn note(layout: &Layout, copy: &Path) -> Result<()> {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    let mut names = noted(layout)?;
    names.insert(name.into_owned());
    write(layout, &names)
}

/// The kept copies that are noted and still there.
///
/// # Errors
/// The note cannot be read.
pub fn copies(layout: &Layout) -> Result<Vec<PathBuf>> {
    let names = noted(layout)?;
    let mut copies = swap::kept_copies(layout.dir());
    copies.retain(|copy| copy.file_name().is_some_and(|name| names.contains(name.to_string_lossy().as_ref())));
    Ok(copies)
}

/// Brings over what the noted copies can give by now, and forgets those that have nothing more. How many checkpoints
/// came; the caller reads the list anew then.
///
/// # Errors
/// The store cannot be written, or we were asked to stop.
pub fn fetch(locked: &LockedStore<'_>, go_on: &dyn Fn() -> Result<()>) -> Result<usize> {
    let layout = locked.store().layout();
    let mut still_wanted = BTreeSet::new();
    let mut fetched = 0;
    for copy in copies(layout)? {
        let (came, is_all) = fetch_from(locked, &Layout::new(copy.clone()), go_on)?;
        fetched += came;
        if !is_all {
            still_wanted.extend(copy.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    if noted(layout)? != still_wanted {
        write(layout, &still_wanted)?;
    }
    Ok(fetched)
}

/// How many checkpoints came, and whether the copy has no more.
fn fetch_from(locked: &LockedStore<'_>, copy: &Layout, go_on: &dyn Fn() -> Result<()>) -> Result<(usize, bool)> {
    let store = locked.store();
    let Ok(old) = Objects::open(&copy.objects()) else { return Ok((0, false)) };
    old.look_again();
    let mut wanted = remembered(copy, &old);
    let known: BTreeSet<ObjectId> = refs::names(store.layout(), Family::Checkpoints)?.into_iter().collect();
    let missing: Vec<ObjectId> = wanted.checkpoints.difference(&known).copied().collect();
    let readable: Vec<ObjectId> = missing.iter().copied().filter(|id| read_checkpoint(&old, *id).is_ok()).collect();
    let there = other_refs(store.layout());
    wanted.others.retain(|name, _| !there.contains_key(name));
    if readable.is_empty() && !wanted.others.values().any(|id| old.contains(id)) {
        return Ok((0, missing.is_empty() && wanted.others.is_empty() && !wanted.is_doubtful));
    }
    take_over(&copy.objects(), store.objects(), Unreadable::IsPassedOver, go_on)?;
    let came: Vec<ObjectId> = readable.into_iter().filter(|id| lacks_only_bytes(store, *id)).collect();
    let lost = put_back(store.layout(), store.objects(), &wanted, &came, go_on)?;
    refs::sync(store.layout())?;
    Ok((came.len(), came.len() == missing.len() && lost.is_empty() && !wanted.is_doubtful))
}

fn noted(layout: &Layout) -> Result<BTreeSet<String>> {
    match plain_file::read_text(&layout.left_behind()) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        // A note that is no text is as good as none.
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
            Ok(BTreeSet::new())
        }
        Err(cause) => Err(Error::io("read", &layout.left_behind())(cause)),
    }
}

fn write(layout: &Layout, names: &BTreeSet<String>) -> Result<()> {
    if names.is_empty() {
        return durable::remove_if_there(&layout.left_behind()).map(drop);
    }
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    durable::replace_through(&layout.own(), &layout.left_behind(), text.as_bytes())
}
