//! Forged git objects that no honest program writes: correct hashes of any bytes, loose or packed.

use std::path::Path;

use git2::Repository;
pub use git2::{ObjectType as Kind, Oid as Id};
use tempfile::TempDir;

use super::field;

/// Objects to be written, in a repository of their own.
pub struct Forge {
    place: TempDir,
    repository: Repository,
    ids: Vec<Id>,
}

impl Forge {
    pub fn new() -> Self {
        let place = field::place("forge");
        let repository = Repository::init_bare(place.path()).expect("a repository can be made");
        Self {
            place,
            repository,
            ids: Vec::new(),
        }
    }

    pub fn put(&mut self, kind: Kind, bytes: &[u8]) -> Id {
        let written = self.repository.odb().and_then(|odb| odb.write(kind, bytes));
        let id = written.expect("an object can be written, whatever it says");
        self.ids.push(id);
        id
    }

    /// Writes each object as a loose file.
    pub fn write_loose(&self, objects: &Path) {
        for id in &self.ids {
            let hex = id.to_string();
            let name = Path::new(&hex[..2]).join(&hex[2..]);
            std::fs::create_dir_all(objects.join(&hex[..2])).expect("a directory can be made");
            let from = self.place.path().join("objects").join(&name);
            std::fs::copy(from, objects.join(name)).expect("an object can be copied");
        }
    }

    /// Writes all objects into one pack, with its index.
    pub fn write_pack(&self, objects: &Path) {
        let mut pack = self.repository.packbuilder().expect("a pack can be begun");
        for id in &self.ids {
            pack.insert_object(*id, None).expect("it was written");
        }
        pack.write(&objects.join("pack"), 0o444)
            .expect("a pack can be written");
    }
}
