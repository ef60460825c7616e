//! The bare repository by which git itself talks to one remote. It borrows the objects of the store
//! and keeps only the newest carrier that was pushed: all else in it is made anew each time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::text::escape_path;
use crate::error::{Code, Error, Result, Sentence};
use crate::model::ObjectId;
use crate::store::files::{atomic_file, directories, read_regular, scratch};
use crate::store::objects::loose_files;
use crate::store::objects::object_hash::hash_object;
use crate::store::refs::commit_codec;
use crate::store::transfer::{carrier, remotes};
use crate::store::{
    Deflater, Layout, LineName, LineState, LockGuard, LockWait, ObjectKind, Objects, Store, lock,
};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
/// Names no branch that exists.
const HEAD: &str = "ref: refs/heads/none\n";
/// The objects of the store, as seen from those of the repository.
const ALTERNATES: &str = "../../../../objects\n";
/// The same, and carriers that were pushed: a fetch must not take them for fetched.
const ALTERNATES_OF_PUSH: &str = "../../../../objects\n../carriers\n";
/// Folder of the refs that git fetched.
pub const FETCHED: &str = "refs/fetched/";
/// Name of the carrier that is being pushed.
pub const PUSHED: &str = "refs/pushed";
/// The directory of what was fetched, until it is checked.
const QUARANTINE: &str = "quarantine";
/// The file that names the carrier that was pushed last, and its line.
const LAST: &str = "pushed";

/// The repository, locked by this process.
pub struct Transport {
    dir: PathBuf,
    _lock: LockGuard,
}

/// Refuses what git, which reads all objects of the store, would wait for.
fn refuse_pipes(folder: &Path) -> Result<()> {
    for entry in folder.read_dir().map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        // What is gone meanwhile is no pipe.
        let found = path.metadata().ok();
        if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            refuse_pipes(&path)?;
        } else if found.is_some_and(|found| !found.is_file()) {
            return Err(Error::new(
                Code::DAMAGED,
                format!(
                    "{} is no plain file, and git would wait for it; nothing was changed",
                    escape_path(&path)
                ),
            )
            .next(Sentence::new(
                "'checkpoint verify --repair' sets it aside",
                &[],
            )));
        }
    }
    Ok(())
}

/// A carrier that this store pushed.
#[derive(Clone, Debug)]
pub struct OwnCarrier {
    pub id: ObjectId,
    pub state: LineState,
}

impl Transport {
    /// Makes the repository ready; another process that talks to the same remote is waited for.
    ///
    /// # Errors
    /// It cannot be made, or stays locked.
    pub fn open(store: &Store, remote: &str, wait: LockWait, holder: &str) -> Result<Self> {
        let layout = store.layout();
        refuse_pipes(&layout.objects())?;
        let dir = layout.transport(remote);
        let packs = dir.join("objects").join("pack");
        let info = dir.join("objects").join("info");
        for folder in [&packs, &info, &dir.join("refs"), &dir.join("carriers")] {
            directories::create_private(folder)?;
        }
        let lock = lock::acquire(&dir.join("lock"), wait, Some(holder))?;
        let files = [
            ("config", CONFIG),
            ("HEAD", HEAD),
            ("objects/info/alternates", ALTERNATES),
        ];
        for (name, text) in files {
            let path = dir.join(name);
            if !read_regular::read_text(&path).is_ok_and(|known| known == text) {
                atomic_file::replace_derived(&dir, &path, text.as_bytes())?;
            }
        }
        let transport = Self { dir, _lock: lock };
        transport.clear()?;
        transport.drop_torn()?;
        Ok(transport)
    }

