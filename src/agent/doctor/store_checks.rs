//! What `doctor` looks at in the directory and its store.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::agent::doctor::check::{DoctorOutcome, HealthCheck};
use crate::agent::hook::handle::unsuited;
use crate::base::text::{escape, escape_path};
use crate::base::time::age;
use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::model::checkpoint::selector;
use crate::ops::context::Context;
use crate::ops::contract::hold;
use crate::ops::maintain::verify;
use crate::ops::session::{self, Pending};
use crate::store::files::atomic_file::{self, TemporaryFile};
use crate::store::repository::Store;
use crate::worktree::apply::stage_removal;
use crate::worktree::tree_handle::WorkTree;

/// Free space in bytes below which a `create` may soon fail.
const ROOM_BYTES: u64 = 256 << 20;

/// Runs all checks; `fix` mends what a `create` would, and removes what a killed restore left.
///
/// # Errors
/// The place of the store cannot be told.
pub fn examine(context: &Context, fix: bool) -> Result<DoctorOutcome> {
    let mut outcome = DoctorOutcome::default();
    let dir = context.store_dir()?;
    outcome.checks.push(root(context));
    if let Some(what) = unsuited(context) {
        let what = format!("this is {what}: hooks begin nothing here, 'checkpoint create' does");
        outcome.checks.push(HealthCheck::note("hooks", what));
    }
    if context.environment.disabled {
        let what = "CHECKPOINT_DISABLE is set: nothing is recorded";
        outcome.checks.push(HealthCheck::note("disabled", what));
    }
    let place = nearest_directory(&dir);
    let is_writable = writable(context, &place, &mut outcome);
    outcome.checks.push(room(&place));
    match context.find_store() {
        Ok(Some(store)) => of_store(context, &store, fix && is_writable, &mut outcome)?,
        Ok(None) => outcome.checks.push(HealthCheck::note(
            "store",
            "none yet: the first create makes it",
        )),
        Err(why) => outcome.checks.push(unusable(&why)),
    }
    outcome.checks.extend(settings(context));
    outcome.checks.push(names(context));
    Ok(outcome)
}

/// Returns the store's directory, or the nearest one above it that is there.
fn nearest_directory(dir: &Path) -> PathBuf {
    let mut places = dir.ancestors();
    let found = places.find(|place| place.is_dir());
    found.unwrap_or(dir).to_path_buf()
}

fn root(context: &Context) -> HealthCheck {
    let root = context.root.path();
    let shown = escape_path(root);
    if !context.root.exists() {
        let remedy =
            Sentence::text("restore it from a checkpoint elsewhere, or go to another directory");
        return HealthCheck::problem("directory", format!("{shown} is gone"), remedy);
    }
    let home = context.environment.account_home.as_deref();
    match context.root.danger(&context.base, home) {
        Some(why) => HealthCheck::problem(
            "directory",
            format!("{shown} gets no checkpoints: {why}"),
            Sentence::text("go to a project, or name one with -C"),
        ),
        None => HealthCheck::good("directory", shown),
    }
}

/// Tries to make a file where the store is or would be, to flush, lock and rename it.
fn writable(context: &Context, place: &Path, outcome: &mut DoctorOutcome) -> bool {
    let tried = try_out(place);
    let base = escape_path(&context.base);
    let check = match &tried {
        Ok(()) => HealthCheck::good("writing", format!("{} can be written", escape_path(place))),
        Err(Error::Io { source, .. }) if is_forbidden(source) => HealthCheck::problem(
            "writing",
            format!(
                "{} cannot be written ({source}): a sandbox or its rights forbid it",
                escape_path(place)
            ),
            Sentence::text(format!(
                "let the sandbox write {base}, or set CHECKPOINT_HOME to a folder that may be written"
            )),
        ),
        Err(why) => HealthCheck::problem(
            "writing",
            format!("{} cannot be written: {why}", escape_path(place)),
            Sentence::text("mend the disk, or set CHECKPOINT_HOME to another one"),
        ),
    };
    outcome.checks.push(check);
    tried.is_ok()
}

