//! Carries out what `setup` planned: each file is replaced whole or not at all.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use strum::VariantArray as _;

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::agent_files;
use crate::agent::setup::agents::{Agents, SetupPlaces};
use crate::agent::setup::managed::Leeway;
use crate::agent::setup::plan::{AgentPlan, LeftAlone, SettingsChange, SetupProgress, text_of};
use crate::config::environment::Environment;
use crate::error::{Error, Result};
use crate::store::files::atomic_file::{self, TemporaryFile};
use crate::store::lock::{self, LockGuard};

/// Prefix of the names of temporary files.
const TEMPORARY: &str = ".checkpoint-tmp-";

/// Upper bound on the time to wait for another `setup`.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Waits until no other `setup` of this user is at work. The home directory itself is locked, so
/// that nothing is left behind.
///
/// # Errors
/// Another one goes on for too long.
pub fn lock(environment: &Environment) -> Result<Option<LockGuard>> {
    let home = environment.home.as_deref();
    let locked = home.map(|home| lock::acquire_directory(home, LONGEST_WAIT));
    Ok(locked.transpose()?.flatten())
}

/// Carries out the plan for one agent, up to the first file that cannot be written or removed: what
/// calls us never stands without what it needs. `top` is the directory that stays in any case.
pub fn carry_out(mut plan: AgentPlan, top: &Path) -> AgentPlan {
    plan.progress = SetupProgress::Done;
    plan.unchanged.clear();
    for change in std::mem::take(&mut plan.changes) {
        let left = |why: &str| LeftAlone {
            path: change.path.clone(),
            why: why.to_owned(),
        };
        if plan.failure.is_some() {
            plan.failed.push(left("what comes before it failed"));
        } else if text_of(&change.path) != change.found {
            let why = "another program wrote it meanwhile; try again";
            plan.left.push(left(why));
        } else if let Err(why) = apply(&change, top) {
            // A flush that fails leaves the new text in place.
            if text_of(&change.path) == change.wanted {
                plan.changes.push(change);
            } else {
                plan.failed.push(left(&cause(&why)));
            }
            plan.failure = Some(why);
        } else {
            plan.changes.push(change);
        }
    }
    plan
}

/// Makes one change. The copy of what others wrote comes first, and goes last.
fn apply(change: &SettingsChange, top: &Path) -> Result<()> {
    let copied = change.copy.as_deref().and_then(text_of);
    let is_back = copied == change.wanted;
    match (&change.copy, &change.found) {
        (Some(copy), Some(found)) if !is_back && copied != change.found => {
            write(copy, found, Mode::Of(&change.path))?;
        }
        _ => {}
    }
    let Some(text) = &change.wanted else {
        change.path.parent().into_iter().for_each(sweep);
        atomic_file::remove_if_there(&change.path)?;
        let folders = change.path.ancestors().skip(1);
        let mut folders = folders.take_while(|folder| folder.starts_with(top) && *folder != top);
        // One that holds something stays, and all above it.
        while folders
            .next()
            .is_some_and(|folder| std::fs::remove_dir(folder).is_ok())
        {}
        return Ok(());
    };
    let written = match &change.found {
        Some(found) if found == text => Ok(()),
        _ => write(&change.path, text, Mode::Kept),
    };
    match &change.copy {
        // What was not changed needs no copy.
        Some(copy) if is_back || text_of(&change.path) == change.found => {
            atomic_file::remove_if_there(copy)?;
        }
        _ => {}
    }
    written
}

/// Returns why a file could not be written, without its path.
fn cause(error: &Error) -> String {
    match error.io_failure() {
        Some((_, source)) => source.to_string(),
        None => error.to_string(),
    }
}

/// Removes temporary files that a killed run left beside the files of any agent. The caller has
/// the lock.
pub fn clear_leftovers(places: &SetupPlaces, agents: &Agents) {
    for name in AgentName::VARIANTS.iter().copied() {
        let Ok(agent) = agents.get(name) else {
            continue;
        };
        let wanted = agent_files::of_agent(name, agent, places, &Leeway::Plugin, "");
        let wanted = wanted.into_iter();
        for file in wanted.flat_map(|wanted| wanted.files.into_iter().chain(wanted.extra)) {
            // A file behind a link is written where it is.
            let real = file.path.canonicalize().unwrap_or(file.path);
            real.parent().into_iter().for_each(sweep);
        }
    }
}

/// The permissions of a file that is written.
#[derive(Clone, Copy)]
enum Mode<'p> {
    /// As they are; everyone may read a new file.
    Kept,
    /// As those of another file.
    Of(&'p Path),
}

impl<'p> Mode<'p> {
    /// Returns the file whose owner and permissions count.
    fn model(self, target: &'p Path) -> &'p Path {
        match self {
            Mode::Of(other) => other,
            Mode::Kept => target,
        }
    }
}

/// Writes a file of the user's with the permissions that it has.
pub fn write_settings(path: &Path, text: &str) -> Result<()> {
    write(path, text, Mode::Kept)
}

/// Writes a file through a link, whole or not at all. A failure names it, not the temporary file.
fn write(path: &Path, text: &str, mode: Mode<'_>) -> Result<()> {
    write_through(path, text, mode).map_err(|why| why.renamed("write", path))
}

fn write_through(path: &Path, text: &str, mode: Mode<'_>) -> Result<()> {
    let target = if path.is_symlink() {
        path.canonicalize().map_err(Error::io("follow", path))?
    } else {
        path.to_path_buf()
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    sweep(folder);
    let temporary = TemporaryFile::create(folder, TEMPORARY, "-")?;
    let failed = Error::io("write", temporary.path());
    let mut file = temporary.file();
    file.write_all(text.as_bytes()).map_err(failed)?;
    keep_owner(file, &target, mode);
    if let Some(permissions) = permissions(&target, mode) {
        let failed = Error::io("set the mode of", temporary.path());
        file.set_permissions(permissions).map_err(failed)?;
    }
    temporary.sync()?;
    temporary.publish(&target)?;
    atomic_file::sync_directory(folder)
}

/// Gives a new file the owner and group of the one that it replaces or is a copy of, as far as this
/// user may: root would take it from its user.
#[cfg(unix)]
fn keep_owner(file: &File, target: &Path, mode: Mode<'_>) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let like = mode.model(target);
    if let Ok(found) = like.metadata() {
        let _ = fchown(file, Some(found.uid()), Some(found.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _target: &Path, _mode: Mode<'_>) {}

fn permissions(target: &Path, mode: Mode<'_>) -> Option<Permissions> {
    let like = mode.model(target);
    like.metadata()
        .ok()
        .map(|found| found.permissions())
        .or_else(usual_permissions)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn usual_permissions() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn usual_permissions() -> Option<Permissions> {
    None
}

/// Removes temporary files that a killed run left in a folder.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let leftovers = entries.filter(|entry| {
        let name = entry.file_name();
        let rest = name.as_encoded_bytes().strip_prefix(TEMPORARY.as_bytes());
        rest.is_some_and(|rest| {
            rest.len() > 8
                && rest
                    .iter()
                    .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')
        })
    });
    for leftover in leftovers {
        let _ = std::fs::remove_file(leftover.path());
    }
}
