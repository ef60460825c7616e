//! What `doctor` looks at in the directory and its store.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use crate::agent::doctor::check::{DoctorOutcome, HealthCheck, HealthState};
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
    let writing = writable(&place);
    let is_writable = writing.state == HealthState::Good;
    outcome.checks.extend([writing, room(&place)]);
    match context.find_store() {
        Ok(Some(store)) => of_store(context, &store, fix && is_writable, &mut outcome)?,
        Ok(None) => outcome.checks.push(HealthCheck::note(
            "store",
            "none yet: the first create makes it",
        )),
        Err(why) => outcome.checks.push(HealthCheck::of_error("store", &why)),
    }
    outcome.checks.extend(settings(context));
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
fn writable(place: &Path) -> HealthCheck {
    match try_out(place) {
        Ok(()) => HealthCheck::good("writing", format!("{} can be written", escape_path(place))),
        // The name of the file that was tried says nothing.
        Err(why) => HealthCheck::of_error("writing", &why.renamed("write", place)),
    }
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
            outcome.checks.push(HealthCheck::of_error("store", &why));
            return Ok(());
        }
    };
    let number = inventory.checkpoints.regular_count();
    let beside = match inventory.checkpoints.safety_count() {
        0 => String::new(),
        1 => ", 1 restore".to_owned(),
        restores => format!(", {restores} restores"),
    };
    let latest = selector::latest(&inventory.checkpoints, 0).map(|latest| {
        let record = &latest.record;
        format!(
            ", latest {} {} ({} ago)",
            latest.id.short(),
            escape(&record.reason),
            age(record.time_ms, context.now_ms)
        )
    });
    let what = format!(
        "checkpoints: {number}{beside}{}",
        latest.unwrap_or_default()
    );
    outcome.checks.extend(soundness(context, what)?);
    let pending = session::pending_unlocked(store, &inventory.checkpoints)?;
    let interrupted = |pending: &Pending| HealthCheck::of_error("restore", &pending.refusal());
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

/// Takes the lock once, which puts right what a killed process left in the store.
fn recover(context: &Context, outcome: &mut DoctorOutcome) {
    let store = context.require_store();
    let healed = store.and_then(|store| Ok(session::begin(context, &store)?.warnings));
    match healed {
        Ok(warnings) => outcome.warnings.extend(warnings),
        Err(why) => outcome.checks.push(HealthCheck::of_error("lock", &why)),
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
        Err(why) => HealthCheck::of_error(SUBJECT, &why),
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
