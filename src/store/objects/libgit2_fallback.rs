//! Last resort for deltified objects: libgit2, only over packs proven sane.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use crate::base::mutex::lock;
use crate::model::state::object_id::ObjectId;
use crate::store::objects::loose_files::names_in;
use crate::store::objects::object_error::AnyObject;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::objects::pack::pack_list::Pack;

/// The same objects directory, read by libgit2.
pub struct Foreign {
    dir: PathBuf,
    proven: Mutex<Option<Proven>>,
}

/// The result of the safety check, valid while the packs are unchanged.
struct Proven {
    files: Vec<Stamp>,
    /// `None` if libgit2 must not be used.
    odb: Option<git2::Odb<'static>>,
}

/// Name, size in bytes and time of a file among the packs.
type Stamp = (String, u64, Option<SystemTime>);

impl Foreign {
    pub fn new(objects_dir: &Path) -> Self {
        Self {
            dir: objects_dir.to_path_buf(),
            proven: Mutex::default(),
        }
    }

    /// Reads an object whole; reading only the header of a damaged one makes the binding panic.
    /// `None` if libgit2 has none or must not be used.
    pub fn read(&self, id: &ObjectId) -> Option<AnyObject> {
        let oid = git2::Oid::from_bytes(id.as_bytes()).ok()?;
        let files = stamps(&self.dir.join("pack"))?;
        let mut proven = lock(&self.proven);
        if proven.as_ref().is_none_or(|known| known.files != files) {
            let odb = if self.is_sane(&files) {
                self.open()
            } else {
                None
            };
            *proven = Some(Proven { files, odb });
        }
        let object = proven.as_ref()?.odb.as_ref()?.read(oid).ok()?;
        Some((known_kind(object.kind())?, object.data().to_vec()))
    }

    /// Whether libgit2 can read here safely: it trusts an index and maps beyond the end of the
    /// pack, which kills the process, and it blocks forever on a FIFO.
    fn is_sane(&self, files: &[Stamp]) -> bool {
        let (packs, info) = (self.dir.join("pack"), self.dir.join("info"));
        let plain = |folder: &Path, name: &str| {
            let path = folder.join(name);
            is_plain_or_absent(&path) || path.is_dir()
        };
        let sane =
            |name: &str| Pack::stat(&packs, name).is_some_and(|pack| pack.check_places().is_ok());
        names_in(&info).is_ok_and(|names| names.iter().all(|name| plain(&info, name)))
            && files.iter().all(|(name, _, _)| {
                plain(&packs, name)
                    && !name.starts_with("multi-pack-index")
                    && name.strip_suffix(".idx").is_none_or(sane)
            })
    }

    /// Opens no repository, so that no config, ref or HEAD is read. Paths must be UTF-8.
    fn open(&self) -> Option<git2::Odb<'static>> {
        let odb = git2::Odb::new().ok()?;
        odb.add_disk_alternate(self.dir.to_str()?).ok()?;
        Some(odb)
    }
}

/// The files in a directory, sorted; `None` if it cannot be listed or a name is not UTF-8.
fn stamps(folder: &Path) -> Option<Vec<Stamp>> {
    let mut stamps = Vec::new();
    for entry in std::fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let meta = entry.metadata().ok()?;
        stamps.push((
            entry.file_name().into_string().ok()?,
            meta.len(),
            meta.modified().ok(),
        ));
    }
    stamps.sort();
    Some(stamps)
}

fn is_plain_or_absent(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |meta| meta.is_file())
}

fn known_kind(kind: git2::ObjectType) -> Option<ObjectKind> {
    match kind {
        git2::ObjectType::Blob => Some(ObjectKind::Blob),
        git2::ObjectType::Tree => Some(ObjectKind::Tree),
        git2::ObjectType::Commit => Some(ObjectKind::Commit),
        git2::ObjectType::Tag => Some(ObjectKind::Tag),
        git2::ObjectType::Any => None,
    }
}
