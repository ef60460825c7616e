//! Writes the small scripts that skills call; each passes its arguments on to this program.

use crate::error::Result;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::restore::restore_paths;
use crate::workflow::words::input_error::InputError;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// Name and command line of each script.
const SHIMS: [(&str, &str); 6] = [
    (
        "init-pipeline.sh",
        "checkpoint workflow skeleton --branch \"$1\"",
    ),
    (
        "show-status.sh",
        "checkpoint workflow status ${1:+--file \"$1\"}",
    ),
    (
        "save-checkpoint.sh",
        "printf '%s' \"$2\" | checkpoint workflow import - --type \"$1\" --profile registry --keep-files",
    ),
    (
        "load-checkpoint.sh",
        "checkpoint workflow export --type \"$1\" ${2:+--project \"$2\"} --format registry",
    ),
    (
        "list-checkpoints.sh",
        "checkpoint workflow list ${1:+--type \"$1\"}",
    ),
    (
        "cleanup-checkpoints.sh",
        "checkpoint workflow cleanup ${1:+--max-age \"${1}d\"}",
    ),
];

#[derive(Debug)]
pub struct ShimsOutcome {
    /// Relative to the root.
    pub written: Vec<String>,
    /// Paths that already hold another file.
    pub left: Vec<String>,
}

/// Writes the missing scripts into a directory of the root; files that differ stay unless `force`
/// is set.
///
/// # Errors
/// The directory lies outside the root, or cannot be written.
pub fn shims(context: &Context, dir: &[u8], force: bool) -> Result<ShimsOutcome> {
    let dirs = restore_paths::parse(&context.root, &[dir.to_vec()])?;
    let dir = dirs.into_iter().next().ok_or(InputError::NoDirectory)?;
    let work = WorkTree::open_root(&context.root)?;
    let mut outcome = ShimsOutcome {
        written: Vec::new(),
        left: Vec::new(),
    };
    for (name, command) in SHIMS {
        let path: RelPath = dir.join(name.as_bytes());
        let text = format!("#!/bin/sh\n{command}\n");
        let found = state_file::read(&work, &path)?;
        let is_other = found
            .as_ref()
            .is_some_and(|found| *found != text.as_bytes());
        if is_other && !force {
            outcome.left.push(path.to_string());
            continue;
        }
        state_file::replace_program(&work, &path, text.as_bytes())?;
        outcome.written.push(path.to_string());
    }
    Ok(outcome)
}
