//! Captures the present content of databases into a pack: of those that are named, an SQLite file in the
//! root is copied, and a command of the user's configuration dumps or loads any other.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::base::read_regular;
use crate::base::text::escape_bytes;
use crate::config::DatabaseCommands;
use crate::error::{Code, Error, Result};
use crate::model::{Database, Databases, Held, ObjectId, RelPath};
use crate::ops::restore::restore_paths;
use crate::ops::{Context, FedCommand, Pieces};
use crate::store::files::atomic_file;
use crate::store::trees::meta_tree;
use crate::store::{LockedStore, PackSet, Scratch};
use crate::worktree::WorkTree;
use crate::worktree::sqlite::{self, BusyWait, Refusal, Watched};
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
            let commands = commands_of(context, name)?;
            run_command(context, scratch, &commands.dump, None, Some(file))?;
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

/// Number of bytes at the end of standard error in which the last line is searched.
const TAIL_BYTES: u64 = 4096;

/// Why a database was not captured or restored.
#[derive(Debug)]
pub enum DatabaseFailure {
    /// The database or its command failed, in words.
    Refused(String),
    /// Anything else, such as a signal.
    Other(Error),
}

impl From<Error> for DatabaseFailure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Refusal> for DatabaseFailure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(why) => Self::Refused(why),
            Refusal::Interrupted(signal) => Self::Other(signal.into()),
        }
    }
}

/// Returns the commands of a name.
///
/// # Errors
/// There are none.
pub fn commands_of<'c>(
    context: &'c Context,
    name: &str,
) -> Result<&'c DatabaseCommands, DatabaseFailure> {
    let missing = || {
        DatabaseFailure::Refused(format!(
            "your configuration no longer has [database.{name}]"
        ))
    };
    context.settings.databases.get(name).ok_or_else(missing)
}

/// Runs a command line in the root.
///
/// # Errors
/// How it failed: its exit, and the last line of its standard error; a signal asks to stop, or the
/// store cannot be written.
pub fn run_command(
    context: &Context,
    scratch: &Scratch,
    line: &str,
    stdin: Option<File>,
    stdout: Option<File>,
) -> Result<(), DatabaseFailure> {
    let said = scratch.dir().join("stderr");
    atomic_file::remove_if_there(&said)?;
    let stderr = atomic_file::create_private(&said)?;
    let again = Error::io("open", &said);
    let mut heard = File::open(&said).map_err(again)?;
    let command = FedCommand {
        line,
        dir: context.root.path(),
        stdin,
        stdout,
        stderr,
    };
    match (context.run_database_command)(&context.interrupt, command) {
        Ok(ended) if ended.is_success() => Ok(()),
        Ok(ended) => {
            let last = last_line(&mut heard).map(|line| format!(": {line}"));
            let (how, last) = (ended.in_words(), last.unwrap_or_default());
            let why = format!("its command ended with {how}{last}");
            Err(DatabaseFailure::Refused(why))
        }
        Err(stop) if stop.code == Code::INTERRUPTED => Err(stop.into()),
        Err(error) => Err(DatabaseFailure::Refused(error.to_string())),
    }
}

/// Returns the last non-empty line.
fn last_line(heard: &mut File) -> Option<String> {
    let len = heard.metadata().ok()?.len();
    let from = SeekFrom::Start(len.saturating_sub(TAIL_BYTES));
    heard.seek(from).ok()?;
    let mut tail = Vec::new();
    heard.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let mut lines = tail.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.rfind(|line| !line.is_empty()).map(escape_bytes)
}

/// # Errors
/// An argument is neither a name nor such a file.
pub fn parse_databases(context: &Context, typed: &[Vec<u8>]) -> Result<Vec<Database>> {
    let mut found = typed
        .iter()
        .map(|one| parse_database(context, one))
        .collect::<Result<Vec<_>>>()?;
    found.sort();
    found.dedup();
    Ok(found)
}

fn parse_database(context: &Context, typed: &[u8]) -> Result<Database> {
    if let Ok(name) = std::str::from_utf8(typed)
        && context.settings.databases.contains_key(name)
    {
        return Ok(Database::Named(name.to_owned()));
    }
    let shown = escape_bytes(typed);
    let wrong = |why: &str| Error::usage(format!("database '{shown}' {why}"));
    let path = match restore_paths::parse_one(&context.root, typed) {
        Ok(path) if path.is_root() => return Err(wrong("is a directory")),
        Ok(path) => path,
        Err(error) if error.code == Code::DOT_GIT_PATH => {
            return Err(wrong("is at or below a .git"));
        }
        Err(error) if error.code == Code::USAGE => {
            return Err(Error::usage(error.what.replacen("PATH", "database", 1)));
        }
        Err(other) => return Err(other),
    };
    check_is_file(context, &path, &wrong)?;
    if !sqlite::IS_BUILT_IN {
        return Err(wrong(
            "is a file, and this program was built without SQLite",
        ));
    }
    let place = live(context, &path);
    read_regular::open(&place).map_err(Error::io("read", &place))?;
    match sqlite::check_kind(&place) {
        Ok(()) => Ok(Database::File(path)),
        Err(Refusal::Failed(_)) => Err(wrong("is not a SQLite database")),
        Err(Refusal::Interrupted(signal)) => Err(signal.into()),
    }
}

/// Checks a database file; `wrong` makes an error of what is wrong with it.
fn check_is_file(context: &Context, path: &RelPath, wrong: &dyn Fn(&str) -> Error) -> Result<()> {
    let work = WorkTree::open_root(&context.root)?;
    let Some(stat) = work.stat(path)? else {
        let what = format!(
            "there is no database '{path}': neither a file nor a name in your configuration"
        );
        let hint = "--db takes a SQLite file in the directory, or a NAME of [database.NAME]; links are not followed";
        return Err(Error::new(Code::NOTHING_FOUND, what).advise(hint));
    };
    match sys::kind_of(&stat) {
        ItemKind::File => Ok(()),
        ItemKind::Symlink => Err(wrong("is a symlink, which is not followed")),
        _ => Err(wrong("is not a regular file")),
    }
}
