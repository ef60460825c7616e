//! Resolves the options of a `create`: reason, source, scope, type, expiry, databases, state.

use std::path::PathBuf;

use crate::base::text::{escape, escape_bytes, escape_path};
use crate::base::time;
use crate::config::environment::Environment;
use crate::error::{Error, Result};
use crate::model::checkpoint::selector;
use crate::model::checkpoint::terms::{CheckpointTerms, CheckpointType, Expiry};
use crate::model::path_pattern::has_marks;
use crate::model::session::provenance::Provenance;
use crate::model::state::database::Database;
use crate::model::state::scope::{Scope, ScopePart};
use crate::model::state::state_document::StateDocument;
use crate::ops::context::Context;
use crate::ops::create::apply_retention::KeepOptions;
use crate::ops::create::copies;
use crate::ops::create::gate::GateOptions;
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::ops::database::database_names;
use crate::ops::restore::restore_paths;
use crate::ops::warning::Warning;
use crate::store::transfer::remotes;
use crate::worktree::root::Root;
use crate::worktree::tree_handle::WorkTree;

/// Upper bound on a reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    pub reason: Option<String>,
    pub source: Option<String>,
    pub keep: KeepOptions,
    pub gate: GateOptions,
    /// Accept a dangerous root and any number of files.
    pub force: bool,
    pub include_sensitive: Vec<String>,
    pub terms: TermsOptions,
    /// Renders the manifest of the plain copies, if these are to be made.
    pub copies: Option<copies::Render>,
    pub dedup: DedupPolicy,
    /// Whether it is made by a workflow or for an agent, without being requested.
    pub is_automatic: bool,
    /// What led to it, where an event of an agent did; otherwise the environment says so.
    pub origin: Option<PromptOrigin>,
}

/// The event of an agent that led to a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct PromptOrigin {
    pub provenance: Provenance,
    /// Text of the prompt, without secrets.
    pub prompt: Option<String>,
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

#[derive(Clone, Debug, Default)]
pub struct TermsOptions {
    /// Paths and patterns as typed; `None` for the whole directory.
    pub scope: Option<Vec<Vec<u8>>>,
    pub checkpoint_type: Option<CheckpointType>,
    /// Databases as typed.
    pub databases: Vec<Vec<u8>>,
    /// A span from now, a time, or `never`.
    pub expires: Option<String>,
    /// Path and content of a JSON file with one object.
    pub state_file: Option<(PathBuf, Vec<u8>)>,
    /// `KEY=JSON` pairs that override the file.
    pub state: Vec<String>,
}

/// The options, parsed and checked.
#[derive(Clone, Debug)]
pub struct ResolvedOptions {
    pub reason: String,
    pub source: String,
    pub terms: CheckpointTerms,
    pub databases: Vec<Database>,
    pub state_document: Option<StateDocument>,
    pub origin: PromptOrigin,
}

/// Parses and checks the options; if checkpoints are disabled, returns the outcome instead.
///
/// # Errors
/// Wrong usage: an option that cannot be parsed, or options that conflict. The root is missing.
pub fn resolve(
    context: &Context,
    options: &CreateOptions,
) -> Result<std::result::Result<ResolvedOptions, CreateOutcome>> {
    if options.copies.is_some()
        && (options.terms.checkpoint_type != Some(CheckpointType::FileBackup)
            || options.terms.scope.is_none())
    {
        return Err(Error::usage(
            "--copies needs --type file_backup and a --scope",
        ));
    }
    let reason = checked_text(options.reason.as_deref(), "manual", "reason")?;
    if !options.is_automatic {
        check_names_nothing_else(context, &reason)?;
    }
    let fallback = context
        .environment
        .source
        .as_deref()
        .filter(|source| !source.trim().is_empty())
        .unwrap_or("cli");
    let source = checked_text(options.source.as_deref(), fallback, "source")?;
    if context.environment.disabled {
        return Ok(Err(CreateOutcome::skipped(
            reason,
            Skipped::Disabled,
            vec![Warning::Disabled],
        )));
    }
    context.settings.require_readable()?;
    if !context.root.exists() {
        return Err(Error::root_missing(context.root.path()));
    }
    let (mut terms, databases, state_document) = resolve_terms(context, &options.terms)?;
    terms.is_automatic = options.is_automatic;
    Ok(Ok(ResolvedOptions {
        reason,
        source,
        terms,
        databases,
        state_document,
        origin: options
            .origin
            .clone()
            .unwrap_or_else(|| PromptOrigin::of(&context.environment)),
    }))
}

