//! The audit trail: logs beside the files of how each `create` was called and how it ended, and
//! which files an agent edited.

use std::ffi::OsString;

use crate::base::shell_word::shell_line;
use crate::base::text::escape;
use crate::base::time::rfc3339_seconds;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::ops::{Context, Warning};
use crate::worktree::WorkTree;
use crate::worktree::files::private_dir::append;

/// Directory and file in the root; checkpoints capture neither directory.
const OPERATIONS: (&str, &str) = (".audit", "checkpoint-operations.log");
const MADE: (&str, &str) = (".checkpoints", "checkpoint-manifest.log");

/// Appends the end of a `create` to the logs: the command line, the exit code, and whether a
/// checkpoint was recorded. A failure is only a warning.
pub fn note(context: &Context, words: &[OsString], exit: u8, made: bool) -> Option<Warning> {
    let why = write(context, words, exit, made).err()?.to_string();
    Some(Warning::AuditFailed { why })
}

/// Appends a line for each file that an agent edited, where checkpoints are made.
///
/// # Errors
/// The log cannot be written.
pub fn note_edits(context: &Context, paths: &[String]) -> Result<()> {
    if !context.settings.audit || context.find_store()?.is_none() {
        return Ok(());
    }
    let work = WorkTree::open_root(&context.root)?;
    let time = rfc3339_seconds(context.now_ms);
    paths.iter().try_for_each(|path| {
        let line = format!("[CHECKPOINT] {time} | Manifest updated: {}\n", escape(path));
        add(&work, OPERATIONS, &line)
    })
}

fn write(context: &Context, words: &[OsString], exit: u8, made: bool) -> Result<()> {
    let work = WorkTree::open_root(&context.root)?;
    let time = rfc3339_seconds(context.now_ms);
    let command = shell_line(words.iter().map(|word| word.as_encoded_bytes()));
    let line = format!("[CHECKPOINT] {time} | Command: {command} | Exit: {exit}\n");
    add(&work, OPERATIONS, &line)?;
    if made {
        let line = format!("{time}: Checkpoint created successfully\n");
        add(&work, MADE, &line)?;
    }
    Ok(())
}

fn add(work: &WorkTree, (dir, file): (&str, &str), line: &str) -> Result<()> {
    let name = |name: &str| {
        RelPath::new(name.as_bytes()).map_err(|why| Error::unexpected(format!("{name}: {why}")))
    };
    append(work, &name(dir)?, &name(file)?, line)
}
