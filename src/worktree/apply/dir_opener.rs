//! Directories opened for changes; owner permissions that are missing are granted for the time of
//! the change.

use std::collections::BTreeMap;
use std::io;

use crate::model::RelPath;
use crate::model::state::entry::OWNER_RWX;
use crate::worktree::sys::{self, Access, Dir};
use crate::worktree::{AppliedStep, WorkTree};

/// Opens directories by path and caches the last one, since steps come sorted by path.
pub(in crate::worktree) struct DirOpener<'w> {
    work: &'w WorkTree,
    current: Option<(RelPath, Dir)>,
    /// Original permission bits of the directories that were opened up.
    unlocked: BTreeMap<RelPath, u32>,
}

impl<'w> DirOpener<'w> {
    pub(in crate::worktree) fn new(work: &'w WorkTree) -> Self {
        Self {
            work,
            current: None,
            unlocked: BTreeMap::new(),
        }
    }

    /// Returns the parent directory of `path`, with its owner's permission to change it.
    ///
    /// # Errors
    /// I/O errors; [`sys::is_absent`] if the directory can no longer be reached without links.
    pub(in crate::worktree) fn parent_of(
        &mut self,
        path: &RelPath,
        log: &mut Vec<AppliedStep>,
    ) -> io::Result<&Dir> {
        let parent = path.parent().unwrap_or_default();
        let held = match self.current.take() {
            Some(held) if held.0 == parent => held,
            _ => {
                let dir = self.open(&parent, log)?;
                (parent, dir)
            }
        };
        Ok(&self.current.insert(held).1)
    }

    /// Returns the parent directory of `path`, opened only to stat entries or change their modes.
    pub(in crate::worktree) fn open_parent_for_stat(
        &mut self,
        path: &RelPath,
        log: &mut Vec<AppliedStep>,
    ) -> io::Result<Dir> {
        let parent = path.parent().unwrap_or_default();
        match self.work.root().open_below(&parent, Access::Search) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.open(&parent, log)
            }
            opened => opened,
        }
    }

    /// Forgets a removed directory, so that its permission bits are not put back.
    pub(in crate::worktree) fn forget(&mut self, path: &RelPath) {
        self.unlocked.remove(path);
        self.current = None;
    }

    /// Returns the directories opened up since the last call, with their original bits.
    pub(in crate::worktree) fn take_unlocked(&mut self) -> BTreeMap<RelPath, u32> {
        std::mem::take(&mut self.unlocked)
    }

    fn open(&mut self, path: &RelPath, log: &mut Vec<AppliedStep>) -> io::Result<Dir> {
        let dir = match self.work.root().open_below(path, Access::Read) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return self.open_by_component(path, log);
            }
            opened => opened?,
        };
        self.unlock(path, &dir, log)?;
        Ok(dir)
    }

    fn open_by_component(&mut self, path: &RelPath, log: &mut Vec<AppliedStep>) -> io::Result<Dir> {
        let mut at = RelPath::root();
        let mut dir = self.work.root().open_below(&at, Access::Read)?;
        self.unlock(&at, &dir, log)?;
        for name in path.components() {
            at = at.join(name);
            dir = match dir.open_child(name, Access::Read) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let stat = dir.stat_child(name)?;
                    if sys::kind_of(&stat) != sys::ItemKind::Dir {
                        return Err(error);
                    }
                    dir.chmod_child(name, stat.perm() | OWNER_RWX)?;
                    self.note(&at, stat.perm(), log);
                    dir.open_child(name, Access::Read)?
                }
                opened => opened?,
            };
            self.unlock(&at, &dir, log)?;
        }
        Ok(dir)
    }

    /// Ignores a refused chmod (another owner): the group may have write access, or else the step
    /// itself fails.
    fn unlock(&mut self, path: &RelPath, dir: &Dir, log: &mut Vec<AppliedStep>) -> io::Result<()> {
        let perm = dir.stat()?.perm();
        if perm & OWNER_RWX != OWNER_RWX && dir.chmod(perm | OWNER_RWX).is_ok() {
            self.note(path, perm, log);
        }
        Ok(())
    }

    fn note(&mut self, path: &RelPath, perm: u32, log: &mut Vec<AppliedStep>) {
        self.unlocked.entry(path.clone()).or_insert(perm);
        log.push(AppliedStep::ChangedMode {
            path: path.clone(),
            perm,
        });
    }
}
