//! `guard`: whether a checkpoint exists from which the coming change can be undone. Nothing is
//! written; the directory is scanned only to advise a working command.

use std::ops::ControlFlow;

use crate::base::cut_list::and_more;
use crate::base::json::{JsonSchema, Serialize};
use crate::base::time::{self, MINUTE_MS, age};
use crate::config::environment;
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::{Checkpoint, RelPath, Scope, ScopePart, WhyNot};
use crate::ops::browse::diff;
use crate::ops::browse::list::reader_warnings;
use crate::ops::capture::gather;
use crate::ops::create::options;
use crate::ops::maintain::repair::check_with_retries;
use crate::ops::restore::restore_paths;
use crate::ops::{Context, Detail, Globs, LazySnapshot, PatchOptions, TypedWords, Warning};
use crate::store::{ReadFailure, Store};
use crate::worktree::WorkTree;

/// Maximum number of ignored files matched by a pattern that are listed by name.
const NAMED_FILES: usize = 10;
const USUAL_AGE_MS: i64 = 30 * MINUTE_MS;
/// Tolerated difference between two clocks, in milliseconds.
const CLOCK_SLACK_MS: i64 = MINUTE_MS;

/// The checkpoint that covers the change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GuardOutcome {
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    pub alias: String,
    /// Zero if its time is slightly ahead of the clock.
    pub age_ms: i64,
    pub coverage: &'static str,
    /// What it is limited to, as typed; null for the whole directory.
    pub scope: Option<Vec<String>>,
}

struct GuardedPath {
    scope: Option<Scope>,
    max_age_ms: i64,
    exact: bool,
}

/// # Errors
/// `unguarded` if there is none, with the command that makes one.
///
/// `scope` and `max_age` are as typed; without a scope it is the whole directory. `exact`: what is
/// there now must be held.
pub fn guard(
    context: &Context,
    scope: Option<&[Vec<u8>]>,
    max_age: Option<&str>,
    exact: bool,
) -> Result<(GuardOutcome, Vec<Warning>)> {
    let scope = scope
        .map(|typed| options::parse_scope(&context.root, typed))
        .transpose()?;
    let wanted = GuardedPath {
        scope,
        max_age_ms: max_age.map_or(Ok(USUAL_AGE_MS), parse_age)?,
        exact,
    };
    if !context.root.exists() {
        return Err(Error::root_missing(context.root.path()));
    }
    let Some(mut store) = context.find_store()? else {
        let what = "there is no checkpoint".to_owned();
        return Err(of_none(context, &wanted, what));
    };
    let inventory = store.inventory()?;
    let all = inventory.checkpoints.rev();
    let candidates: Vec<&Checkpoint> = all.filter(|c| !c.is_safety()).collect();
    let (scope, mut refusal) = (wanted.scope.as_ref(), None);
    for checkpoint in candidates.iter().filter(|found| covers(found, scope)) {
        let Some(why) = fault(context, &mut store, &wanted, checkpoint)? else {
            let unmatched = scope.map(|scope| unmatched(context, &store, checkpoint, scope));
            if let Some(part) = unmatched.transpose()?.flatten() {
                let held_by = format!("checkpoint {}", checkpoint.id.short());
                return Err(matches_nothing(context, &wanted, part, &held_by));
            }
            let (record, shown) = (&checkpoint.record, ScopePart::shown);
            let age_ms = context.now_ms.saturating_sub(record.time_ms).max(0);
            let parts = |scope: &Scope| scope.parts().iter().map(shown).collect();
            let outcome = GuardOutcome {
                alias: checkpoint.alias(),
                age_ms,
                coverage: record.coverage.into_str(),
                scope: record.terms.scope.as_ref().map(parts),
                checkpoint: (*checkpoint).clone(),
            };
            return Ok((outcome, reader_warnings(context, &store, &inventory)?));
        };
        let (covered, id) = (shown(context, scope), checkpoint.id.short());
        refusal.get_or_insert(format!(
            "the newest checkpoint that covers {covered} ({id}) {why}"
        ));
    }
    let nothing = || match candidates.as_slice() {
        [] if inventory.damaged.is_empty() => "there is no checkpoint".to_owned(),
        [] => "no checkpoint can be read".to_owned(),
        _ => format!("no checkpoint covers {}", shown(context, scope)),
    };
    Err(match refusal {
        Some(why) => unguarded(context, &wanted, why),
        None => of_none(context, &wanted, nothing()),
    })
}

fn parse_age(typed: &str) -> Result<i64> {
    let age_ms = time::parse_span(typed).ok_or_else(|| Error::bad_span("--max-age", typed))?;
    let is_short = || format!("--max-age is '{typed}', and any checkpoint is older");
    let age_ms = Some(age_ms).filter(|age_ms| *age_ms > 0);
    age_ms.ok_or_else(|| Error::usage(is_short()))
}

