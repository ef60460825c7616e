//! `setup`: our entries in the settings of agents, put in and taken out again.
//!
//! The table `agents.toml` says what each agent gets and where (`agents`); `agent_files` makes the
//! files of it, `plan` compares them with what is there, and here it is carried out: each file is
//! replaced whole or not at all. In a file that others write too ours is known by the program that
//! it calls (`settings_json`, `settings_toml`), a text of ours alone by its last line. `json_edit`
//! edits JSON.

pub mod agent_files;
pub mod agents;
mod json_edit;
pub mod plan;
pub mod settings_json;
mod settings_toml;

use std::collections::BTreeSet;
#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use strum::VariantArray as _;

use crate::agent::setup::plan::text_of;
use crate::agent::{
    AgentName, AgentPlan, Agents, FileOutcome, Leeway, SettingsFile, SetupPlaces, SetupProgress,
};
use crate::base::random_name::random_hex;
use crate::base::read_regular::lstat;
use crate::error::{Error, Result};
use crate::ops::transfer::clone::is_free;
use crate::store::files::atomic_file;
use crate::store::lock;
use crate::store::{LockGuard, TemporaryFile};

/// Prefix of the names of temporary files.
const TEMPORARY: &str = ".checkpoint-tmp-";

/// Marks a folder that was there before us, empty: it stays when ours goes.
const EMPTY_BEFORE: &str = ".empty-before-checkpoint";
const EMPTY_BEFORE_TEXT: &[u8] =
    b"'checkpoint setup --remove' takes this file away, and leaves the folder.\n";
/// Upper bound on the time to wait for another `setup`.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Waits until no other `setup` of these places is at work. Their directory itself is locked, so
/// that nothing is left behind.
///
/// # Errors
/// Another one goes on for too long.
pub fn lock(places: &SetupPlaces) -> Result<Option<LockGuard>> {
    lock::acquire_directory(&places.top, LONGEST_WAIT)
}

/// Carries out the plan for one agent, up to the first file that cannot be written or removed: what
/// calls us never stands without what it needs. `top` is the directory that stays in any case.
pub fn carry_out(plan: &mut AgentPlan, top: &Path) {
    let is_manual = plan.changes().next().is_none() && !plan.notes.is_empty();
    plan.progress = if is_manual {
        SetupProgress::Manual
    } else {
        SetupProgress::Done
    };
    let around = plan.changes().flat_map(|file| folders(&file.path, top));
    let around: BTreeSet<PathBuf> = around.map(Path::to_path_buf).collect();
    plan.failure = around.iter().try_for_each(|folder| mark(folder)).err();
    for file in plan.files.iter_mut().filter(|file| file.is_change()) {
        if plan.failure.is_some() {
            file.end(FileOutcome::Failed, "what comes before it failed");
            continue;
        }
        let found = present(&file.path);
        if found.as_ref().is_ok_and(|found| *found != file.found) {
            let why = "another program wrote it meanwhile; try again";
            file.end(FileOutcome::Left, why);
        } else if let Err(why) = found.and_then(|_| apply(file, top)) {
            // A flush that fails leaves the new text in place.
            if !says(&file.path, file.wanted.as_deref()) {
                // The path is told already.
                let source = why.io_failure().map(|(_, source)| source.to_string());
                file.end(FileOutcome::Failed, &source.unwrap_or(why.to_string()));
            }
            plan.failure = Some(why);
        }
    }
    // One in which nothing came is as it was.
    let cleared = around
        .iter()
        .try_for_each(|folder| clear_mark(folder, &mut || false));
    plan.failure = plan.failure.take().or(cleared.err());
}

/// Returns the folders around a file, up to one that stays in any case.
fn folders<'p>(path: &'p Path, top: &'p Path) -> impl Iterator<Item = &'p Path> {
    let above = path.ancestors().skip(1);
    above.take_while(move |folder| folder.starts_with(top) && *folder != top)
}

fn present(path: &Path) -> Result<Option<String>> {
    text_of(path).map_err(Error::io("read", path))
}

/// Whether a file is known to have a text, or not to be there.
fn says(path: &Path, wanted: Option<&str>) -> bool {
    text_of(path).is_ok_and(|text| text.as_deref() == wanted)
}

