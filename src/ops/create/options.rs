//! The options of a `create`, and how its reason and its scope are checked.

use std::collections::BTreeMap;

use crate::base::text::{escape, escape_bytes};
use crate::error::{Error, Result};
use crate::model::checkpoint::selector;
use crate::model::path_pattern::has_marks;
use crate::model::{
    CheckpointTerms, Database, Provenance, RelPath, Scope, ScopePart, StateDocument,
};
use crate::ops::Context;
use crate::ops::restore::restore_paths;
use crate::store::transfer::remotes;
use crate::worktree::{Root, WorkTree};

/// Upper bound on a reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

/// What a `create` records, how it is named and for how long it is kept.
#[derive(Clone, Debug, Default)]
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
    pub include_sensitive: Vec<String>,
    /// Contents of files in the scope that count instead of those in the directory.
    pub replaced: BTreeMap<RelPath, Vec<u8>>,
    /// Whether plain copies are made.
    pub copies: bool,
    pub dedup: DedupPolicy,
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