    /// Removes objects that are not what their names say.
    fn drop_torn(&self) -> Result<()> {
        let objects = self.carriers();
        for id in loose_files::list(&objects)? {
            let path = loose_files::path_of(&objects, &id);
            if loose_files::read(&objects, &id).is_err() {
                atomic_file::remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// Objects of carriers that were pushed.
    fn carriers(&self) -> PathBuf {
        self.dir.join("carriers")
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes packs that were fetched, refs that were set for it, and what killed processes left.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> Result<()> {
        scratch::remove_all(&self.quarantine())?;
        scratch::remove_all(&self.dir.join("refs"))?;
        directories::create_private(&self.dir.join("refs"))?;
        let packs = self.dir.join("objects").join("pack");
        for name in loose_files::names_in(&packs)? {
            atomic_file::remove_if_there(&packs.join(name))?;
        }
        let mut left = loose_files::names_in(&self.dir)?;
        left.retain(|name| name.starts_with(atomic_file::TMP_PREFIX));
        for name in left.iter().map(String::as_str).chain(["packed-refs"]) {
            atomic_file::remove_if_there(&self.dir.join(name))?;
        }
        Ok(())
    }

    /// Names commits whose objects are all here, so that git asks for no others: the newest carriers
    /// that were fetched, and checkpoints.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_known(
        &self,
        lines: &BTreeMap<LineName, ObjectId>,
        checkpoints: &BTreeSet<ObjectId>,
    ) -> Result<()> {
        let lines = lines
            .iter()
            .map(|(line, id)| format!("{id} {FETCHED}{line}\n"));
        let known = checkpoints
            .iter()
            .map(|id| format!("{id} refs/known/{id}\n"));
        let text: String = lines.chain(known).collect();
        atomic_file::replace_derived(&self.dir, &self.dir.join("packed-refs"), text.as_bytes())
    }

    /// Hides the objects of the store from git, so that it fetches all of them, or shows them again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn hide_store(&self, is_hidden: bool) -> Result<()> {
        self.set_alternates(if is_hidden { "" } else { ALTERNATES })
    }

    fn set_alternates(&self, text: &str) -> Result<()> {
        let path = self.dir.join("objects").join("info").join("alternates");
        atomic_file::replace_derived(&self.dir, &path, text.as_bytes())
    }

    /// Gives the carrier to be pushed a name, as the helpers of other transports need one. Hides the
    /// parents of `former` from git, since some are here no more: what makes packs does not look at
    /// that, see `git-replace(1)`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn prepare_push(&self, carrier: ObjectId, former: Option<ObjectId>) -> Result<()> {
        self.set_alternates(ALTERNATES_OF_PUSH)?;
        let mut text = format!("{carrier} {PUSHED}\n");
        if let Some(former) = former {
            let tree = hash_object(ObjectKind::Tree, &[]).map_err(Error::unexpected)?;
            let stub = commit_codec::encode_after(tree, &[], 0, "stands for a carrier\n");
            let stub = self.put(ObjectKind::Commit, &stub)?;
            text.push_str(&format!("{stub} refs/replace/{former}\n"));
        }
        atomic_file::replace_derived(&self.dir, &self.dir.join("packed-refs"), text.as_bytes())
    }

    /// A directory for what was fetched, gone with [`Self::clear`].
    pub fn quarantine(&self) -> PathBuf {
        self.dir.join(QUARANTINE)
    }

    /// The packs that git fetched.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn packs(&self) -> Result<Vec<PathBuf>> {
        let folder = self.dir.join("objects").join("pack");
        let mut names = loose_files::names_in(&folder)?;
        names.retain(|name| Path::new(name).extension().is_some_and(|end| end == "pack"));
        Ok(names.into_iter().map(|name| folder.join(name)).collect())
    }

    /// Reads the newest carriers that git fetched.
    ///
    /// # Errors
    /// The refs cannot be read.
    pub fn fetched(&self) -> Result<BTreeMap<LineName, ObjectId>> {
        remotes::lines_in(&Layout::new(self.dir.clone()), FETCHED)
    }

    /// Returns the carrier that was pushed last, if it was to this line; a later one may have arrived.
    pub fn last(&self, line: &LineName) -> Option<OwnCarrier> {
        let text = read_regular::read_text(&self.dir.join(LAST)).ok()?;
        let (id, of) = text.trim_end().split_once(' ')?;
        let id = ObjectId::from_hex(id).filter(|_| of == line.on_server())?;
        self.own(id)
    }

    /// Notes what arrived.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_last(&self, line: &LineName, carrier: ObjectId) -> Result<()> {
        let text = format!("{carrier} {}\n", line.on_server());
        atomic_file::replace_derived(&self.dir, &self.dir.join(LAST), text.as_bytes())
    }

    /// Returns a carrier that this store wrote, and did not drop.
    pub fn own(&self, id: ObjectId) -> Option<OwnCarrier> {
        let state = carrier::state(&Objects::open(&self.carriers()).ok()?, id).ok()?;
        Some(OwnCarrier { id, state })
    }

    /// Drops all carriers but the one whose objects these are.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn drop_carriers(&self, parts: &BTreeSet<ObjectId>) -> Result<()> {
        let objects = self.carriers();
        for id in loose_files::list(&objects)? {
            if !parts.contains(&id) {
                atomic_file::remove_if_there(&loose_files::path_of(&objects, &id))?;
            }
        }
        Ok(())
    }

    /// Stores an object of a carrier. It is not flushed: [`Self::open`] drops what a power cut tore.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, kind: ObjectKind, content: &[u8]) -> Result<ObjectId> {
        let id = hash_object(kind, content).map_err(Error::unexpected)?;
        let objects = self.carriers();
        let path = loose_files::path_of(&objects, &id);
        let mut whole = format!("{} {}\0", kind.into_str(), content.len()).into_bytes();
        whole.extend_from_slice(content);
        directories::create_private(path.parent().unwrap_or(&objects))?;
        let mut deflater = Deflater::default();
        atomic_file::replace_derived(&self.dir, &path, deflater.compress(&whole))?;
        Ok(id)
    }
}