/// Makes one change, which lasts. The copy of what others wrote comes first. It goes last where its text
/// comes back, and else first: beside a file without our entries, a copy of another text stays.
fn apply(change: &SettingsFile, top: &Path) -> Result<()> {
    if let (Some(copy), Some(found), false) = (&change.copy, &change.found, change.copy_goes)
        && !says(copy, change.found.as_deref())
    {
        write(copy, found, Some(&change.path))?;
    }
    let remove_copy = |copy: &Path| {
        atomic_file::remove_if_there(copy)?;
        copy.parent().map_or(Ok(()), atomic_file::sync_directory)
    };
    if let (Some(copy), true) = (&change.copy, change.copy_goes)
        && !says(copy, change.wanted.as_deref())
    {
        remove_copy(copy)?;
    }
    let Some(text) = &change.wanted else {
        return remove_with_folders(&change.path, top);
    };
    let written = match &change.found {
        Some(found) if found == text => Ok(()),
        _ => write(&change.path, text, None),
    };
    // What is without ours needs no copy.
    let without = [&change.found, &change.wanted][usize::from(change.copy_goes)];
    if let Some(copy) = &change.copy
        && present(&change.path)? == *without
    {
        remove_copy(copy)?;
    }
    written
}

/// Removes a file with the folders in which nothing else is, whole or not at all: an empty one is not
/// of a run that was killed.
#[expect(clippy::disallowed_methods, reason = "no files of a store")]
fn remove_with_folders(path: &Path, top: &Path) -> Result<()> {
    path.parent().into_iter().for_each(sweep);
    let mut gone = None;
    for folder in folders(path, top) {
        if !holds_one(folder)? {
            break;
        }
        gone = Some(folder);
    }
    if let Some(gone) = gone {
        let staged = gone.with_file_name(format!("{TEMPORARY}{}", random_hex()));
        let staged = match std::fs::rename(gone, &staged) {
            Ok(()) => staged,
            // One that is in use can still be emptied.
            Err(why) if !is_forbidden(&why) => gone.to_path_buf(),
            Err(why) => return Err(Error::io("remove", path)(why)),
        };
        let mut inside = staged.join(path.strip_prefix(gone).unwrap_or(Path::new("")));
        let mut removed = std::fs::remove_file(&inside);
        while removed.is_ok() && inside != staged {
            inside.pop();
            removed = std::fs::remove_dir(&inside);
        }
        // What came in meanwhile stays.
        if removed.is_err() && staged != gone {
            let _ = std::fs::rename(&staged, gone);
        }
        removed
            .or_else(|why| if path.exists() { Err(why) } else { Ok(()) })
            .map_err(Error::io("remove", path))?;
    } else {
        atomic_file::remove_if_there(path)?;
    }
    let mut left = path.ancestors().skip(1);
    left.find(|folder| folder.is_dir())
        .map_or(Ok(()), |folder| {
            clear_mark(folder, &mut || false)?;
            atomic_file::sync_directory(folder)
        })
}

fn is_forbidden(why: &io::Error) -> bool {
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    cfg!(unix) && kinds.contains(&why.kind())
}

/// Whether a path is a folder with one entry.
fn holds_one(folder: &Path) -> Result<bool> {
    let found = lstat(folder).map_err(Error::io("look at", folder))?;
    let count = || {
        std::fs::read_dir(folder)?
            .take(2)
            .try_fold(0, |count, entry| entry.map(|_| count + 1))
    };
    let is_folder = found.is_some_and(|found| found.is_dir());
    Ok(is_folder && count().map_err(Error::io("list", folder))? == 1)
}

/// Marks a folder that is there and empty. One behind a link stays without a mark.
fn mark(folder: &Path) -> Result<()> {
    match is_free(folder) {
        _ if folder.is_symlink() => return Ok(()),
        Ok(true) => {}
        Err(why) if !matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(Error::io("list", folder)(why));
        }
        _ => return Ok(()),
    }
    let path = folder.join(EMPTY_BEFORE);
    let mark = File::create_new(&path);
    mark.and_then(|mut mark| mark.write_all(EMPTY_BEFORE_TEXT))
        .map_err(Error::io("write", &path))
}

/// Removes our mark from a folder in which nothing of ours is, or nothing else at all.
fn clear_mark(folder: &Path, is_unused: &mut dyn FnMut() -> bool) -> Result<()> {
    let mark = folder.join(EMPTY_BEFORE);
    let is_there = lstat(&mark).map_err(Error::io("look at", &mark))?.is_some();
    if is_there && (holds_one(folder)? || is_unused()) {
        std::fs::remove_file(&mark).map_err(Error::io("remove", &mark))?;
    }
    Ok(())
}

