//! Databases of a checkpoint written into another directory: those of SQLite become files there.

use crate::error::Result;
use crate::model::{Database, Entry, Held, Kind, RestoreScope, Snapshot};
use crate::ops::{Target, Warning};
use crate::store::Store;

/// Permission bits of a database, which are not recorded: access for the owner only.
const PERM: u32 = 0o600;
const DIR_PERM: u32 = 0o755;

#[derive(Debug, Default)]
pub struct WrittenDatabases {
    pub written: Vec<Database>,
    pub skipped: Vec<Warning>,
}

/// Adds the databases to the files to be written, and returns which are skipped.
///
/// # Errors
/// The content of a database cannot be read.
pub fn add_files(
    store: &Store,
    target: &Target<'_>,
    scope: &RestoreScope,
    snapshot: &mut Snapshot,
) -> Result<WrittenDatabases> {
    let mut done = WrittenDatabases::default();
    for (database, held) in target.databases_within(scope) {
        match (database, held) {
            (Database::File(path), Held::Content(id)) => {
                let damaged = |e| store.damage(target.id(), format!("database {path}: {e}"));
                let entry = Entry {
                    kind: Kind::File,
                    perm: PERM,
                    id: *id,
                    size_bytes: store.objects().size(id).map_err(damaged)?,
                };
                for dir in path.ancestors() {
                    snapshot.dirs.entry(dir).or_insert(DIR_PERM);
                }
                snapshot.uncaptured.remove(path);
                snapshot.files.insert(path.clone(), entry);
                done.written.push(database.clone());
            }
            (Database::File(_), Held::Absent) => {}
            (Database::Named(name), _) => {
                let name = name.clone();
                done.skipped.push(Warning::DatabaseSkipped { name });
            }
        }
    }
    Ok(done)
}