/// Whether an error is what sandboxes and read-only file systems answer.
fn is_forbidden(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// # Errors
/// The directory cannot be written, or its file system lacks locks or renames over a file.
fn try_out(place: &Path) -> Result<()> {
    let one = TemporaryFile::create(place, ".tmp-", "-")?;
    let lock = |file: &File| match file.try_lock() {
        Err(TryLockError::Error(why)) => Err(Error::io("lock", one.path())(why)),
        _ => Ok(()),
    };
    one.sync()?;
    lock(one.file())?;
    // The first file goes at once and leaves its name; Windows renames over no open file.
    let name_of = |gone: TemporaryFile| gone.path().to_path_buf();
    let target = name_of(TemporaryFile::create(place, ".tmp-", "-")?);
    TemporaryFile::create(place, ".tmp-", "-")?.publish(&target)?;
    one.publish(&target)?;
    atomic_file::remove_if_there(&target)?;
    Ok(())
}

fn room(place: &Path) -> HealthCheck {
    if atomic_file::has_room(place, ROOM_BYTES) {
        return HealthCheck::good("room", "more than 256 MiB are free");
    }
    HealthCheck::problem(
        "room",
        format!(
            "less than 256 MiB are free on the disk of {}",
            escape_path(place)
        ),
        Sentence::new(
            "'checkpoint prune' gives back what no checkpoint needs",
            &[],
        ),
    )
}

fn unusable(why: &Error) -> HealthCheck {
    HealthCheck::problem(
        "store",
        why.to_string(),
        Sentence::new(
            "'checkpoint verify --repair' makes a store of what can be read",
            &[],
        ),
    )
}

fn of_store(
    context: &Context,
    store: &Store,
    fix: bool,
    outcome: &mut DoctorOutcome,
) -> Result<()> {
    if fix {
        recover(context, outcome);
    }
    let inventory = match store.inventory() {
        Ok(inventory) => inventory,
        Err(why) => {
            outcome.checks.push(unusable(&why));
            return Ok(());
        }
    };
    let number = inventory.checkpoints.len();
    let latest = selector::latest(&inventory.checkpoints, 0).map(|latest| {
        let record = &latest.record;
        format!(
            ", latest {} {} ({} ago)",
            latest.id.short(),
            escape(&record.reason),
            age(record.time_ms, context.now_ms)
        )
    });
    let what = format!("checkpoints: {number}{}", latest.unwrap_or_default());
    outcome.checks.extend(soundness(context, what)?);
    let pending = session::pending_unlocked(store, &inventory.checkpoints)?;
    outcome.checks.extend(pending.as_ref().map(interrupted));
    if pending.is_none() {
        outcome.checks.extend(strays(context, store, fix));
    }
    let holds = hold::active_holds(context, store, &mut outcome.warnings);
    outcome.checks.extend(holds.iter().map(|hold| {
        let left = age(context.now_ms, hold.end_ms);
        let what = format!(
            "{} keeps checkpoints from being made for {left}",
            escape(&hold.name)
        );
        HealthCheck::note("hold", what)
    }));
    Ok(())
}

/// Checks the store without reading its objects; `what` describes it.
fn soundness(context: &Context, what: String) -> Result<Vec<HealthCheck>> {
    let report = verify::verify(context, None, false, false)?.report;
    let derived = report.derived.iter().map(|finding| {
        let what = format!("{}: {}", escape_path(&finding.file), finding.why);
        HealthCheck {
            remedy: Some(Sentence::new(
                "the next create puts it right, and so does 'checkpoint doctor --fix'",
                &[],
            )),
            ..HealthCheck::note("derived", what)
        }
    });
    let store = if report.is_whole() {
        HealthCheck::good("store", what)
    } else {
        let damaged = report.damaged.len() + report.files.len();
        HealthCheck::problem(
            "store",
            format!("{what}; damaged: {damaged}"),
            Sentence::new(
                "'checkpoint verify' lists the damage, 'checkpoint verify --repair' repairs what can be repaired",
                &[],
            ),
        )
    };
    Ok(std::iter::once(store).chain(derived).collect())
}

fn interrupted(pending: &Pending) -> HealthCheck {
    let remedy = match pending {
        Pending::Known(_) => Sentence::new(
            "'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
            &[],
        ),
        Pending::Unreadable { .. } => Sentence::new("'checkpoint undo' takes it back", &[]),
    };
    let target = pending.target().short();
    HealthCheck::problem(
        "restore",
        format!("the restore to {target} was interrupted"),
        remedy,
    )
}

/// Takes the lock once, which puts right what a killed process left in the store.
fn recover(context: &Context, outcome: &mut DoctorOutcome) {
    let healed = context.require_store().and_then(|store| {
        let warnings = session::begin(context, &store)?.warnings;
        Ok(warnings)
    });
    match healed {
        Ok(warnings) => outcome.warnings.extend(warnings),
        Err(why) => outcome.checks.push(HealthCheck::problem(
            "lock",
            why.to_string(),
            Sentence::new("'checkpoint doctor --fix' tries it again", &[]),
        )),
    }
}

/// Looks for stages of restores that have ended. One that holds bytes is left to the user: they may
/// be nowhere else.
fn strays(context: &Context, store: &Store, fix: bool) -> Option<HealthCheck> {
    const SUBJECT: &str = "stray files";
    if store.is_locked() {
        return None;
    }
    let entries = std::fs::read_dir(context.root.path()).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| stage_removal::is_stage_name(name.as_bytes()))
        .collect();
    names.sort();
    let work = WorkTree::open_root(&context.root).ok()?;
    let random = |name: &str| name.rsplit('-').next().unwrap_or_default().to_owned();
    let has_content = |name: &&String| {
        let found = stage_removal::leftover_has_unsaved(&work, &random(name), &|_, _| Ok(false));
        found.unwrap_or(true)
    };
    if let Some(name) = names.iter().find(has_content) {
        return Some(HealthCheck::problem(
            SUBJECT,
            format!("{name} may hold files that a restore moved aside"),
            Sentence::text("compare them with yours, and remove it by hand"),
        ));
    }
    let first = names.first()?;
    let more = match names.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!("left behind by a killed restore, empty: {first}{more}");
    if !fix {
        let remedy = Sentence::new("'checkpoint doctor --fix' removes them", &[]);
        return Some(HealthCheck::problem(SUBJECT, what, remedy));
    }
    let mut names = names.iter();
    let removed = names.try_for_each(|name| stage_removal::remove_leftover(&work, &random(name)));
    Some(match removed {
        Ok(()) => HealthCheck::fixed(SUBJECT, what),
        Err(why) => HealthCheck::problem(
            SUBJECT,
            why.to_string(),
            Sentence::text("remove them by hand"),
        ),
    })
}