/// Removes what a killed run left around the files of any agent, and the marks of folders in which
/// nothing of ours is. The caller has the lock.
///
/// # Errors
/// A mark cannot be removed.
pub fn clear_leftovers(places: &SetupPlaces, agents: &Agents) -> Result<()> {
    let mut around = BTreeSet::from([places.top.clone()]);
    let mut files = Vec::new();
    for name in AgentName::VARIANTS.iter().copied() {
        let of = |agent| agent_files::of_agent(name, agent, places, &Leeway::Plugin, "");
        let wanted = agents.get(name).and_then(of);
        for file in wanted.into_iter().flat_map(|wanted| wanted.files) {
            // A file behind a link is written where it is.
            let real = file.path.canonicalize().unwrap_or(file.path.clone());
            around.extend(real.parent().map(Path::to_path_buf));
            around.extend(folders(&real, &places.top).map(Path::to_path_buf));
            files.push((real, file));
        }
    }
    let mut cleared = Ok(());
    for folder in around {
        sweep(&folder);
        // One that cannot be read may be ours.
        let is_ours = |(_, file): &_| plan::has_ours(file).unwrap_or(true);
        let mut below = files.iter().filter(|(real, _)| real.starts_with(&folder));
        cleared = cleared.and(clear_mark(&folder, &mut || !below.any(is_ours)));
    }
    cleared
}

/// Writes a file through a link, whole or not at all, with the owner and permissions of `like` or
/// those that it has. A failure names it, not the temporary file.
pub fn write(path: &Path, text: &str, like: Option<&Path>) -> Result<()> {
    write_through(path, text, like).map_err(|why| why.renamed("write", path))
}

#[expect(clippy::disallowed_methods, reason = "no files of a store")]
fn write_through(path: &Path, text: &str, like: Option<&Path>) -> Result<()> {
    let found = lstat(path).map_err(Error::io("look at", path))?;
    let target = if found.is_some_and(|found| found.is_symlink()) {
        path.canonicalize().map_err(Error::io("follow", path))?
    } else {
        path.to_path_buf()
    };
    let folder = target.parent().unwrap_or(Path::new("."));
    // Folders appear with the file in them: one that is empty is not of a run that was killed.
    let missing = folder.ancestors().take_while(|folder| !folder.exists());
    let Some(top) = missing.last() else {
        return write_into(folder, &target, text, like);
    };
    let staged = top.with_file_name(format!("{TEMPORARY}{}", random_hex()));
    let inside = staged.join(folder.strip_prefix(top).unwrap_or(Path::new("")));
    let file = inside.join(target.file_name().unwrap_or_default());
    let made = std::fs::create_dir_all(&inside).map_err(Error::io("create", &inside));
    let made = made.and_then(|()| write_into(&inside, &file, text, like));
    let moved = made.and_then(|()| std::fs::rename(&staged, top).map_err(Error::io("create", top)));
    moved.inspect_err(|_| drop(remove_staged(&staged)))?;
    top.parent().map_or(Ok(()), atomic_file::sync_directory)
}

/// Removes a folder of ours, by its random name.
#[expect(clippy::disallowed_methods, reason = "it is none of the user's")]
fn remove_staged(folder: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(folder)
}

fn write_into(folder: &Path, target: &Path, text: &str, like: Option<&Path>) -> Result<()> {
    sweep(folder);
    let temporary = TemporaryFile::create(folder, TEMPORARY, "-")?;
    let mut file = temporary.file();
    file.write_all(text.as_bytes())
        .and_then(|()| resemble(file, like.unwrap_or(target)))
        .map_err(Error::io("write", temporary.path()))?;
    temporary.sync()?;
    temporary.publish(target)?;
    atomic_file::sync_directory(folder)
}

/// Gives a new file the mode of another, and its owner and group as far as this user may: root would
/// take it from its user. Everyone may read one that has no model.
fn resemble(file: &File, like: &Path) -> io::Result<()> {
    let found = match like.metadata() {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
        found => found.ok(),
    };
    let mode = found.as_ref().map(Metadata::permissions);
    #[cfg(unix)]
    let mode = {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
        if let Some(found) = found {
            let _ = fchown(file, None, Some(found.gid()));
            let _ = fchown(file, Some(found.uid()), None);
        }
        mode.or_else(|| Some(Permissions::from_mode(0o644)))
    };
    mode.map_or(Ok(()), |mode| file.set_permissions(mode))
}

/// Removes temporary files and folders that a killed run left in a folder.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.as_encoded_bytes().strip_prefix(TEMPORARY.as_bytes());
        let is_random = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        if rest.is_some_and(|rest| rest.len() > 8 && rest.iter().all(is_random)) {
            let path = entry.path();
            let _ = std::fs::remove_file(&path).or_else(|_| remove_staged(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_names_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let ours = ["0123456789ab", "0123-456789ab"];
        let others = ["01234567", "notes of mine"];
        for name in ours.iter().chain(&others) {
            std::fs::write(folder.path().join(format!("{TEMPORARY}{name}")), "").unwrap();
        }
        sweep(folder.path());
        for (names, stay) in [(ours, false), (others, true)] {
            let path = |name: &str| folder.path().join(format!("{TEMPORARY}{name}"));
            assert!(names.iter().all(|name| path(name).exists() == stay));
        }
    }
}
