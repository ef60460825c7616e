//! A store at a glance, for status lines and shell prompts: no lock is taken and no directory
//! scanned.

use std::path::PathBuf;

use serde_json::Value;

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::selector;
use crate::ops::context::Context;
use crate::ops::session;
use crate::workflow::engine::runs::{Run, Runs};

/// How a store stands.
#[derive(Debug)]
pub struct Glance {
    /// Number of checkpoints, without those that restores made.
    pub count: usize,
    pub latest: Option<Checkpoint>,
    /// The newest workflow that has not ended.
    pub run: Option<Run>,
    /// Whether a restore was interrupted.
    pub is_interrupted: bool,
}

/// Reads the store of a directory; `None` if there is none.
///
/// # Errors
/// The store cannot be read.
pub fn glance(context: &Context) -> Result<Option<Glance>> {
    let Some(store) = context.find_store()? else {
        return Ok(None);
    };
    let inventory = store.inventory()?;
    let checkpoints = &inventory.checkpoints;
    let runs = Runs::live(&store)?.runs.into_iter();
    Ok(Some(Glance {
        count: checkpoints.len() - checkpoints.safety_count(),
        latest: selector::latest(checkpoints, 0).map(std::borrow::Cow::into_owned),
        run: runs.into_iter().find(|run| run.workflow.status.is_open()),
        is_interrupted: session::pending_unlocked(&store, checkpoints)?.is_some(),
    }))
}

/// Returns the directory that Claude Code names in the document for its status line.
pub fn directory_of(document: &[u8]) -> Option<PathBuf> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let named = [&document["workspace"]["current_dir"], &document["cwd"]];
    let mut named = named.into_iter().filter_map(Value::as_str);
    named.find(|dir| !dir.is_empty()).map(PathBuf::from)
}
