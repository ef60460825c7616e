//! Options of a restore, the proposal that it shows before it changes anything, and its outcome.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::Result;
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::checkpoint::retention::Evicted;
use crate::model::checkpoint::undo_stack::ToldStory;
use crate::model::command_end::CommandEnd;
use crate::model::path_filter::PathFilter;
use crate::model::restore_plan::{RestorePlan, RestoreScope};
use crate::model::state::database::Database;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::restore::target::Target;
use crate::ops::session::Pending;
use crate::ops::warning::Warning;

/// Options of all verbs that change the working directory.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct CommonOptions {
    pub yes: bool,
    pub dry_run: bool,
    /// Whether all checkpoints stay, whatever the policy says.
    pub evicts_nothing: bool,
    /// Whether every written file is read back, not only compared by its stat.
    pub reads_back: bool,
    /// Digest of the plan that was shown; any other plan is refused.
    pub plan: Option<String>,
}

/// What is shown before anything changes.
pub struct Proposal<'p> {
    pub verb: Verb,
    pub target: &'p Checkpoint,
    pub plan: &'p RestorePlan,
    /// See [`RestoreOutcome::since`].
    pub since: Option<&'p [RelPath]>,
    pub databases: &'p [DatabaseReport],
    /// The user was asked before, and files have changed since.
    pub again: bool,
    /// See [`RestoreOutcome::step`].
    pub step: Option<&'p TakenStep>,
    /// Of a safety checkpoint that is restored.
    pub story: Option<&'p ToldStory>,
    /// What the user named, if not the target itself: `before prompt 2 (…)`.
    pub named: Option<&'p str>,
}

/// The restore that an undo takes back or a redo repeats.
#[derive(Clone, Debug)]
pub struct TakenStep {
    pub restored: ObjectId,
    /// The reason of what was restored; `None` if it is gone.
    pub reason: Option<String>,
    pub age_ms: i64,
}

/// Asks the user for consent. An error ends the command: no terminal, or the answer was no.
pub type Consent<'c> = dyn FnMut(&Proposal<'_>) -> Result<()> + 'c;

#[derive(Debug)]
pub struct RestoreOutcome {
    pub verb: Verb,
    pub target: Checkpoint,
    /// The safety checkpoint; `None` for a dry run, or if there was nothing to do.
    pub safety: Option<Checkpoint>,
    pub plan: RestorePlan,
    /// For undo and redo: files to be overwritten or deleted that were made or changed since the
    /// step being taken back. The safety checkpoint holds them. `None` if the state after that step
    /// is gone.
    pub since: Option<Vec<RelPath>>,
    /// For undo and redo; `None` if the restore is not known.
    pub step: Option<TakenStep>,
    /// Target of the next step, if an undo or a redo had nothing to do.
    pub beyond: Option<Checkpoint>,
    pub databases: Vec<DatabaseReport>,
    pub paths: Vec<RelPath>,
    pub filter: PathFilter,
    /// Files of the checkpoint were written over what is there, and nothing was deleted.
    pub overlay: bool,
    pub dry_run: bool,
    /// Digest of the plan, of a dry run.
    pub plan_digest: Option<String>,
    /// An undo went back from an interrupted restore, which no redo repeats.
    pub calls_off: bool,
    /// Paths kept by rule although the target lacks them, and directories in which something
    /// uncaptured appeared.
    pub left_alone: Vec<RelPath>,
    pub evicted: Vec<Evicted>,
    /// The other directory that was written, if any.
    pub to: Option<PathBuf>,
    /// The user's own check afterwards, if requested.
    pub check: Option<Check>,
    pub warnings: Vec<Warning>,
}

impl RestoreOutcome {
    /// Whether paths or patterns limited it.
    pub fn is_limited(&self) -> bool {
        !self.paths.is_empty() || !self.filter.is_empty()
    }

    /// Adds the next step of the same command.
    pub fn add(&mut self, next: Self) {
        self.plan.add(next.plan);
        self.target = next.target;
        self.safety = self.safety.take().or(next.safety);
        self.since = self.since.take().zip(next.since).map(joined);
        self.databases.extend(next.databases);
        self.left_alone = joined((std::mem::take(&mut self.left_alone), next.left_alone));
        self.evicted.extend(next.evicted);
        self.warnings.extend(next.warnings);
        if self.paths.is_empty() || next.paths.is_empty() || self.filter != next.filter {
            (self.paths, self.filter) = <_>::default();
        }
        self.paths = joined((std::mem::take(&mut self.paths), next.paths));
    }

    /// Whether the directory already matched, so that nothing was recorded, or would be.
    pub fn is_nothing_to_do(&self) -> bool {
        let is_plan = self.calls_off || !self.plan.is_empty() || !self.databases.is_empty();
        self.safety.is_none() && self.to.is_none() && !(self.dry_run && is_plan)
    }
}

/// Both, sorted, each path once.
fn joined((one, two): (Vec<RelPath>, Vec<RelPath>)) -> Vec<RelPath> {
    let both: BTreeSet<RelPath> = one.into_iter().chain(two).collect();
    both.into_iter().collect()
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

/// A requested restore.
pub struct Request<'s> {
    pub verb: Verb,
    pub target: Target<'s>,
    pub scope: RestoreScope,
    /// The interrupted restore that this one finishes or takes back.
    pub pending: Option<Pending>,
    /// See [`Journal::settles`].
    pub settles: bool,
    /// The words of a command that does the same, to which options can be added.
    pub words: Vec<Vec<u8>>,
    /// Number of newer steps that an undo passes over, because it has nothing to do for them.
    pub passed: usize,
}

/// Result for one database.
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
    /// It already matched the checkpoint.
    Unchanged,
    /// The checkpoint lacks it, but it stays: another program may have it open.
    Left,
    /// It was left unchanged, with the reason.
    Failed(String),
}