fn settings(context: &Context) -> Vec<HealthCheck> {
    let remarks = context.settings.remarks.iter();
    remarks
        .map(|remark| {
            let what = format!("{}: {}", escape_path(&remark.file), remark.text);
            HealthCheck::problem(
                "settings",
                what,
                Sentence::new("'checkpoint config' shows what counts", &[]),
            )
        })
        .collect()
}

/// Tells whether the directory's file system takes names that differ only by case for one.
fn names(context: &Context) -> HealthCheck {
    let root = context.root.path();
    let folds = std::fs::read_dir(root).ok().and_then(|entries| {
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let name = names.find(|name| name.bytes().any(|byte| byte.is_ascii_alphabetic()))?;
        let swapped: String = name.chars().map(swap_case).collect();
        Some(root.join(swapped).symlink_metadata().is_ok() && is_one_name(root, &name))
    });
    match folds {
        Some(true) => {
            HealthCheck::note("file system", "names that differ only by case are one here")
        }
        _ => HealthCheck::good(
            "file system",
            "names, locks and renames work as they should",
        ),
    }
}

fn swap_case(letter: char) -> char {
    if letter.is_ascii_lowercase() {
        letter.to_ascii_uppercase()
    } else {
        letter.to_ascii_lowercase()
    }
}

/// Whether no other entry is equal to `name` but for case.
fn is_one_name(root: &Path, name: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(root) else {
        return false;
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|other| other.eq_ignore_ascii_case(name))
        .count()
        == 1
}
