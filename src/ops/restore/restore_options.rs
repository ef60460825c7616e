//! What a restore is asked for, what it shows before it changes anything, and what it answers.

use std::path::PathBuf;

use crate::error::Result;
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::ended::CommandEnd;
use crate::model::restore_plan::{RestorePlan, RestoreScope};
use crate::model::state::database::Database;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::create::record::Evicted;
use crate::ops::restore::target::Target;
use crate::ops::session::Pending;
use crate::ops::warning::Warning;

/// What all verbs that change the working directory have.
#[derive(Clone, Debug, Default)]
pub struct CommonOptions {
    pub yes: bool,
    pub dry_run: bool,
    pub keep: Option<usize>,
}

/// What is shown before anything changes.
pub struct Proposal<'p> {
    pub verb: Verb,
    pub target: &'p Checkpoint,
    pub plan: &'p RestorePlan,
    /// See [`RestoreOutcome::since`].
    pub since: Option<&'p [RelPath]>,
    pub databases: &'p [DatabaseReport],
    /// This was asked before, and files changed since.
    pub again: bool,
}

/// Asks whoever can be asked. An error ends the command: nobody is there, or the answer was no.
pub type Consent<'c> = dyn FnMut(&Proposal<'_>) -> Result<()> + 'c;

#[derive(Debug)]
pub struct RestoreOutcome {
    pub verb: Verb,
    pub target: Checkpoint,
    /// The state before; `None` for a dry run, and where there was nothing to do.
    pub safety: Option<ObjectId>,
    pub plan: RestorePlan,
    /// For an undo or a redo: files that it overwrites or deletes and that were made or changed since the step that it
    /// takes back. The safety checkpoint holds them. `None` where the state that this step led to is gone.
    pub since: Option<Vec<RelPath>>,
    /// Where an undo or a redo had nothing to do: what the step beyond leads to.
    pub beyond: Option<Checkpoint>,
    pub databases: Vec<DatabaseReport>,
    pub paths: Vec<RelPath>,
    /// Files of the checkpoint were laid over what is there, and nothing was deleted.
    pub overlay: bool,
    pub dry_run: bool,
    pub resumed: bool,
    /// What stays by rule although the target lacks it, and directories in which something uncaptured appeared meanwhile.
    pub left_alone: Vec<RelPath>,
    pub evicted: Vec<Evicted>,
    /// The other directory that was written, if one was.
    pub to: Option<PathBuf>,
    /// The user's own check afterwards, if one was asked for.
    pub check: Option<Check>,
    pub warnings: Vec<Warning>,
}

impl RestoreOutcome {
    /// Whether the directory was already what was asked for, so that nothing was recorded.
    pub fn is_nothing_to_do(&self) -> bool {
        self.safety.is_none() && !self.dry_run && self.to.is_none()
    }
}

/// A check that was run after a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub command: String,
    /// `None` if it could not be started.
    pub ended: Option<CommandEnd>,
}

impl Check {
    pub fn is_ok(&self) -> bool {
        self.ended.is_some_and(CommandEnd::is_success)
    }
}

/// One restore as it is wanted.
pub struct Request<'s> {
    pub verb: Verb,
    pub target: Target<'s>,
    pub reach: RestoreScope,
    /// The interrupted restore that this one finishes or takes back.
    pub pending: Option<Pending>,
    /// See [`Journal::settles`].
    pub settles: bool,
}

/// What became of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseReport {
    pub database: Database,
    pub fate: DatabaseFate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseFate {
    /// It would be restored.
    Planned,
    Restored,
    /// It was as the checkpoint holds it.
    Unchanged,
    /// It was not there then, and stays: another program may have it open.
    Left,
    /// It is as it was, and why.
    Failed(String),
}
