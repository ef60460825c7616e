//! Terms of a `create` as typed: scope, mechanism, expiry, databases and state.

use std::path::PathBuf;

use crate::base::text::{escape_bytes, escape_path};
use crate::base::time;
use crate::error::{Error, Result};
use crate::model::checkpoint::terms::{CheckpointTerms, CheckpointType, Expiry};
use crate::model::path_pattern::has_marks;
use crate::model::state::database::Database;
use crate::model::state::scope::{Scope, ScopePart};
use crate::model::state::state_document::StateDocument;
use crate::ops::context::Context;
use crate::ops::database::database_names;
use crate::ops::restore::restore_paths;
use crate::worktree::root::Root;
use crate::worktree::tree_handle::WorkTree;

#[derive(Clone, Debug, Default)]
pub struct TermsOptions {
    /// Paths and patterns as typed; `None` for the whole directory.
    pub scope: Option<Vec<Vec<u8>>>,
    pub mechanism: Option<CheckpointType>,
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
#[derive(Clone, Debug, Default)]
pub struct RequestedOptions {
    pub terms: CheckpointTerms,
    pub databases: Vec<Database>,
    pub state: Option<StateDocument>,
}

/// # Errors
/// Wrong usage: an option that cannot be parsed, or options that conflict.
pub fn parse(context: &Context, options: &TermsOptions) -> Result<RequestedOptions> {
    let scope = options.scope.as_ref().map(|typed| parse_scope(&context.root, typed)).transpose()?;
    let state = parse_state(options)?;
    let expiry = options.expires.as_deref().map(|typed| parse_expiry(typed, context.now_ms)).transpose()?;
    let mechanism = options.mechanism;
    if let Some(mechanism @ (CheckpointType::GitStash | CheckpointType::FileBackup)) = mechanism
        && scope.is_none()
    {
        let what = format!("type {} needs a --scope; without a type the whole directory is recorded", mechanism.word());
        return Err(Error::Usage { what });
    }
    if mechanism == Some(CheckpointType::DatabaseSavepoint) && options.databases.is_empty() {
        return Err(Error::Usage { what: "type database_savepoint needs a --db".to_owned() });
    }
    if mechanism == Some(CheckpointType::StateSnapshot) && (state.is_none() || scope.is_some()) {
        let what = "type state_snapshot holds values and no files: give --state or --state-file, and no --scope";
        return Err(Error::Usage { what: what.to_owned() });
    }
    let databases = database_names::parse(context, &options.databases)?;
    // With a state or databases, files are recorded only if requested.
    let scope = scope.or_else(|| (state.is_some() || !databases.is_empty()).then(Scope::default));
    Ok(RequestedOptions { terms: CheckpointTerms { scope, mechanism, expiry }, databases, state })
}

fn parse_state(options: &TermsOptions) -> Result<Option<StateDocument>> {
    let usage = |what| Error::Usage { what };
    let whole = options.state_file.as_ref().map(|(_, bytes)| bytes.as_slice());
    if let Some((file, bytes)) = &options.state_file {
        StateDocument::of(Some(bytes), &[]).map_err(|what| usage(format!("{}: {what}", escape_path(file))))?;
    }
    StateDocument::of(whole, &options.state).map_err(usage)
}

/// # Errors
/// Wrong usage: no part at all, or an invalid one.
pub fn parse_scope(root: &Root, typed: &[Vec<u8>]) -> Result<Scope> {
    if typed.is_empty() {
        return Err(Error::Usage { what: "the scope is empty: no path and no pattern is named".to_owned() });
    }
    typed.iter().map(|part| parse_part(root, part)).collect::<Result<_>>().map(Scope::new)
}

/// Takes a name with glob marks literally if it exists on disk.
fn parse_part(root: &Root, typed: &[u8]) -> Result<ScopePart> {
    let literal = restore_paths::parse(root, &[typed.to_vec()])
        .and_then(|mut paths| paths.pop().ok_or_else(|| Error::Usage { what: "a scope is empty".to_owned() }));
    if !has_marks(typed) {
        return literal.map(ScopePart::path);
    }
    if let Ok(path) = &literal
        && WorkTree::open(root.path()).is_ok_and(|work| matches!(work.stat(path), Ok(Some(_))))
    {
        return Ok(ScopePart::path(path.clone()));
    }
    let typed = restore_paths::inside(root, typed);
    ScopePart::glob(typed)
        .ok_or_else(|| Error::Usage { what: format!("scope '{}' can match nothing", escape_bytes(typed)) })
}

fn parse_expiry(typed: &str, now_ms: i64) -> Result<Expiry> {
    if typed == "never" {
        return Ok(Expiry::Never);
    }
    let wrong = |why: &str| Error::Usage { what: format!("'{typed}' {why}; write 24h, 7d, a time, or never") };
    let end_ms = match time::parse_span(typed) {
        Some(span_ms) => now_ms.saturating_add(span_ms),
        None => time::parse(typed, now_ms).ok_or_else(|| wrong("is no time"))?,
    };
    if end_ms <= now_ms {
        return Err(wrong("has passed already"));
    }
    if end_ms > time::LAST_MS {
        return Err(wrong("is after the year 9999"));
    }
    Ok(Expiry::At(end_ms))
}
