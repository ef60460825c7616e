//! Deltified objects, which libgit2 reads. The only file that names git2.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::model::object_id::ObjectId;
use crate::store::hash::ObjectKind;
use crate::store::loose_files::names_in;

/// The same objects directory, as libgit2 sees it.
pub struct Foreign {
    dir: PathBuf,
    odb: OnceLock<Option<git2::Odb<'static>>>,
}

/// What libgit2 has under an id.
pub enum Read {
    /// The kind is `None` for a tag.
    Object(Option<ObjectKind>, Vec<u8>),
    Missing,
    /// libgit2 cannot be asked.
    Unable,
    Corrupt(String),
}

impl Foreign {
    pub fn new(objects_dir: &Path) -> Self {
        Self { dir: objects_dir.to_path_buf(), odb: OnceLock::new() }
    }

    /// Reads an object whole: its header alone is not asked for, because of a damaged one the binding makes a panic.
    pub fn read(&self, id: &ObjectId) -> Read {
        let (Some(odb), Ok(oid)) = (self.odb(), git2::Oid::from_bytes(id.as_bytes())) else { return Read::Unable };
        match odb.read(oid) {
            Ok(object) => Read::Object(known_kind(object.kind()), object.data().to_vec()),
            Err(cause) if cause.code() == git2::ErrorCode::NotFound => Read::Missing,
            Err(cause) => Read::Corrupt(cause.message().to_owned()),
        }
    }

    /// No repository, so that no config, ref or HEAD is read. libgit2 opens whatever it finds among the packs, and a
    /// FIFO there would block it for ever; a path that is not UTF-8 it cannot be given.
    fn odb(&self) -> Option<&git2::Odb<'static>> {
        self.odb
            .get_or_init(|| {
                let folders = [self.dir.join("pack"), self.dir.join("info")];
                let plain = |folder: &PathBuf| {
                    let names = names_in(folder).unwrap_or_default();
                    names.iter().all(|name| is_plain_or_absent(&folder.join(name)) || folder.join(name).is_dir())
                };
                if !folders.iter().all(plain) {
                    return None;
                }
                let odb = git2::Odb::new().ok()?;
                odb.add_disk_alternate(self.dir.to_str()?).ok()?;
                Some(odb)
            })
            .as_ref()
    }
}

fn is_plain_or_absent(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |meta| meta.is_file())
}

fn known_kind(kind: git2::ObjectType) -> Option<ObjectKind> {
    match kind {
        git2::ObjectType::Blob => Some(ObjectKind::Blob),
        git2::ObjectType::Tree => Some(ObjectKind::Tree),
        git2::ObjectType::Commit => Some(ObjectKind::Commit),
        _ => None,
    }
}
