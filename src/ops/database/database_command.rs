//! Runs configured commands that dump or load a database, with files as input and output.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use crate::base::text::escape_bytes;
use crate::config::DatabaseCommands;
use crate::error::{Code, Error, Result};
use crate::ops::{Context, FedCommand};
use crate::store::Scratch;
use crate::store::files::atomic_file;
use crate::worktree::sqlite::Refusal;

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
pub fn of_name<'c>(
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
pub fn run(
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