/// Returns why a checkpoint that covers the scope is not usable.
fn fault(
    context: &Context,
    store: &mut Store,
    wanted: &GuardedPath,
    checkpoint: &Checkpoint,
) -> Result<Option<String>> {
    let time_ms = checkpoint.record.time_ms;
    let age_ms = context.now_ms.saturating_sub(time_ms);
    let (evicted, damaged) = ("was evicted meanwhile", |why: &str| {
        format!("is damaged: {why}")
    });
    if age_ms > wanted.max_age_ms {
        return Ok(Some(format!("is {} old", age(time_ms, context.now_ms))));
    }
    let expiry = checkpoint.record.terms.expiry;
    if expiry.is_some_and(|expiry| expiry.is_over(context.now_ms)) {
        return Ok(Some("has expired".to_owned()));
    }
    if age_ms < -CLOCK_SLACK_MS {
        return Ok(Some("has a time in the future".to_owned()));
    }
    match lacks(context, store, checkpoint, wanted.scope.as_ref()) {
        Ok(None) => {}
        Ok(Some(what)) => return Ok(Some(format!("does not hold {what}"))),
        Err(error) if error.code == Code::EVICTED_MEANWHILE => return Ok(Some(evicted.to_owned())),
        Err(error) => match error.why().filter(|_| error.code == Code::DAMAGED) {
            Some(why) => return Ok(Some(damaged(why))),
            None => return Err(error),
        },
    }
    let report = check_with_retries(context, store, Some(&checkpoint.id.into()), false)?;
    let broken = report.damaged.first();
    Ok(
        match broken.and_then(|checkpoint| checkpoint.faults.first()) {
            Some(fault) => Some(damaged(&fault.why)),
            None if report.checkpoints == 0 => Some(evicted.to_owned()),
            None if wanted.exact => edited(context, checkpoint, wanted.scope.as_ref())?
                .map(|path| format!("does not hold '{}' as it is now", context.shown(&path))),
            None => None,
        },
    )
}

fn shown(context: &Context, scope: Option<&Scope>) -> String {
    let Some(scope) = scope else {
        return "the whole directory".to_owned();
    };
    let parts = scope.parts().iter();
    let parts = parts.map(|part| format!("'{}'", part_named(context, part)));
    parts.collect::<Vec<_>>().join(", ")
}

fn part_named(context: &Context, part: &ScopePart) -> String {
    let path = part.as_path().map(|path| context.shown(path));
    path.unwrap_or_else(|| part.shown())
}

/// Builds the error with a command that works as printed, or with the reason if none would.
fn unguarded(context: &Context, wanted: &GuardedPath, what: String) -> Error {
    let Some(parts) = wanted.scope.as_ref().map(Scope::parts) else {
        let create = command(context, "create", None);
        return Error::unguarded(what, Some(CommandWords::new(create)));
    };
    let scope = capturable(context, parts);
    let create = command(context, "create", Some(&scope));
    let found = match gather::preview_scope(context, &scope, &[]) {
        Ok(found) => found,
        Err(why) => return why,
    };
    let Some(refusal) = &found.refusal else {
        return Error::unguarded(what, Some(CommandWords::new(create)));
    };
    let secret = scope.parts().iter();
    let secret = secret.filter_map(|part| secret_pattern(part, &found.secrets));
    let secret: Vec<String> = secret.collect();
    let lets_through = |secret: &[String]| {
        gather::preview_scope(context, &scope, secret).is_ok_and(|it| it.refusal.is_none())
    };
    if !secret.is_empty() && lets_through(&secret) {
        let allowed = secret.iter();
        let allowed = allowed.map(|pattern| format!("--include-sensitive={pattern}").into());
        let create = create.into_iter().chain(allowed);
        return Error::unguarded(what, Some(CommandWords::new(create)));
    }
    let by_names = by_names(context, parts, &found.left_out);
    Error::unguarded(
        format!("{what}; {refusal}"),
        by_names.map(|(command, _)| command),
    )
}

/// Returns the glob that lets a part of a scope through if it is a secret.
fn secret_pattern(part: &ScopePart, secrets: &[RelPath]) -> Option<String> {
    let Some(path) = part.as_path() else {
        let typed = secrets
            .iter()
            .any(|secret| part.covers(secret))
            .then(|| part.typed())?;
        return String::from_utf8(typed.to_vec()).ok();
    };
    let escaped = secrets
        .contains(path)
        .then(|| restore_paths::escaped(path))?;
    Some(format!("/{}", String::from_utf8(escaped).ok()?))
}

