//! Carries out what `setup` planned: each file is replaced whole or not at all.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use strum::VariantArray as _;

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::agent_files::{self, FileContent};
use crate::agent::setup::plan::{AgentPlan, LeftAlone, SettingsChange, SetupRequest};
use crate::agent::setup::record::{self, RecordedFile, SetupRecord};
use crate::base::read_regular;
use crate::error::{Error, Result};
use crate::store::files::atomic_file::{self, TemporaryFile};

/// Prefix of the names of temporary files.
const TEMPORARY: &str = ".checkpoint-tmp-";
/// Upper bound on the copies beside one file.
const MOST_COPIES: u32 = 99;

/// The record on disk, and what it says.
#[derive(Debug)]
pub struct OpenRecord {
    pub path: PathBuf,
    pub record: SetupRecord,
}

impl OpenRecord {
    fn save(&self) -> Result<()> {
        write(&self.path, &record::to_text(&self.record)?, Mode::Private)
    }

    /// Makes the folders of a file, each recorded before it is there.
    fn note_folders(&mut self, file: &Path) {
        let above = file.ancestors().skip(1);
        let mut missing: Vec<&Path> = above.take_while(|folder| !folder.exists()).collect();
        missing.reverse();
        for folder in missing {
            if !self.record.directories.iter().any(|known| known == folder) {
                self.record.directories.push(folder.to_path_buf());
            }
        }
    }

    /// Removes the folders that were made and are empty, and the record if it says nothing more.
    fn close(&mut self) -> Result<()> {
        self.remove_empty_folders();
        if !self.record.files.is_empty() {
            return self.save();
        }
        atomic_file::remove_if_there(&self.path)?;
        self.remove_empty_folders();
        Ok(())
    }

    fn remove_empty_folders(&mut self) {
        let mut folders = std::mem::take(&mut self.record.directories);
        folders.sort();
        // The inner ones come first; one that holds something stays.
        for folder in folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
        folders.retain(|folder| folder.is_dir());
        self.record.directories = folders;
    }
}

/// What became of the plan for an agent.
#[derive(Debug)]
pub struct CarriedOut {
    pub done: Vec<SettingsChange>,
    pub left: Vec<LeftAlone>,
    /// Files that could not be written or removed, and those that come after them.
    pub failed: Vec<LeftAlone>,
    pub failure: Option<Error>,
}

/// Carries out the plan for one agent, up to the first file that cannot be written or removed: what
/// calls us never stands without what it needs. The record holds what was done.
pub fn carry_out(plan: AgentPlan, open: &mut OpenRecord) -> CarriedOut {
    let known = open.record.files.clone();
    let is_removal = plan.changes.iter().any(|change| change.entry.is_none());
    let mut carried = CarriedOut {
        done: Vec::new(),
        left: plan.left,
        failed: Vec::new(),
        failure: note_all(&plan.changes, open).err(),
    };
    let mut undone = Vec::new();
    for change in plan.changes {
        let left = |why: &str| LeftAlone {
            path: change.path.clone(),
            why: why.to_owned(),
        };
        if carried.failure.is_some() {
            carried.failed.push(left("what comes before it failed"));
            undone.push(change);
        } else if text_of(&change.path) != change.found {
            let why = "another program wrote it meanwhile; try again";
            carried.left.push(left(why));
            undone.push(change);
        } else if let Err(why) = apply(&change).and_then(|()| forget(&change, open)) {
            // A flush that fails leaves the new text in place.
            if text_of(&change.path) == change.wanted {
                carried.done.push(change);
            } else {
                carried.failed.push(left(&cause(&why)));
                undone.push(change);
            }
            carried.failure = Some(why);
        } else {
            carried.done.push(change);
        }
    }
    let not_noted = undone
        .iter()
        .try_for_each(|change| take_note_back(change, &known, open));
    let closed = if is_removal || !undone.is_empty() {
        open.close()
    } else {
        Ok(())
    };
    let failed = carried.failure.take();
    carried.failure = failed.or(not_noted.err()).or(closed.err());
    carried
}

/// Returns why a file could not be written, without its path.
fn cause(error: &Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Records all changes that are about to be made: what is recorded and not written does no harm,
/// what is written and not recorded would stay.
fn note_all(changes: &[SettingsChange], open: &mut OpenRecord) -> Result<()> {
    let mut noted = changes
        .iter()
        .filter(|change| change.entry.is_some())
        .peekable();
    if noted.peek().is_none() {
        return Ok(());
    }
    let copies: Vec<_> = noted.filter_map(|change| note(change, open)).collect();
    let record = open.path.clone();
    open.note_folders(&record);
    open.save()?;
    let mut copies = copies.iter();
    copies.try_for_each(|copy| write(&copy.at, copy.text, Mode::Of(copy.of)))
}

/// A copy of a file of others that is to be made.
struct NewCopy<'c> {
    at: PathBuf,
    of: &'c Path,
    text: &'c str,
}

/// Records a change that is about to be made, and the copy of a file of others, which is returned.
fn note<'c>(change: &'c SettingsChange, open: &mut OpenRecord) -> Option<NewCopy<'c>> {
    let mut entry = change.entry.clone()?;
    open.note_folders(&change.path);
    // In a project, a copy could be committed; the record has the text too.
    let is_of_user = entry.is_shared && entry.project.is_none();
    // A file without anything of others needs none.
    let text = change
        .found
        .as_ref()
        .filter(|_| is_of_user && entry.before.is_some());
    let is_untouched = entry.before == change.found;
    // One that a killed run recorded may not be there.
    let is_due = |copy: &PathBuf| is_untouched && copy.symlink_metadata().is_err();
    let text = text.filter(|_| entry.copy.as_ref().is_none_or(is_due));
    if let Some(text) = text {
        entry.copy = place_of_copy(&change.path, text);
    }
    let new = text.zip(entry.copy.clone());
    let new = new.filter(|(text, at)| text_of(at).as_ref() != Some(*text));
    open.record.files.insert(change.path.clone(), entry);
    new.map(|(text, at)| NewCopy {
        at,
        of: &change.path,
        text,
    })
}

