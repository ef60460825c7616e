//! Options of a restore, and its outcome, which is also what is shown before anything changes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::error::{CommandWords, Result};
use crate::model::json::{self, JsonSchema, Serialize, published_as};
use crate::model::{
    Checkpoint, Database, Evicted, ObjectId, PathFilter, RelPath, RestorePlan, RestoreScope,
    ToldStory, Verb,
};
use crate::ops::{Context, Globs, Pending, Target, TypedWords, Warning};
use crate::store::Store;

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

#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// `SEL` or `SEL:PATH`, then paths.
    pub words: TypedWords,
    pub globs: Globs,
    pub overlay: bool,
    pub special_bits: bool,
    /// Absolute path of a directory that is empty or does not exist yet, to be written instead of
    /// this one.
    pub to: Option<PathBuf>,
    pub common: CommonOptions,
}

/// The restore that an undo takes back or a redo repeats.
#[derive(Clone, Debug)]
pub struct TakenStep {
    pub restored: ObjectId,
    /// The reason of what was restored; `None` if it is gone.
    pub reason: Option<String>,
    pub age_ms: i64,
}

/// Shows what would be done and asks for consent. An error ends the command: no terminal, or the
/// answer was no.
pub type Consent<'c> = dyn FnMut(&RestoreOutcome) -> Result<()> + 'c;

/// What a restore, undo or redo did, or would do.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RestoreOutcome {
    /// `restore`, `undo`, `redo` or `resume`.
    pub verb: Verb,
    #[serde(rename = "restored_from")]
    pub target: Checkpoint,
    /// The checkpoint that holds what was there before, of `undo N` before the first step; null if
    /// nothing was changed.
    pub safety: Option<Checkpoint>,
    #[serde(flatten)]
    pub plan: RestorePlan,
    /// Of an undo or redo: later changes that it takes back too, which the safety checkpoint holds;
    /// null if they are not known.
    pub since: Option<Vec<RelPath>>,
    /// For undo and redo; `None` if the restore is not known.
    #[serde(skip)]
    pub step: Option<TakenStep>,
    /// Of a safety checkpoint that is restored.
    #[serde(skip)]
    pub story: Option<ToldStory>,
    /// Target of the next step, if an undo or a redo had nothing to do.
    #[serde(skip)]
    pub beyond: Option<Checkpoint>,
    pub databases: Vec<DatabaseReport>,
    /// The paths that were asked for; empty for all.
    pub paths: Vec<RelPath>,
    #[serde(flatten)]
    pub filter: PathFilter,
    /// Files of the checkpoint were written over what is there, and nothing was deleted.
    #[serde(skip)]
    pub overlay: bool,
    /// Whether the directory already matched, so that nothing was recorded, or would be.
    pub nothing_to_do: bool,
    pub dry_run: bool,
    /// Digest of the plan, which `--plan` takes; null unless it is a dry run.
    pub plan_digest: Option<String>,
    /// The user was asked before, and files have changed since.
    #[serde(skip)]
    pub is_shown_again: bool,
    /// An undo went back from an interrupted restore, which no redo repeats.
    #[serde(skip)]
    pub calls_off: bool,
    /// Checkpoints that the policy dropped for the safety checkpoint.
    #[serde(rename = "dropped")]
    pub evicted: Vec<Evicted>,
    /// The directory of `--to`.
    #[serde(rename = "destination", serialize_with = "json::optional_path")]
    pub to: Option<PathBuf>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl RestoreOutcome {
    /// Whether paths or patterns limited it.
    pub fn is_limited(&self) -> bool {
        !self.paths.is_empty() || !self.filter.is_empty()
    }

    /// Whether an interrupted restore was finished over edits, which its own safety checkpoint holds.
    pub fn met_edits(&self) -> bool {
        let safety = self.safety.as_ref();
        let made_for = safety.and_then(|made| made.record.operation.as_ref());
        made_for.is_some_and(|operation| operation.verb == Verb::Resume)
    }

    /// Adds the next step of the same command.
    pub fn add(&mut self, next: Self) {
        self.plan.add(next.plan);
        self.target = next.target;
        self.safety = self.safety.take().or(next.safety);
        self.since = self.since.take().zip(next.since).map(joined);
        self.databases.extend(next.databases);
        self.evicted.extend(next.evicted);
        self.warnings.extend(next.warnings);
        self.nothing_to_do &= next.nothing_to_do;
        if self.paths.is_empty() || next.paths.is_empty() || self.filter != next.filter {
            (self.paths, self.filter) = <_>::default();
        }
        self.paths = joined((std::mem::take(&mut self.paths), next.paths));
    }
}

/// Both, sorted, each path once.
fn joined((one, two): (Vec<RelPath>, Vec<RelPath>)) -> Vec<RelPath> {
    let both: BTreeSet<RelPath> = one.into_iter().chain(two).collect();
    both.into_iter().collect()
}

/// A requested restore.
pub struct RestoreRequest<'s> {
    pub context: &'s Context,
    pub store: &'s Store,
    pub common: &'s CommonOptions,
    pub verb: Verb,
    pub target: Target<'s>,
    pub scope: RestoreScope,
    /// The interrupted restore that this one finishes or takes back.
    pub pending: Option<Pending>,
    /// See [`Journal::settles`].
    pub settles: bool,
    /// A restore of the same, to which options can be added; `None` if there is none.
    pub again: Option<CommandWords>,
    /// See [`RestoreOutcome::step`].
    pub step: Option<TakenStep>,
    /// See [`RestoreOutcome::story`].
    pub story: Option<ToldStory>,
    /// Number of newer steps that an undo passes over, because it has nothing to do for them.
    pub passed: usize,
}

impl<'s> RestoreRequest<'s> {
    pub fn new(
        context: &'s Context,
        store: &'s Store,
        common: &'s CommonOptions,
        (verb, target, scope): (Verb, Target<'s>, RestoreScope),
    ) -> Self {
        Self {
            context,
            store,
            common,
            verb,
            target,
            scope,
            pending: None,
            settles: false,
            again: None,
            step: None,
            story: None,
            passed: 0,
        }
    }
}

/// Result for one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseReport {
    pub database: Database,
    pub fate: DatabaseFate,
}

#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
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

impl DatabaseFate {
    /// Whether the database is restored.
    pub fn changes_it(&self) -> bool {
        matches!(self, Self::Planned | Self::Restored)
    }
}

/// What a restore did with a database.
#[derive(Serialize, JsonSchema)]
struct RestoredDatabase {
    #[serde(flatten)]
    database: Database,
    /// `planned`, `restored`, `unchanged`, `left` or `failed`.
    outcome: &'static str,
    /// Why it failed.
    why: Option<String>,
}

published_as! { DatabaseReport, RestoredDatabase, |report| RestoredDatabase {
    database: report.database.clone(),
    outcome: report.fate.into_str(),
    why: match &report.fate {
        DatabaseFate::Failed(why) => Some(why.clone()),
        _ => None,
    },
}; }
