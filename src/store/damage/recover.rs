//! Recovery when the lock is taken: refs named only by the manifest or packs, and leftovers of
//! killed processes.

use std::io::ErrorKind;

use crate::error::{Error, Result};
use crate::model::checkpoint::manifest;
use crate::model::{Checkpoint, LineEntry, ObjectId};
use crate::store::damage::unindexed_packs;
use crate::store::files::{atomic_file, read_regular, scratch};
use crate::store::gc::sweep;
use crate::store::objects::loose_files::names_in;
use crate::store::objects::odb::ObjectError;
use crate::store::refs::{adopt, ref_files};
use crate::store::runs::run_refs;
use crate::store::trees::convert;
use crate::store::{
    CommitReader, Family, Inventory, LockedStore, ObjectIds, ObjectKind, RefValue, Store,
};

/// What was recovered, for one warning each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Checkpoints whose ref was gone.
    pub refs_restored: Vec<ObjectId>,
    /// The manifest was unreadable or had lost rows.
    pub manifest_rebuilt: bool,
    /// Commits of plain git that were adopted.
    pub adopted: Vec<ObjectId>,
    /// Number of pack indexes that were missing or damaged.
    pub indexes_rebuilt: usize,
    /// Runs whose ref was torn.
    pub workflows_restored: Vec<String>,
}

impl Recovery {
    fn note(&mut self, checkpoint: &Checkpoint) {
        let told = if checkpoint.adopted {
            &mut self.adopted
        } else {
            &mut self.refs_restored
        };
        told.push(checkpoint.id);
    }
}

/// Recovers the store; the caller holds the lock.
pub fn run(
    store: &Store,
    reader: &mut CommitReader<'_>,
    inventory: &mut Inventory,
) -> Result<Recovery> {
    sweep::sweep_temporaries(&store.layout().objects())?;
    sweep_own(store)?;
    let indexes_rebuilt = recover_indexes(store)?;
    // Those that the index has were right when it was made, and are not opened.
    recover_refs(
        store,
        inventory,
        inventory.checkpoints.unindexed().collect(),
    )?;
    let before = read_manifest(store)?;
    let workflows_restored = recover_runs(store)?;
    let mut recovery = Recovery {
        indexes_rebuilt,
        workflows_restored,
        ..Recovery::default()
    };
    for checkpoint in adopt::run(store.layout(), reader, inventory, before.text())? {
        recovery.note(&checkpoint);
    }
    let rows = before
        .text()
        .map(|text| inventory.rows_without_checkpoint(text));
    let lost: Vec<ObjectId> = match &rows {
        Some(rows) => rows
            .iter()
            .flat_map(|row| store.objects().by_prefix(row))
            .collect(),
        // Without a manifest an evicted checkpoint looks like one whose ref was lost: all are kept.
        None => CommitReader::new(store.objects()).commits_of_no_remote(),
    };
    let may_be_more = rows.as_ref().is_none_or(|rows| rows.len() > lost.len());
    if may_be_more && let Some(unread) = store.objects().take_unread() {
        // A checkpoint not found now gets no row in the next manifest, its last trace.
        return Err(unread);
    }
    let known = if lost.is_empty() {
        ObjectIds::default()
    } else {
        inventory.ids()
    };
    for id in lost.into_iter().filter(|id| !known.contains(id)) {
        if let Some(checkpoint) =
            restore_ref(store, reader, inventory, id, before.text().is_some())?
        {
            recovery.note(&checkpoint);
            inventory.checkpoints.push(checkpoint);
        }
    }
    if rows.is_some_and(|rows| !rows.is_empty()) {
        inventory.add_lost_rows(
            store.layout(),
            store.objects(),
            before.text().unwrap_or_default(),
        )?;
    }
    recovery.manifest_rebuilt = recover_manifest(store, inventory, &before)?;
    recover_main(store, inventory)?;
    Ok(recovery)
}

/// Writes the manifest anew if it lacks rows; returns whether it could not be read.
fn recover_manifest(store: &Store, inventory: &Inventory, before: &ManifestState) -> Result<bool> {
    let layout = store.layout();
    let (was_there, was_readable) = (
        !matches!(before, ManifestState::Missing),
        before.text().is_some(),
    );
    let text = before.text().unwrap_or_default();
    let expected = inventory.manifest(text);
    let differs = !was_readable || text != expected;
    let is_wanted = differs && (was_there || !inventory.checkpoints.is_empty());
    if is_wanted {
        atomic_file::replace_through(&layout.own(), &layout.manifest(), expected.as_bytes())?;
    }
    Ok(is_wanted && !was_readable)
}

/// Rebuilds indexes if damage was noticed or a pack lacks its index: looking at more would slow
/// every command.
fn recover_indexes(store: &Store) -> Result<usize> {
    let objects = store.objects();
    let noticed = objects.has_damaged_packs()
        || !unindexed_packs::without_index(&store.layout().packs())?.is_empty();
    if noticed {
        unindexed_packs::write_indexes(objects)
    } else {
        Ok(0)
    }
}

/// Points `main` at the newest checkpoint, so that plain git finds its history and adds to it.
fn recover_main(store: &Store, inventory: &Inventory) -> Result<()> {
    let main = ref_files::read_main(store.layout())?;
    let newest = inventory.newest().map(|newest| newest.id);
    let is_damaged = |main| !inventory.knows(main) && store.objects().contains(&main);
    match (main, newest) {
        (Some(main), Some(newest)) if main == newest => Ok(()),
        // A damaged commit of plain git, which could not be adopted, is left to the next recording.
        (Some(main), _) if is_damaged(main) => Ok(()),
        (_, Some(newest)) => ref_files::write_main(store.layout(), newest),
        (Some(_), None) if inventory.damaged.is_empty() => ref_files::remove_main(store.layout()),
        (_, None) => Ok(()),
    }
}