/// Makes the record say of a file what it said before, and removes the copy that was made for it.
fn take_note_back(
    change: &SettingsChange,
    known: &BTreeMap<PathBuf, RecordedFile>,
    open: &mut OpenRecord,
) -> Result<()> {
    let before = known.get(&change.path);
    let noted = match before {
        Some(before) => open
            .record
            .files
            .insert(change.path.clone(), before.clone()),
        None => open.record.files.remove(&change.path),
    };
    let old_copy = before.and_then(|before| before.copy.as_ref());
    let copy = noted.and_then(|noted| noted.copy);
    match copy.filter(|copy| Some(copy) != old_copy && text_of(copy) == change.found) {
        Some(copy) => atomic_file::remove_if_there(&copy).map(|_| ()),
        None => Ok(()),
    }
}

/// Returns the path beside a file for a copy of it: one that is free, or has this text already.
fn place_of_copy(path: &Path, text: &str) -> Option<PathBuf> {
    let name = path.file_name().unwrap_or_default().display();
    let mut names = (1..=MOST_COPIES).map(|number| match number {
        1 => path.with_file_name(format!("{name}.before-checkpoint")),
        _ => path.with_file_name(format!("{name}.before-checkpoint-{number}")),
    });
    names.find(|copy| match text_of(copy) {
        Some(there) => there == text,
        None => copy.symlink_metadata().is_err(),
    })
}

/// Removes temporary files that a killed run left beside the files of any agent. The caller has
/// the lock.
pub fn clear_leftovers(request: &SetupRequest, path: &Path, record: &SetupRecord) {
    let agents = AgentName::VARIANTS.iter();
    let wanted = agents.map(|agent| agent_files::of_agent(*agent, &request.places, ""));
    let wanted = wanted.flat_map(|wanted| wanted.files.into_iter().chain(wanted.gone));
    let files = record.files.keys().cloned().chain([path.to_path_buf()]);
    let files = files.chain(wanted.map(|file| file.path));
    for file in files {
        // A file behind a link is written where it is.
        let real = file.canonicalize().unwrap_or(file);
        real.parent().into_iter().for_each(sweep);
    }
}

fn apply(change: &SettingsChange) -> Result<()> {
    if change.found == change.wanted {
        return Ok(());
    }
    if let Some(text) = &change.wanted {
        return write(&change.path, text, Mode::Kept);
    }
    change.path.parent().into_iter().for_each(sweep);
    atomic_file::remove_if_there(&change.path).map(|_| ())
}

/// Forgets a file that is as it was before us, after the copy of it.
fn forget(change: &SettingsChange, open: &mut OpenRecord) -> Result<()> {
    if change.entry.is_some() {
        return Ok(());
    }
    if let Some(known) = open.record.files.get(&change.path)
        && let Some(copy) = known.copy.as_ref()
        && text_of(copy) == known.before
    {
        atomic_file::remove_if_there(copy)?;
    }
    open.record.files.remove(&change.path);
    Ok(())
}

/// Returns the text of a file; `None` if there is none.
fn text_of(path: &Path) -> Option<String> {
    read_regular::read_linked_text(path).ok()
}

/// The permissions of a file that is written.
#[derive(Clone, Copy)]
enum Mode<'p> {
    /// As they are; everyone may read a new file.
    Kept,
    /// As those of another file.
    Of(&'p Path),
    Private,
}

/// Writes a file of the user's with the permissions that it has.
pub fn write_settings(path: &Path, text: &str) -> Result<()> {
    write(path, text, Mode::Kept)
}

/// Writes a file through a link, whole or not at all. A failure names it, not the temporary file.
fn write(path: &Path, text: &str, mode: Mode<'_>) -> Result<()> {
    write_through(path, text, mode).map_err(|why| match why {
        Error::Io { source, .. } => Error::io("write", path)(source),
        other => other,
    })
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
    let like = match mode {
        Mode::Of(other) => other,
        Mode::Kept | Mode::Private => target,
    };
    if let Ok(found) = like.metadata() {
        let _ = fchown(file, Some(found.uid()), Some(found.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _target: &Path, _mode: Mode<'_>) {}

fn permissions(target: &Path, mode: Mode<'_>) -> Option<Permissions> {
    let like = match mode {
        Mode::Private => return None,
        Mode::Of(other) => other,
        Mode::Kept => target,
    };
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

/// Writes the plugin for Claude Code into a new or empty folder. Returns its files.
///
/// # Errors
/// The folder holds something, or cannot be written.
pub fn emit_plugin(folder: &Path, program: &str) -> Result<Vec<PathBuf>> {
    let is_free = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(why) => why.kind() == std::io::ErrorKind::NotFound,
    };
    if !is_free {
        return Err(Error::BadDestination {
            dir: folder.to_path_buf(),
            why: "it is not empty".to_owned(),
        });
    }
    let files = agent_files::claude_plugin(folder, program);
    for file in &files {
        if let FileContent::Own(text) = &file.content {
            write(&file.path, text, Mode::Kept)?;
        }
    }
    Ok(files.into_iter().map(|file| file.path).collect())
}