impl PromptOrigin {
    /// Returns what the environment says of the agent in whose shell this runs.
    pub fn of(environment: &Environment) -> Self {
        let agent = environment.agent.clone();
        let provenance = agent.map_or_else(Provenance::default, |agent| Provenance {
            agent: Some(agent.name.to_owned()),
            session: agent.session,
            ..Provenance::default()
        });
        Self {
            provenance,
            prompt: None,
        }
    }
}

/// Parses and checks the options on what is recorded and for how long.
fn resolve_terms(
    context: &Context,
    options: &TermsOptions,
) -> Result<(CheckpointTerms, Vec<Database>, Option<StateDocument>)> {
    let scope = options
        .scope
        .as_ref()
        .map(|typed| parse_scope(&context.root, typed))
        .transpose()?;
    let state_document = parse_state_document(options)?;
    let expiry = options
        .expires
        .as_deref()
        .map(|typed| parse_expiry(typed, context.now_ms))
        .transpose()?;
    let checkpoint_type = options.checkpoint_type;
    check_type_has_its_content(
        checkpoint_type,
        scope.is_some(),
        !options.databases.is_empty(),
        state_document.is_some(),
    )?;
    let databases = database_names::parse(context, &options.databases)?;
    // With a state or databases, files are recorded only if requested.
    let scope =
        scope.or_else(|| (state_document.is_some() || !databases.is_empty()).then(Scope::default));
    let terms = CheckpointTerms {
        scope,
        checkpoint_type,
        expiry,
        is_automatic: false,
    };
    Ok((terms, databases, state_document))
}

/// Returns a reason or source without blanks around it.
///
/// # Errors
/// It is empty or too long.
pub fn checked_text(given: Option<&str>, default: &str, what: &str) -> Result<String> {
    let text = given.unwrap_or(default).trim();
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
        Some((name, _)) if of_remote(name) => format!("a checkpoint of the remote {name}"),
        _ => return Ok(()),
    };
    let reason = escape(reason);
    Err(Error::usage(format!(
        "'{reason}' names {what} and cannot be a reason"
    )))
}

/// Refuses a type without what it needs.
fn check_type_has_its_content(
    checkpoint_type: Option<CheckpointType>,
    has_scope: bool,
    has_database: bool,
    has_state: bool,
) -> Result<()> {
    let what = match checkpoint_type {
        Some(checkpoint_type @ (CheckpointType::GitStash | CheckpointType::FileBackup)) if !has_scope => {
            format!("type {} needs a --scope; without a type the whole directory is recorded", checkpoint_type.into_str())
        }
        Some(CheckpointType::DatabaseSavepoint) if !has_database => "type database_savepoint needs a --db".to_owned(),
        Some(CheckpointType::StateSnapshot) if !has_state || has_scope => {
            "type state_snapshot holds values and no files: give --state or --state-file, and no --scope".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Error::usage(what))
}

fn parse_state_document(options: &TermsOptions) -> Result<Option<StateDocument>> {
    let usage = |what| Error::usage(what);
    let whole = options
        .state_file
        .as_ref()
        .map(|(_, bytes)| bytes.as_slice());
    if let Some((file, bytes)) = &options.state_file {
        StateDocument::of(Some(bytes), &[])
            .map_err(|why| usage(format!("{}: {why}", escape_path(file))))?;
    }
    StateDocument::of(whole, &options.state).map_err(|why| usage(why.to_string()))
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

/// Examples of expiries, for messages.
const EXPIRY_FORMS: &str = "24h, 7d, 2026-12-24, '2026-12-24 18:00' or never";

fn parse_expiry(typed: &str, now_ms: i64) -> Result<Expiry> {
    if typed == "never" {
        return Ok(Expiry::Never);
    }
    let wrong = |why: &str| Error::usage(format!("--expires '{typed}' {why}"));
    let end_ms = match (time::parse_span(typed), time::parse_time(typed, now_ms)) {
        (Some(span_ms), _) => now_ms.saturating_add(span_ms),
        (None, Some(time)) => time.start_ms,
        (None, None) => {
            return Err(Error::bad_time_of("--expires", typed, EXPIRY_FORMS));
        }
    };
    if end_ms <= now_ms {
        return Err(wrong("has passed already"));
    }
    if end_ms > time::LAST_MS {
        return Err(wrong("is after the year 9999"));
    }
    Ok(Expiry::At(end_ms))
}