/// Removes temporary files that a killed process left beside the lock or the manifest.
fn sweep_own(store: &Store) -> Result<()> {
    scratch::sweep(&store.layout().own())?;
    ref_files::sweep_lock(store.layout())?;
    for dir in [store.layout().own(), store.dir().to_path_buf()] {
        for name in names_in(&dir)? {
            if name.starts_with(atomic_file::TMP_PREFIX) {
                atomic_file::remove_if_there(&dir.join(name))?;
            }
        }
    }
    Ok(())
}

impl LockedStore<'_> {
    /// Restores every torn ref, those too that taking the lock does not open.
    ///
    /// # Errors
    /// A ref cannot be read or written.
    pub fn repair_refs(&self) -> Result<()> {
        let inventory = self.inventory();
        recover_refs(
            self.store(),
            inventory,
            inventory.checkpoints.iter().collect(),
        )
    }
}

/// Restores torn refs of these and of damaged checkpoints from their names, and lost meta refs from
/// the commit's trailer.
fn recover_refs(store: &Store, inventory: &Inventory, opened: Vec<&Checkpoint>) -> Result<()> {
    let layout = store.layout();
    let damaged = inventory.damaged.iter().filter_map(|lost| lost.id.commit());
    for id in opened.iter().map(|c| c.id).chain(damaged) {
        write_if_torn(store, Family::Checkpoints, id)?;
    }
    for id in ref_files::names(layout, Family::Pins)? {
        write_if_torn(store, Family::Pins, id)?;
    }
    let metas = ref_files::names(layout, Family::Meta)?;
    let lost = |entry: &LineEntry| entry.has_meta && !metas.contains(&entry.id);
    let lost = inventory.checkpoints.matching(lost);
    for checkpoint in opened.into_iter().chain(lost) {
        let path = ref_files::path(layout, Family::Meta, checkpoint.id);
        let Some(meta) = checkpoint.meta else {
            continue;
        };
        match ref_files::read_file(&path)? {
            Some(RefValue::Id(found)) if found == meta => {}
            // It is packed.
            None if metas.contains(&checkpoint.id) => {}
            _ => ref_files::write(layout, Family::Meta, checkpoint.id, meta)?,
        }
    }
    // A damaged checkpoint keeps its meta: it may become readable again.
    let known = inventory.ids();
    let gone: Vec<_> = metas
        .difference(&known)
        .map(|id| (Family::Meta, *id))
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    ref_files::remove(layout, &gone)
}

fn write_if_torn(store: &Store, family: Family, id: ObjectId) -> Result<()> {
    let layout = store.layout();
    match ref_files::read_file(&ref_files::path(layout, family, id))? {
        Some(value) if value != RefValue::Id(id) => ref_files::write(layout, family, id, id),
        _ => Ok(()),
    }
}

/// Restores torn refs of runs from the commits; without such a commit a ref is left as it is.
fn recover_runs(store: &Store) -> Result<Vec<String>> {
    let layout = store.layout();
    // If the roll cannot be written, the next writer tries again.
    let _ = run_refs::enter(layout, None);
    let mut restored = Vec::new();
    let refs = run_refs::read(layout)?;
    if refs.values().any(|value| *value == RefValue::Torn) {
        for (id, tip) in store.workflows()? {
            if refs.get(&id) == Some(&RefValue::Torn) {
                run_refs::write(layout, &id, tip)?;
                restored.push(id);
            }
        }
    }
    Ok(restored)
}

enum ManifestState {
    Readable(String),
    Unreadable,
    Missing,
}

impl ManifestState {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Readable(text) => Some(text),
            Self::Unreadable | Self::Missing => None,
        }
    }
}

fn read_manifest(store: &Store) -> Result<ManifestState> {
    let path = store.layout().manifest();
    match read_regular::read(&path) {
        Ok(bytes) => {
            let text = manifest::text_of(bytes);
            Ok(text.map_or(ManifestState::Unreadable, ManifestState::Readable))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(ManifestState::Missing),
        Err(e) if e.kind() == ErrorKind::InvalidData => Ok(ManifestState::Unreadable),
        Err(e) => Err(Error::io("read", &path)(e)),
    }
}

/// Restores the ref of a checkpoint that has none: with a row even if it is damaged, because
/// nothing else would name it; without one only if it is intact.
fn restore_ref(
    store: &Store,
    reader: &mut CommitReader<'_>,
    inventory: &mut Inventory,
    id: ObjectId,
    has_row: bool,
) -> Result<Option<Checkpoint>> {
    match store.objects().read(&id) {
        Err(cause @ (ObjectError::Io(_) | ObjectError::Corrupt { .. })) if has_row => {
            ref_files::write(store.layout(), Family::Checkpoints, id, id)?;
            inventory.add_damaged(id, &cause);
            return Ok(None);
        }
        Ok((ObjectKind::Commit, content)) => reader.take_in(id, content),
        Ok(_) | Err(_) => return Ok(None),
    }
    let Ok(checkpoint) = reader.checkpoint(id) else {
        return Ok(None);
    };
    if !has_row && convert::read_snapshot(store.objects(), checkpoint.tree).is_err() {
        return Ok(None);
    }
    if let Some(meta) = checkpoint.meta {
        ref_files::write(store.layout(), Family::Meta, id, meta)?;
    }
    ref_files::write(store.layout(), Family::Checkpoints, id, id)?;
    Ok(Some(checkpoint))
}