/// Replaces patterns in the question by the ignored files that they match; returns the command and
/// the first such file. Named files are captured despite the rules.
fn by_names(
    context: &Context,
    parts: &[ScopePart],
    left_out: &[RelPath],
) -> Option<(CommandWords, RelPath)> {
    let (mut named, mut first) = (Vec::new(), None);
    for part in parts {
        let matched = || {
            left_out
                .iter()
                .filter(|path| part.as_path().is_none() && part.covers(path))
        };
        first = first.or_else(|| matched().next().cloned());
        match matched().count() {
            0 => named.push(part.clone()),
            1..=NAMED_FILES => named.extend(matched().cloned().map(ScopePart::path)),
            _ => return None,
        }
    }
    let guard = command(context, "guard", Some(&Scope::new(named)));
    Some((CommandWords::new(guard), first?))
}

/// Error if no checkpoint covers the scope; a path that does not exist is in none of them.
fn of_none(context: &Context, wanted: &GuardedPath, what: String) -> Error {
    let is_absent = |work: &WorkTree, part: &&ScopePart| {
        part.as_path()
            .is_some_and(|path| matches!(work.stat(path), Ok(None)))
    };
    let work = WorkTree::open_root(&context.root).ok();
    let parts = wanted.scope.as_ref().map(Scope::parts).unwrap_or_default();
    match work.and_then(|work| parts.iter().find(|part| is_absent(&work, part))) {
        Some(absent) => matches_nothing(context, wanted, absent, "a checkpoint"),
        _ => unguarded(context, wanted, what),
    }
}

/// Error for a part that matches nothing, since it may be mistyped. For a file not made yet it
/// suggests its directory.
fn matches_nothing(
    context: &Context,
    wanted: &GuardedPath,
    part: &ScopePart,
    held_by: &str,
) -> Error {
    let is_path = part.as_path().is_some();
    let matches = if is_path {
        "is neither in the directory nor in"
    } else {
        "matches nothing in"
    };
    let parts = wanted.scope.as_ref().map(Scope::parts).unwrap_or_default();
    let preview = || gather::preview_scope(context, &Scope::new(parts.to_vec()), &[]).ok();
    let found = (!is_path).then(preview).flatten();
    if let Some((command, path)) = found.and_then(|found| by_names(context, parts, &found.left_out))
    {
        let (part, such) = (part.shown(), context.shown(&path));
        let what = format!(
            "'{part}' {matches} {held_by}, and on disk what a rule leaves out, such as {such}"
        );
        return Error::unguarded(what, Some(command));
    }
    let parts = parts.iter();
    let instead = |one: &ScopePart| {
        if one == part {
            ScopePart::path(part.top())
        } else {
            one.clone()
        }
    };
    let above = capturable(context, &parts.map(instead).collect::<Vec<_>>());
    let guard = CommandWords::new(command(context, "guard", Some(&above)));
    let what = format!(
        "'{}' {matches} {held_by}; what is yet to be made is guarded by its directory",
        part_named(context, part)
    );
    Error::new(Code::NOTHING_FOUND, what).next(Sentence::command(guard))
}

/// Returns the words of the command that makes or asks for what is missing, usable from any
/// directory.
fn command(context: &Context, verb: &str, scope: Option<&Scope>) -> Vec<Vec<u8>> {
    let word = |path: &std::path::Path| path.as_os_str().as_encoded_bytes().to_vec();
    let mut words = vec![b"-C".to_vec(), word(context.root.path())];
    if environment::base(None, &context.environment).ok().as_ref() != Some(&context.base) {
        words.extend([b"--base".to_vec(), word(&context.base)]);
    }
    words.push(verb.into());
    for part in scope.map(Scope::parts).unwrap_or_default() {
        words.extend(["--scope".into(), scope_word(part)]);
    }
    words
}

/// Replaces each path that does not exist by its nearest existing directory: no checkpoint can be
/// made of a missing path.
fn capturable(context: &Context, parts: &[ScopePart]) -> Scope {
    let Ok(work) = WorkTree::open_root(&context.root) else {
        return Scope::new(parts.to_vec());
    };
    let exists = |path: &RelPath| !matches!(work.stat(path), Ok(None));
    let nearest = |path: &RelPath| path.self_and_ancestors().find(|above| exists(above));
    let parts = parts.iter().map(|part| match part.as_path() {
        Some(path) => ScopePart::path(nearest(path).unwrap_or_default()),
        None => part.clone(),
    });
    Scope::new(parts.collect())
}

