//! What is still needed: finds the objects reachable from given roots, each tree once, by level, on
//! several threads.

use xxhash_rust::xxh3::xxh3_64;

use crate::base::threads::work_queue;
use crate::error::{Error, Result, StoreFlaw};
use crate::model::checkpoint::message;
use crate::model::{ObjectId, git_index};
use crate::store::files::read_regular;
use crate::store::refs::{commit_codec, ref_files};
use crate::store::trees::convert;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK};
use crate::store::{
    Family, IdMap, JournalState, LockedStore, ObjectIds, ObjectKind, ReadFailure, Store,
};

/// Objects per level for which another thread pays off.
const WORTH_A_THREAD: usize = 64;

/// All objects reached so far.
pub struct Reach<'s> {
    store: &'s Store,
    pub met: ObjectIds,
    /// For each blob met, a hash of the name that it has in some tree.
    pub names: IdMap<u64>,
    /// What an unreadable object prevents, in words.
    consequence: &'static str,
}

/// Objects named by other objects.
#[derive(Default)]
struct Links {
    /// Still to be read.
    to_read: Vec<ObjectId>,
    /// With a hash of the name.
    blobs: Vec<(ObjectId, u64)>,
}

impl<'s> Reach<'s> {
    pub fn new(store: &'s Store) -> Self {
        Self {
            store,
            met: ObjectIds::default(),
            names: IdMap::default(),
            consequence: "; nothing is pruned while that is so",
        }
    }

    /// As [`Self::new`], for work that removes nothing.
    pub fn to_copy(store: &'s Store) -> Self {
        Self {
            consequence: "",
            ..Self::new(store)
        }
    }

    /// Adds all objects reachable from `roots`, and calls `on_new` for each new one.
    ///
    /// # Errors
    /// A commit or a tree cannot be read.
    pub fn extend(&mut self, roots: Vec<ObjectId>, on_new: &mut dyn FnMut(ObjectId)) -> Result<()> {
        let mut found = Links {
            to_read: roots,
            blobs: Vec::new(),
        };
        loop {
            for (id, name) in found.blobs.drain(..) {
                if self.met.insert(id) {
                    self.names.insert(id, name);
                    on_new(id);
                }
            }
            found.to_read.retain(|id| self.met.insert(*id));
            if found.to_read.is_empty() {
                return Ok(());
            }
            found.to_read.iter().for_each(|id| on_new(*id));
            found = self.read_all(&found.to_read)?;
        }
    }

    fn read_all(&self, ids: &[ObjectId]) -> Result<Links> {
        let mut all = Links::default();
        for links in work_queue::split(ids, WORTH_A_THREAD, |part| self.read_some(part)) {
            let links = links?;
            all.to_read.extend(links.to_read);
            all.blobs.extend(links.blobs);
        }
        Ok(all)
    }

    fn read_some(&self, ids: &[ObjectId]) -> Result<Links> {
        let mut links = Links::default();
        for id in ids {
            self.read_one(*id, &mut links).map_err(|why| {
                Error::damaged(
                    format!("object {}", id.short()),
                    format!("{why}{}", self.consequence),
                )
            })?;
        }
        Ok(links)
    }

    fn read_one(&self, id: ObjectId, links: &mut Links) -> Result<(), ReadFailure> {
        let (kind, bytes) = self.store.objects().read_any(&id)?;
        match kind {
            ObjectKind::Blob => {}
            ObjectKind::Tag => links
                .to_read
                .push(commit_codec::tagged(&bytes).ok_or("it is a tag that names nothing")?),
            ObjectKind::Commit => self.read_commit(&bytes, links)?,
            ObjectKind::Tree => {
                for line in tree_codec::lines(&bytes) {
                    let line = line?;
                    match line.mode {
                        MODE_DIRECTORY => links.to_read.push(line.id),
                        MODE_GITLINK => {}
                        _ => links.blobs.push((line.id, xxh3_64(line.name))),
                    }
                }
            }
        }
        Ok(())
    }

    fn read_commit(&self, bytes: &[u8], links: &mut Links) -> Result<(), ReadFailure> {
        let commit = commit_codec::parse(bytes)?;
        // A commit of plain git does not need its lost ancestors.
        let parents = commit
            .parents
            .into_iter()
            .filter(|parent| self.store.objects().read(parent).is_ok());
        links.to_read.extend(parents);
        links.to_read.push(commit.tree);
        // Named here too, so that a lost meta ref does not lose the meta.
        links.to_read.extend(
            message::parse(&commit.message)
                .ok()
                .and_then(|(_, meta)| meta),
        );
        Ok(())
    }
}

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
