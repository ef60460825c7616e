//! Rolls back the steps of an apply.

use std::collections::{HashMap, HashSet};
use std::io;

use crate::error::Obstacle;
use crate::model::{RelPath, Stat};
use crate::worktree::apply::dir_opener::DirOpener;
use crate::worktree::sys::{self, Access, Dir, ItemKind};
use crate::worktree::{AppliedStep, GraftedDir, Stage, WorkTree};

/// Whether this is the same unchanged file; ctime is ignored, since a rename changes it.
pub(in crate::worktree) fn is_same_after_rename(now: &Stat, before: &Stat) -> bool {
    now.ino == before.ino
        && now.mode == before.mode
        && now.size_bytes == before.size_bytes
        && now.mtime_ns == before.mtime_ns
}

/// Rolls back all steps, last one first, continuing after failures. Returns the paths that could
/// not be rolled back.
pub(in crate::worktree) fn take_back(
    work: &WorkTree,
    stage: &Stage,
    done: &[AppliedStep],
) -> Vec<Obstacle> {
    let mut opener = DirOpener::new(work);
    let mut problems = Vec::new();
    // Mode changes made by the rollback itself.
    let mut opened_up = Vec::new();
    for step in done.iter().rev() {
        if let Err(error) = undo(&mut opener, &mut opened_up, stage, step) {
            problems.push(Obstacle {
                path: step.path().clone(),
                why: sys::reason(&error),
            });
        }
    }
    for step in std::mem::take(&mut opened_up).iter().rev() {
        if let Err(error) = undo(&mut opener, &mut opened_up, stage, step) {
            problems.push(Obstacle {
                path: step.path().clone(),
                why: sys::reason(&error),
            });
        }
    }
    if let Some(lost) = stage.half_exchanged() {
        problems.push(Obstacle {
            path: lost,
            why: "could not be put back after half an exchange".into(),
        });
    }
    problems
}

fn undo(
    opener: &mut DirOpener<'_>,
    opened_up: &mut Vec<AppliedStep>,
    stage: &Stage,
    step: &AppliedStep,
) -> io::Result<()> {
    let path = step.path();
    match step {
        AppliedStep::ChangedMode { perm, .. } => {
            let dir = opener.open_parent_for_stat(path, opened_up)?;
            // A refused chmod left the old mode in place.
            if has_mode(&dir, path, *perm) {
                Ok(())
            } else {
                set_mode(&dir, path, *perm)
            }
        }
        AppliedStep::Moved { gone, .. } => stage.dir().rename_no_replace(
            gone.as_bytes(),
            opener.parent_of(path, opened_up)?,
            path.name(),
        ),
        AppliedStep::Exchanged { staged, ours, .. } => exchange_back(
            stage.dir(),
            staged.as_bytes(),
            opener.parent_of(path, opened_up)?,
            path.name(),
            ours,
        ),
        AppliedStep::Placed { staged, ours, .. } => take_out(
            stage.dir(),
            staged.as_bytes(),
            opener.parent_of(path, opened_up)?,
            path.name(),
            ours,
        ),
        AppliedStep::Grafted { staged, holds, .. } => {
            opener.forget(path);
            take_tree_out(
                stage.dir(),
                staged.as_bytes(),
                opener.parent_of(path, opened_up)?,
                path.name(),
                holds,
            )
        }
        AppliedStep::MadeDir { .. } => {
            let removed = opener.parent_of(path, opened_up)?.rmdir(path.name());
            opener.forget(path);
            if_present(removed)
        }
        AppliedStep::RemovedDir { perm, .. } => {
            let dir = opener.parent_of(path, opened_up)?;
            match dir.make_dir(path.name()) {
                Err(error)
                    if error.kind() != io::ErrorKind::AlreadyExists || !is_dir(dir, path) =>
                {
                    Err(error)
                }
                _ => dir.chmod_child(path.name(), *perm),
            }
        }
    }
}

/// Sets the mode of `path` in its parent directory; for the root path, `parent` is the root itself.
pub(in crate::worktree) fn set_mode(parent: &Dir, path: &RelPath, perm: u32) -> io::Result<()> {
    if path.is_root() {
        parent.chmod(perm)
    } else {
        parent.chmod_child(path.name(), perm)
    }
}

fn has_mode(parent: &Dir, path: &RelPath, perm: u32) -> bool {
    let stat = if path.is_root() {
        parent.stat()
    } else {
        parent.stat_child(path.name())
    };
    stat.is_ok_and(|stat| stat.perm() == perm)
}

fn is_dir(parent: &Dir, path: &RelPath) -> bool {
    parent
        .stat_child(path.name())
        .is_ok_and(|stat| sys::kind_of(&stat) == ItemKind::Dir)
}

fn if_present(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Puts the old file back; fails and keeps the new one if another process wrote to it meanwhile.
fn exchange_back(
    stage: &Dir,
    staged: &[u8],
    dir: &Dir,
    name: &[u8],
    ours: &Stat,
) -> io::Result<()> {
    match stage.rename_exchange(staged, dir, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return stage.rename_no_replace(staged, dir, name);
        }
        exchanged => exchanged?,
    }
    if is_same_after_rename(&stage.stat_child(staged)?, ours) {
        return Ok(());
    }
    stage.rename_exchange(staged, dir, name)?;
    Err(changed_again())
}

fn take_out(stage: &Dir, staged: &[u8], dir: &Dir, name: &[u8], ours: &Stat) -> io::Result<()> {
    match dir.rename_no_replace(name, stage, staged) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        moved => moved?,
    }
    if is_same_after_rename(&stage.stat_child(staged)?, ours) {
        return Ok(());
    }
    stage.rename_no_replace(staged, dir, name)?;
    Err(changed_again())
}

/// Moves a tree back into the stage; fails and leaves it in place if another process changed or
/// added something.
fn take_tree_out(
    stage: &Dir,
    staged: &[u8],
    dir: &Dir,
    name: &[u8],
    holds: &[GraftedDir],
) -> io::Result<()> {
    match dir.rename_dir_no_replace(name, stage, staged) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        moved => moved?,
    }
    if is_as_staged(stage, staged, holds).unwrap_or(false) {
        return Ok(());
    }
    stage.rename_dir_no_replace(staged, dir, name)?;
    Err(changed_again())
}

fn is_as_staged(stage: &Dir, staged: &[u8], holds: &[GraftedDir]) -> io::Result<bool> {
    let top = stage.open_child(staged, Access::Read)?;
    let dirs: HashSet<&RelPath> = holds.iter().map(|dir| &dir.below).collect();
    for held in holds {
        let dir = match top.open_below(&held.below, Access::Read) {
            Err(error) if sys::is_absent(&error) => continue,
            opened => opened?,
        };
        let files: HashMap<&[u8], &Stat> = held
            .files
            .iter()
            .map(|(name, stat)| (&**name, stat))
            .collect();
        for item in dir.list()? {
            let now = dir.stat_child(&item.name)?;
            let is_ours = match files.get(&*item.name) {
                Some(ours) => is_same_after_rename(&now, ours),
                None => {
                    sys::kind_of(&now) == ItemKind::Dir
                        && dirs.contains(&held.below.join(&item.name))
                }
            };
            if !is_ours {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn changed_again() -> io::Error {
    io::Error::other("changed again before it could be taken back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_removed_again_is_not_passed_over() {
        let ended = |kind: io::ErrorKind| if_present(Err(kind.into()));
        assert!(ended(io::ErrorKind::NotFound).is_ok());
        assert!(ended(io::ErrorKind::DirectoryNotEmpty).is_err());
    }
}
