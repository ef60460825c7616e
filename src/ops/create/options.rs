//! The options of a `create`, how its reason and its scope are checked, and its outcome.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::text::{escape, escape_bytes};
use crate::error::{Error, Result};
use crate::model::checkpoint::selector;
use crate::model::json::{JsonSchema, Serialize, Serializer, optional_path, uncaptured};
use crate::model::path_pattern::has_marks;
use crate::model::{
    Checkpoint, CheckpointRef, CheckpointTerms, Database, Evicted, Meta, PathReason, Provenance,
    RelPath, Scope, ScopePart, StateDocument,
};
use crate::ops::restore::restore_paths;
use crate::ops::{Captured, Context, LeftOut, Warning};
use crate::store::transfer::remotes;
use crate::store::{Scratch, Sum};
use crate::worktree::{Root, WorkTree};

/// Upper bound on a reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

/// What a `create` records, how it is named and for how long it is kept.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct CreateOptions {
    pub reason: String,
    pub source: String,
    pub terms: CheckpointTerms,
    pub databases: Vec<Database>,
    pub state_document: Option<StateDocument>,
    /// Number of last checkpoints to keep; `None`: as configured.
    pub keep: Option<usize>,
    pub max_files: Option<u64>,
    /// Session whose number of files is checked only once.
    pub session: Option<String>,
    /// Accept a dangerous root and any number of files.
    pub force: bool,
    /// Look at everything, whatever a monitor says; the outcome lists the directories.
    pub full_scan: bool,
    pub include_sensitive: Vec<String>,
    /// Contents of files in the scope that count instead of those in the directory.
    pub replaced: BTreeMap<RelPath, Vec<u8>>,
    /// Whether plain copies are made.
    pub copies: bool,
    pub dedup: DedupPolicy,
    /// No policy drops it for as long as there is [`CreateOutcome::mark`].
    pub is_marked: bool,
    /// The event of an agent that led to it; otherwise the environment names the agent.
    pub provenance: Option<Provenance>,
    /// Text of the prompt that led to it, without secrets.
    pub prompt: Option<String>,
}

impl CreateOptions {
    /// Returns the options of a checkpoint that a workflow or an event of an agent makes, without being
    /// requested.
    ///
    /// # Errors
    /// The reason or the source is empty or too long.
    pub fn automatic(reason: &str, source: &str) -> Result<Self> {
        let terms = CheckpointTerms {
            is_automatic: true,
            ..CheckpointTerms::default()
        };
        Ok(Self {
            reason: checked_text(reason, "reason")?,
            source: checked_text(source, "source")?,
            terms,
            ..Self::default()
        })
    }
}

/// When an identical newest checkpoint is reused instead of making a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DedupPolicy {
    /// If it was made a moment ago, with the same reason and source.
    #[default]
    Recent,
    /// Whatever its age and reason: only the state counts.
    Always,
    /// If it holds the same state for as long; who asked for it does not count.
    SameState,
    /// If the directory is as it was last recorded or restored; who asked for that does not count.
    Standing,
    /// Never reuse: the caller needs a checkpoint of its own.
    Never,
}

/// Whether checkpoints are enabled.
///
/// # Errors
/// The settings cannot be read, or the root is missing.
pub fn is_enabled(context: &Context) -> Result<bool> {
    if context.environment.disabled {
        return Ok(false);
    }
    context.settings.require_readable()?;
    if !context.root.exists() {
        return Err(Error::root_missing(context.root.path()));
    }
    Ok(true)
}

/// Returns a reason or source without blanks around it.
///
/// # Errors
/// It is empty or too long.
pub fn checked_text(text: &str, what: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::usage(format!("the {what} is empty")));
    }
    if text.len() > LONGEST_TEXT {
        return Err(Error::usage(format!(
            "the {what} is longer than {LONGEST_TEXT} bytes"
        )));
    }
    Ok(text.to_owned())
}

/// Refuses a reason that would be read as another checkpoint when it is typed.
///
/// # Errors
/// It is `latest` or the like, or begins with the name of a remote and a slash.
pub fn check_names_nothing_else(context: &Context, reason: &str) -> Result<()> {
    let of_remote = |name: &str| {
        let store = context.find_store().ok().flatten();
        let remotes = store.and_then(|store| remotes::read(store.layout()).ok());
        remotes.is_some_and(|remotes| remotes.iter().any(|remote| remote.name == name))
    };
    let what = match reason.split_once('/') {
        _ if selector::is_place(reason) => "a checkpoint".to_owned(),
        // A restore would read one word so.
        _ if reason.starts_with('@') && !reason.contains(' ') => "a list of paths".to_owned(),
        Some((name, _)) if of_remote(name) => format!("a checkpoint of the remote {name}"),
        _ => return Ok(()),
    };
    let reason = escape(reason);
    Err(Error::usage(format!(
        "'{reason}' names {what} and cannot be a reason"
    )))
}

/// # Errors
/// Wrong usage: an invalid part. A part leads through a symlink.
pub fn parse_scope(root: &Root, typed: &[Vec<u8>]) -> Result<Scope> {
    let parts = typed.iter().map(|part| parse_part(root, part));
    let scope = Scope::new(parts.collect::<Result<_>>()?);
    for part in scope.parts() {
        restore_paths::refuse_linked(root, &part.top(), &|behind| scope.covers(behind))?;
    }
    Ok(scope)
}

