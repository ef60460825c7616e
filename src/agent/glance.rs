//! A store at a glance, for status lines and shell prompts: no lock is taken and no directory
//! scanned.

use std::path::PathBuf;

use serde_json::Value;

use crate::agent::event_place::NamedDirs;
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

/// Returns the directories that Claude Code names in the document for its status line.
pub fn dirs_of(document: &[u8]) -> Option<NamedDirs> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let workspace = &document["workspace"];
    let named = |dir: &Value| {
        dir.as_str()
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let current = named(&workspace["current_dir"]).or_else(|| named(&document["cwd"]));
    Some(NamedDirs {
        projects: named(&workspace["project_dir"]).into_iter().collect(),
        current,
    })
}
