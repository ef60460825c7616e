//! Finds the objects reachable from given roots: each tree once, by level, on several threads.

use xxhash_rust::xxh3::xxh3_64;

use crate::base::threads::work_queue;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::model::checkpoint::message;
use crate::store::refs::commit_codec;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK};
use crate::store::{IdMap, ObjectIds, ObjectKind, ReadFailure, Store};

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
