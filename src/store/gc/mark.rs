//! The mark phase of a prune: every object that is still needed.

use crate::error::{Error, Result, StoreFlaw};
use crate::model::{ObjectId, git_index};
use crate::store::files::read_regular;
use crate::store::refs::ref_files;
use crate::store::trees::convert;
use crate::store::{Family, JournalState, LockedStore, ObjectIds, Reach, Store};

/// Objects reachable from any ref or named by the journal, ignoring refs of `gone` checkpoints.
///
/// # Errors
/// A ref, the journal, a commit or a tree is unreadable: what it needs is unknown, so nothing may
/// be removed.
pub fn live<'s>(store: &'s Store, gone: &ObjectIds) -> Result<Reach<'s>> {
    let mut reach = Reach::new(store);
    extend(store, gone, &mut reach)?;
    Ok(reach)
}

impl<'s> LockedStore<'s> {
    /// As [`live`], after torn refs are repaired.
    ///
    /// # Errors
    /// As [`live`], or a ref cannot be written.
    pub fn live(&self, gone: &ObjectIds) -> Result<Reach<'s>> {
        self.repair_refs()?;
        live(self.store(), gone)
    }
}

/// Adds the live objects to those reached before.
///
/// # Errors
/// As [`live`].
pub fn extend(store: &Store, gone: &ObjectIds, reach: &mut Reach<'_>) -> Result<()> {
    let (blobs, staged_trees) = staged(store);
    reach.extend(roots(store, gone)?, &mut |_| ())?;
    reach.extend(staged_trees, &mut |_| ())?;
    reach.met.extend(blobs);
    Ok(())
}

/// Blobs and trees that plain git has staged in this store: between its `add` and its `commit`
/// nothing else names them, and git could not commit without them.
fn staged(store: &Store) -> (ObjectIds, Vec<ObjectId>) {
    let index = read_regular::read(&store.layout().git_index())
        .ok()
        .and_then(|bytes| git_index::parse(&bytes).ok());
    let index = index.unwrap_or_default();
    let blobs = index
        .blobs
        .into_iter()
        .filter(|id| store.objects().contains(id))
        .collect();
    let whole = |id: &ObjectId| convert::read_snapshot(store.objects(), *id).is_ok();
    (blobs, index.trees.into_iter().filter(whole).collect())
}

fn roots(store: &Store, gone: &ObjectIds) -> Result<Vec<ObjectId>> {
    let layout = store.layout();
    let mut gone = gone.clone();
    gone.extend(lost_pins(store)?);
    let mut roots = ref_files::roots(layout, &gone)?;
    match store.journal()? {
        JournalState::None => {}
        JournalState::Open(journal) => roots.extend([journal.target, journal.safety]),
        JournalState::Unreadable => {
            let what = "the journal of an interrupted restore";
            return Err(Error::damaged(what, StoreFlaw::JournalNeeded));
        }
    }
    // `main` is derived: a missing commit there is ignored, unless it has a checkpoint's ref.
    let lost_main = ref_files::read_main(layout)?
        .filter(|id| !store.objects().contains(id) && !ref_files::exists(layout, *id));
    roots.retain(|id| Some(*id) != lost_main);
    Ok(roots)
}

/// Pins of commits that are neither checkpoints nor in the store: they keep nothing alive.
///
/// # Errors
/// The refs cannot be listed.
pub fn lost_pins(store: &Store) -> Result<Vec<ObjectId>> {
    let mut pins: Vec<ObjectId> = ref_files::names(store.layout(), Family::Pins)?
        .into_iter()
        .collect();
    pins.retain(|id| !ref_files::exists(store.layout(), *id) && !store.objects().contains(id));
    Ok(pins)
}
