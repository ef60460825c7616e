//! Captures the present content of a database into a pack.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::model::{Database, Databases, Held, ObjectId, RelPath};
use crate::ops::database::database_command;
use crate::ops::{Context, DatabaseFailure, Pieces};
use crate::store::files::atomic_file;
use crate::store::trees::meta_tree;
use crate::store::{LockedStore, PackSet, Scratch};
use crate::worktree::WorkTree;
use crate::worktree::sqlite::{self, BusyWait, Watched};
use crate::worktree::sys::{self, ItemKind};
use crate::worktree::tree_handle::place_below;

/// Purpose of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The content must be sound, and capturing must change nothing.
    Savepoint,
    /// The content, sound or not, is about to be replaced.
    Safety,
}

/// Captures all databases for a new checkpoint; returns the tree that holds them.
///
/// # Errors
/// A database cannot be captured.
pub fn back_up_all(
    context: &Context,
    locked: &LockedStore<'_>,
    wanted: &[Database],
    pack: &mut PackSet<'_>,
) -> Result<Option<ObjectId>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let scratch = locked.begin_scratch()?;
    let mut all = Databases::new();
    for database in wanted {
        let refused = |why| {
            let what = format!("database {database} was not captured: {why}");
            Err(Error::new(Code::DATABASE_NOT_TAKEN, what)
                .advise("nothing was recorded; fix that, or leave this --db out"))
        };
        let held = match back_up(context, &scratch, database, Purpose::Savepoint, pack) {
            Ok((Held::Absent, _)) => return refused("it is gone".to_owned()),
            Ok((held, _)) => held,
            Err(DatabaseFailure::Refused(why)) => return refused(why),
            Err(DatabaseFailure::Other(error)) => return Err(error),
        };
        all.insert(database.clone(), held);
    }
    meta_tree::write_databases(pack, &all)
}

/// Captures one database; that of a file is watched from then on.
///
/// # Errors
/// The database or its command fails, a signal asks to stop, or the store cannot be written.
pub fn back_up(
    context: &Context,
    scratch: &Scratch,
    database: &Database,
    purpose: Purpose,
    pack: &mut PackSet<'_>,
) -> Result<(Held, Option<Watched>), DatabaseFailure> {
    context.check_interrupt()?;
    let copy = scratch.dir().join("taken");
    atomic_file::remove_if_there(&copy)?;
    let file = atomic_file::create_private(&copy)?;
    let watched = match database {
        Database::Named(name) => {
            let commands = database_command::of_name(context, name)?;
            database_command::run(context, scratch, &commands.dump, None, Some(file))?;
            None
        }
        Database::File(path) if is_there(context, path)? => {
            Some(copy_out(context, path, &copy, purpose)?)
        }
        Database::File(_) => return Ok((Held::Absent, None)),
    };
    Ok((Held::Content(store(context, &copy, pack)?), watched))
}

fn copy_out(
    context: &Context,
    path: &RelPath,
    copy: &Path,
    purpose: Purpose,
) -> Result<Watched, DatabaseFailure> {
    let is_safety = purpose == Purpose::Safety;
    let watched = sqlite::copy_out(&live(context, path), copy, is_safety, &busy_wait(context))?;
    // Content about to be replaced is kept as it is, sound or not.
    if !is_safety {
        sqlite::check(copy)?;
    }
    Ok(watched)
}

/// Whether a file exists at the path; an error if it is not a regular file.
pub fn is_there(context: &Context, path: &RelPath) -> Result<bool, DatabaseFailure> {
    let found = WorkTree::open_root(&context.root)?.stat(path)?;
    match found.as_ref().map(sys::kind_of) {
        None => Ok(false),
        Some(ItemKind::File) => Ok(true),
        Some(_) => Err(DatabaseFailure::Refused(
            "something other than a file is there".to_owned(),
        )),
    }
}

fn store(context: &Context, copy: &Path, pack: &mut PackSet<'_>) -> Result<ObjectId> {
    let mut file = File::open(copy).map_err(Error::io("read", copy))?;
    let len = file.metadata().map_err(Error::io("look at", copy))?.len();
    let taken = pack.first().add_stream(
        len,
        &mut Pieces {
            interrupt: &context.interrupt,
            progress: &context.progress,
            reader: &mut file,
        },
    );
    // However the pack reports a reader that stops, the signal is the cause.
    context.check_interrupt()?;
    Ok(taken?)
}

/// The path by which SQLite opens a file: the root's has no links, and SQLite refuses those below.
pub fn live(context: &Context, path: &RelPath) -> PathBuf {
    place_below(context.root.path(), path)
}

pub fn busy_wait(context: &Context) -> BusyWait<'_> {
    BusyWait {
        wait: context.lock_wait,
        interrupt: &context.interrupt,
    }
}