/// Takes a name with glob marks literally if it exists on disk.
fn parse_part(root: &Root, typed: &[u8]) -> Result<ScopePart> {
    let typed = &*restore_paths::with_slashes(typed);
    let literal = restore_paths::parse(root, &[typed.to_vec()])
        .and_then(|mut paths| paths.pop().ok_or_else(|| Error::usage("a scope is empty")));
    if !has_marks(typed) {
        return literal.map(ScopePart::path);
    }
    if let Ok(path) = &literal
        && WorkTree::open(root.path()).is_ok_and(|work| matches!(work.stat(path), Ok(Some(_))))
    {
        return Ok(ScopePart::path(path.clone()));
    }
    ScopePart::glob(&restore_paths::pattern(root, typed))
        .ok_or_else(|| Error::usage(format!("scope '{}' can match nothing", escape_bytes(typed))))
}

/// Why no checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    Dedup,
    TooManyFiles,
    Disabled,
}

/// What `create` made.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CreateOutcome {
    /// The new checkpoint, or the one that is equal; all null if there is none.
    #[serde(flatten, serialize_with = "made")]
    #[schemars(with = "MadeCheckpoint")]
    pub checkpoint: Option<Checkpoint>,
    /// Why none was made; null if one was.
    pub skipped: Option<Skipped>,
    /// The reason that was given.
    pub requested_reason: String,
    pub counts: CreateCounts,
    pub left_out: LeftOut,
    /// Whether the answer names what is left out: it has changed, or the call wants some of it in.
    #[serde(skip)]
    pub left_out_told: bool,
    /// What could not be captured.
    #[serde(rename = "uncaptured", serialize_with = "uncaptured")]
    #[schemars(with = "Vec<PathReason>")]
    pub meta: Meta,
    /// Checkpoints that the policy dropped for this one.
    #[serde(rename = "dropped")]
    pub evicted: Vec<Evicted>,
    pub databases: Vec<Database>,
    /// The folder of plain copies; null if none were made.
    #[serde(serialize_with = "optional_path")]
    #[schemars(with = "Option<String>")]
    pub copies: Option<PathBuf>,
    /// Digest of a scoped checkpoint, read back right after it was made.
    #[serde(skip)]
    pub content: Option<Sum>,
    /// See [`Session::needed_bytes`](crate::ops::session::Session).
    #[serde(skip)]
    pub needed_bytes: Option<u64>,
    /// See [`CreateOptions::full_scan`].
    #[serde(skip)]
    pub directories: Vec<PathBuf>,
    /// See [`CreateOptions::is_marked`].
    #[serde(skip)]
    pub mark: Option<Scratch>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// The checkpoint of a `create`, if there is one.
#[derive(Serialize, JsonSchema)]
struct MadeCheckpoint {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: Option<String>,
    sequence: Option<u64>,
    source: Option<String>,
    coverage: Option<&'static str>,
    #[serde(flatten)]
    terms: CheckpointTerms,
}

/// Serializes the checkpoint of a `create`.
pub fn made<S: Serializer>(found: &Option<Checkpoint>, serializer: S) -> Result<S::Ok, S::Error> {
    let record = found.as_ref().map(|checkpoint| &checkpoint.record);
    let made = MadeCheckpoint {
        checkpoint: found
            .as_ref()
            .map_or_else(CheckpointRef::default, CheckpointRef::new),
        alias: found.as_ref().map(Checkpoint::alias),
        sequence: record.map(|record| record.sequence),
        source: record.map(|record| record.source.clone()),
        coverage: record.map(|record| record.coverage.into_str()),
        terms: record.map_or_else(CheckpointTerms::default, |record| record.terms.clone()),
    };
    made.serialize(serializer)
}

impl CreateOutcome {
    /// Returns the outcome of a `create` that made no checkpoint.
    pub fn skipped(options: &CreateOptions, skipped: Skipped, warnings: Vec<Warning>) -> Self {
        Self {
            skipped: Some(skipped),
            requested_reason: options.reason.clone(),
            warnings,
            ..Self::default()
        }
    }

    /// Returns the outcome of a `create` where checkpoints are disabled.
    pub fn disabled(options: &CreateOptions) -> Self {
        Self::skipped(options, Skipped::Disabled, vec![Warning::Disabled])
    }

    /// Whether the checkpoint, made or found, is without some files or copies.
    pub fn lacks_something(&self) -> bool {
        let no_copies = |warning: &Warning| matches!(warning, Warning::CopiesNotMade { .. });
        self.warnings.iter().any(no_copies) || (self.checkpoint.is_some() && self.is_partial())
    }

    /// Whether something requested could not be captured.
    pub fn is_partial(&self) -> bool {
        self.meta
            .uncaptured
            .values()
            .any(|entry| entry.why.makes_partial())
    }
}

/// Numbers of what was captured, and of what changed since the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CreateCounts {
    #[serde(rename = "file_count")]
    pub files: u64,
    #[serde(rename = "directory_count")]
    pub directories: u64,
    pub content_bytes: u64,
    pub added: u64,
    pub modified: u64,
    pub deleted: u64,
}

impl CreateCounts {
    /// Counts what was captured; nothing is compared yet.
    pub fn of(captured: &Captured) -> Self {
        Self {
            files: captured.listing.file_count() as u64,
            directories: captured.listing.dir_count() as u64 - 1,
            content_bytes: captured.listing.content_bytes(),
            ..Self::default()
        }
    }
}