/// Returns a part as it is typed; `./` keeps a path from being read as the name of a list, or as an
/// option.
fn scope_word(part: &ScopePart) -> Vec<u8> {
    let typed = part.typed();
    let is_list = part.as_path().is_some() && typed.starts_with(b"@");
    let before: &[u8] = if is_list || typed.starts_with(b"-") {
        b"./"
    } else {
        b""
    };
    [before, typed].concat()
}

/// Maximum number of uncovered paths that a refusal names.
const NAMED_UNCOVERED: usize = 10;

/// Whether its terms cover the scope; no scope means the whole directory.
pub fn covers(checkpoint: &Checkpoint, wanted: Option<&Scope>) -> bool {
    match (wanted, &checkpoint.record.terms.scope) {
        (_, None) => checkpoint.is_whole(),
        (None, Some(_)) => false,
        (Some(wanted), Some(held)) => held.holds(wanted),
    }
}

/// Returns what a covering checkpoint still cannot restore within the scope, such as an unreadable
/// file, or a named path on disk that a rule left out.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be examined.
pub fn lacks(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    wanted: Option<&Scope>,
) -> Result<Option<String>> {
    let meta = store.meta(checkpoint)?;
    let is_wanted = |path: &RelPath| wanted.is_none_or(|scope| scope.covers(path));
    let missed = meta.uncaptured.iter();
    let missed: Vec<String> = missed
        .filter(|(path, found)| found.why.makes_partial() && is_wanted(path))
        .map(|(path, found)| format!("{} ({})", context.shown(path), found.why.in_words()))
        .collect();
    if !missed.is_empty() {
        // A new checkpoint would lack the same.
        let listed = and_more(&missed, NAMED_UNCOVERED);
        let fix = "fix that first, or name with --scope what will be changed";
        return Ok(Some(format!("{listed}: {fix}")));
    }
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let work = WorkTree::open_root(&context.root)?;
    let state = LazySnapshot::new(store, checkpoint.tree, meta);
    for path in wanted.parts().iter().filter_map(ScopePart::as_path) {
        let held = || is_held(&state, path).map_err(|why| store.damage(checkpoint.id, why));
        if work.stat(path)?.is_some() && !held()? {
            return Ok(Some(format!("'{}'", context.shown(path))));
        }
    }
    Ok(None)
}

/// Returns the first path within the scope that is not now as the checkpoint holds it.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be read.
pub fn edited(
    context: &Context,
    checkpoint: &Checkpoint,
    wanted: Option<&Scope>,
) -> Result<Option<RelPath>> {
    let words = TypedWords::of_checkpoint(checkpoint.id.to_hex());
    let names = PatchOptions {
        detail: Detail::Names,
        context: 0,
        binary: false,
    };
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let found = diff::diff(context, &words, &Globs::default(), names, go_on)?;
    let unread = found.not_compared.into_iter();
    let unread = unread.filter(|(_, why)| why.makes_partial() || matches!(why, WhyNot::Secret(_)));
    let other = found.other;
    let mut paths = found
        .files
        .into_iter()
        .map(|file| file.path)
        .chain(other.modes.into_iter().map(|sides| sides.path))
        .chain(other.empty_dirs_added)
        .chain(other.empty_dirs_deleted)
        .chain(unread.map(|(path, _)| path));
    Ok(paths.find(|path| wanted.is_none_or(|scope| scope.covers(path))))
}

/// Returns the first part of a scope that matches no file of the checkpoint nor, if it is a path,
/// anything on disk.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be examined.
pub fn unmatched<'s>(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    wanted: &'s Scope,
) -> Result<Option<&'s ScopePart>> {
    let state = LazySnapshot::new(store, checkpoint.tree, store.meta(checkpoint)?);
    let work = WorkTree::open_root(&context.root)?;
    let mut all = None;
    for part in wanted.parts() {
        let is_matched = match part.as_path() {
            Some(path) if work.stat(path)?.is_some() => true,
            Some(path) => is_held(&state, path).map_err(|why| store.damage(checkpoint.id, why))?,
            None => {
                let held = match &all {
                    Some(held) => held,
                    None => all.insert(store.snapshot(checkpoint)?),
                };
                held.files
                    .keys()
                    .chain(held.dirs.keys())
                    .any(|path| part.covers(path))
            }
        };
        if !is_matched {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Whether a path is held; a special file, which has no bytes, is held once recorded.
fn is_held(state: &LazySnapshot<'_>, path: &RelPath) -> Result<bool, ReadFailure> {
    let found = state.meta.uncaptured.get(path).map(|found| &found.why);
    if let Some(WhyNot::Fifo | WhyNot::Socket | WhyNot::Device) = found {
        return Ok(true);
    }
    state.holds(path)
}
