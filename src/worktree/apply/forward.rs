//! The forward steps of an apply: each checks, acts, and is logged so that it can be rolled back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use crate::base::Interrupt;
use crate::error::{Error, Obstacle};
use crate::model::state::entry::{RWX_BITS, SPECIAL_BITS};
use crate::model::{RelPath, Stat};
use crate::worktree::apply::case_folding::{self, APPEARED};
use crate::worktree::apply::dir_opener::DirOpener;
use crate::worktree::apply::rollback::{self, is_same_after_rename};
use crate::worktree::apply::stage::tree_name;
use crate::worktree::sys::{self, Dir, ItemKind};
use crate::worktree::{
    AppliedStep, ApplyPlan, Expect, Graft, Removal, Stage, StatReader, WorkTree, WriteStep,
};

/// Why the apply stopped early.
pub(in crate::worktree) enum Stop {
    Changed(Vec<Obstacle>),
    Failed(Error),
}

/// Mode that a directory gets at the end.
enum FinalMode {
    Exactly(u32),
    /// These bits; special bits follow [`ApplyPlan::special_bits`].
    Wanted(u32),
}

/// The steps done so far, and the directories that had to stay.
#[derive(Default)]
pub(in crate::worktree) struct ApplyProgress {
    pub(in crate::worktree) done: Vec<AppliedStep>,
    pub(in crate::worktree) left_alone: Vec<RelPath>,
}

pub(in crate::worktree) struct ApplyRun<'a> {
    work: &'a WorkTree,
    stage: &'a Stage,
    opener: DirOpener<'a>,
    plan: &'a ApplyPlan,
    interrupt: &'a Interrupt,
    pub(in crate::worktree) progress: ApplyProgress,
}

impl<'a> ApplyRun<'a> {
    pub(in crate::worktree) fn new(
        work: &'a WorkTree,
        stage: &'a Stage,
        plan: &'a ApplyPlan,
        interrupt: &'a Interrupt,
    ) -> Self {
        Self {
            work,
            stage,
            opener: DirOpener::new(work),
            plan,
            interrupt,
            progress: ApplyProgress::default(),
        }
    }

    /// Checks every path before the first change, so that the error names all that differ.
    pub(in crate::worktree) fn check_all(&self) -> Result<(), Stop> {
        let plan = self.plan;
        let will_be_free: BTreeSet<&RelPath> = plan
            .displaced
            .iter()
            .map(|removal| &removal.path)
            .chain(&plan.displaced_dirs)
            .chain(&plan.freed)
            .collect();
        let removals = plan.displaced.iter().chain(&plan.deletes);
        let expected = removals.map(|removal| (&removal.path, Expect::Present(removal.expect)));
        let grafts = plan
            .grafts
            .iter()
            .map(|graft| (&graft.path, Expect::Absent));
        let writes = grafts.chain(plan.writes.iter().map(|write| (&write.path, write.expect)));
        let expected = expected.chain(writes.filter(|(path, _)| !will_be_free.contains(path)));
        let expected = expected.chain(
            plan.chmods
                .iter()
                .map(|(path, _, stat)| (path, Expect::Present(*stat))),
        );
        let mut obstacles = Vec::new();
        let mut stats = StatReader::new(self.work);
        for (path, expect) in expected {
            // A path that is unreadable now is checked again once its directory is opened up.
            let Ok(now) = stats.stat(path) else { continue };
            if let Some(why) = difference(now.as_ref(), &expect) {
                obstacles.push(Obstacle {
                    path: path.clone(),
                    why: why.into(),
                });
            }
        }
        case_folding::explain_spellings(self.work, &mut obstacles);
        if obstacles.is_empty() {
            Ok(())
        } else {
            Err(Stop::Changed(obstacles))
        }
    }

    pub(in crate::worktree) fn go(&mut self) -> Result<(), Stop> {
        let plan = self.plan;
        plan.displaced
            .iter()
            .try_for_each(|removal| self.remove(removal))?;
        plan.displaced_dirs
            .iter()
            .try_for_each(|path| self.displace_dir(path))?;
        plan.make_dirs
            .iter()
            .try_for_each(|(path, _)| self.make_dir(path))?;
        plan.grafts.iter().try_for_each(|graft| self.graft(graft))?;
        plan.writes.iter().try_for_each(|write| self.write(write))?;
        plan.chmods
            .iter()
            .try_for_each(|(path, perm, expect)| self.chmod(path, *perm, expect))?;
        plan.deletes
            .iter()
            .try_for_each(|removal| self.remove(removal))?;
        plan.remove_dirs
            .iter()
            .try_for_each(|path| self.remove_dir(path))?;
        self.set_dir_modes()?;
        self.check_waiting()
    }

    fn check_interrupt(&self) -> Result<(), Stop> {
        self.interrupt
            .check()
            .map_err(|signal| Stop::Failed(signal.into()))
    }

    fn fail(&self, action: &'static str, path: &RelPath, error: io::Error) -> Stop {
        if sys::is_absent(&error) {
            return changed(path, "is gone");
        }
        if error.kind() == io::ErrorKind::AlreadyExists {
            return changed(path, APPEARED);
        }
        Stop::Failed(self.work.io(action, path, error))
    }

    /// Moves a file into the stage.
    fn remove(&mut self, removal: &Removal) -> Result<(), Stop> {
        self.check_interrupt()?;
        let (path, expected) = (&removal.path, removal.expect);
        let gone = format!("gone-{}", self.progress.done.len());
        let stage = self.stage.dir();
        let moved = self
            .opener
            .parent_of(path, &mut self.progress.done)
            .and_then(|dir| {
                if let Some(why) = difference(
                    Some(&dir.stat_child(path.name())?),
                    &Expect::Present(expected),
                ) {
                    return Ok(Some(why));
                }
                dir.rename_no_replace(path.name(), stage, gone.as_bytes())?;
                Ok(None)
            });
        match moved {
            Ok(None) => {}
            Ok(Some(why)) => return Err(changed(path, why)),
            Err(error) => return Err(self.fail("remove", path, error)),
        }
        self.progress.done.push(AppliedStep::Moved {
            path: path.clone(),
            gone: gone.clone(),
            expected,
        });
        self.compare_waiting(path, &gone, &expected)
    }

    /// Compares a file again after it was moved into the stage.
    fn compare_waiting(&self, path: &RelPath, name: &str, expected: &Stat) -> Result<(), Stop> {
        match self.stage.dir().stat_child(name.as_bytes()) {
            Ok(now) if is_same_after_rename(&now, expected) => Ok(()),
            Ok(_) => Err(changed(path, "was changed")),
            Err(error) => Err(Stop::Failed(self.work.io("look at", path, error))),
        }
    }

    /// Checks the replaced files once more: a process that had one open may have written bytes that
    /// are in no checkpoint.
    pub(in crate::worktree) fn check_waiting(&self) -> Result<(), Stop> {
        for step in &self.progress.done {
            if let Some((name, expected)) = step.waiting() {
                self.compare_waiting(step.path(), name, expected)?;
            }
        }
        Ok(())
    }

    fn displace_dir(&mut self, path: &RelPath) -> Result<(), Stop> {
        if self.rmdir(path)? {
            Ok(())
        } else {
            Err(changed(path, "holds something new"))
        }
    }

    fn remove_dir(&mut self, path: &RelPath) -> Result<(), Stop> {
        match self.rmdir(path) {
            Ok(true) => {}
            Ok(false) => self.progress.left_alone.push(path.clone()),
            // Another process removed it, with the wanted result.
            Err(Stop::Changed(_)) if matches!(self.work.stat(path), Ok(None)) => {}
            Err(stop) => return Err(stop),
        }
        Ok(())
    }

    /// Removes a directory; returns `false` if it is not empty.
    fn rmdir(&mut self, path: &RelPath) -> Result<bool, Stop> {
        self.check_interrupt()?;
        let removed = self
            .opener
            .parent_of(path, &mut self.progress.done)
            .and_then(|dir| {
                let stat = dir.stat_child(path.name())?;
                dir.rmdir(path.name()).map(|()| stat)
            });
        match removed {
            Ok(stat) => {
                self.opener.forget(path);
                self.progress.done.push(AppliedStep::RemovedDir {
                    path: path.clone(),
                    perm: stat.perm(),
                });
                Ok(true)
            }
            Err(error) if is_not_empty(&error) => Ok(false),
            Err(error) => Err(self.fail("remove", path, error)),
        }
    }

    /// Makes a directory for its owner only; the final mode is set once it is filled.
    fn make_dir(&mut self, path: &RelPath) -> Result<(), Stop> {
        self.check_interrupt()?;
        let done = &mut self.progress.done;
        let made = self
            .opener
            .parent_of(path, done)
            .and_then(|dir| dir.make_dir(path.name()));
        made.map_err(|error| self.fail("make", path, error))?;
        self.progress
            .done
            .push(AppliedStep::MadeDir { path: path.clone() });
        Ok(())
    }

    fn graft(&mut self, graft: &Graft) -> Result<(), Stop> {
        self.check_interrupt()?;
        let (path, staged, stage) = (&graft.path, tree_name(graft.staged), self.stage.dir());
        let parent = self.opener.parent_of(path, &mut self.progress.done);
        let put =
            parent.and_then(|dir| stage.rename_dir_no_replace(staged.as_bytes(), dir, path.name()));
        put.map_err(|error| self.fail("make", path, error))?;
        self.progress.done.push(AppliedStep::Grafted {
            path: path.clone(),
            staged,
            holds: Arc::clone(&graft.holds),
        });
        Ok(())
    }

    fn write(&mut self, write: &WriteStep) -> Result<(), Stop> {
        self.check_interrupt()?;
        let path = &write.path;
        let staged = write.staged.to_string();
        let stage = self.stage.dir();
        let parent = self.opener.parent_of(path, &mut self.progress.done);
        let put = parent.and_then(|dir| put(stage, &staged, dir, path.name(), &write.expect));
        let ours = match put {
            Ok(Put::Done(ours)) => ours,
            Ok(Put::Differs(why)) => return Err(changed(path, why)),
            Err(error) => return Err(self.fail("write", path, error)),
        };
        let step = match write.expect {
            Expect::Absent => AppliedStep::Placed {
                path: path.clone(),
                staged,
                ours,
            },
            Expect::Present(expected) => AppliedStep::Exchanged {
                path: path.clone(),
                staged,
                expected,
                ours,
            },
        };
        let waiting = step
            .waiting()
            .map(|(name, expected)| (name.to_owned(), *expected));
        self.progress.done.push(step);
        match waiting {
            Some((name, expected)) => self.compare_waiting(path, &name, &expected),
            None => Ok(()),
        }
    }

    fn chmod(&mut self, path: &RelPath, perm: u32, expect: &Stat) -> Result<(), Stop> {
        self.check_interrupt()?;
        if expect.links > 1 {
            let why = anyhow::anyhow!("{path} has another hard link, whose mode would change too");
            return Err(Stop::Failed(why.into()));
        }
        let dir = self
            .opener
            .open_parent_for_stat(path, &mut self.progress.done);
        let dir = dir.map_err(|error| self.fail("change the mode of", path, error))?;
        let now = dir
            .stat_child(path.name())
            .map_err(|error| self.fail("look at", path, error))?;
        if let Some(why) = difference(Some(&now), &Expect::Present(*expect)) {
            return Err(changed(path, why));
        }
        let special = if self.plan.special_bits {
            SPECIAL_BITS
        } else {
            now.perm() & SPECIAL_BITS
        };
        let wanted = perm & (RWX_BITS | special);
        self.progress.done.push(AppliedStep::ChangedMode {
            path: path.clone(),
            perm: now.perm(),
        });
        dir.chmod_child(path.name(), wanted)
            .map_err(|error| self.fail("change the mode of", path, error))
    }

    /// Sets the directory modes, children first, since a parent may lose search permission.
    fn set_dir_modes(&mut self) -> Result<(), Stop> {
        let mut wanted: BTreeMap<RelPath, FinalMode> = BTreeMap::new();
        wanted.extend(
            self.opener
                .take_unlocked()
                .into_iter()
                .map(|(path, perm)| (path, FinalMode::Exactly(perm))),
        );
        let named = self.plan.make_dirs.iter().chain(&self.plan.dir_modes);
        wanted.extend(named.map(|(path, perm)| (path.clone(), FinalMode::Wanted(*perm))));
        // A path sorts after its ancestors, so the last one is never an ancestor of another.
        while let Some((path, mode)) = wanted.pop_last() {
            self.check_interrupt()?;
            self.set_dir_mode(&path, &mode)?;
            for (above, perm) in self.opener.take_unlocked() {
                wanted.entry(above).or_insert(FinalMode::Exactly(perm));
            }
        }
        Ok(())
    }

    fn set_dir_mode(&mut self, path: &RelPath, mode: &FinalMode) -> Result<(), Stop> {
        let special_bits = self.plan.special_bits;
        let done = &mut self.progress.done;
        let changed_mode = self
            .opener
            .open_parent_for_stat(path, done)
            .and_then(|dir| {
                let stat = if path.is_root() {
                    dir.stat()?
                } else {
                    dir.stat_child(path.name())?
                };
                if sys::kind_of(&stat) != ItemKind::Dir {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                let wanted = match mode {
                    FinalMode::Exactly(perm) => *perm,
                    FinalMode::Wanted(perm) if special_bits => perm & (RWX_BITS | SPECIAL_BITS),
                    FinalMode::Wanted(perm) => perm & RWX_BITS | stat.perm() & SPECIAL_BITS,
                };
                if stat.perm() == wanted {
                    return Ok(());
                }
                done.push(AppliedStep::ChangedMode {
                    path: path.clone(),
                    perm: stat.perm(),
                });
                rollback::set_mode(&dir, path, wanted)
            });
        changed_mode.map_err(|error| self.fail("change the mode of", path, error))
    }
}

enum Put {
    Done(Stat),
    Differs(&'static str),
}

/// Moves a staged file to its path if that is as expected. Nothing may fail after the rename, or it
/// would not be logged and rolled back.
fn put(stage: &Dir, staged: &str, dir: &Dir, name: &[u8], expect: &Expect) -> io::Result<Put> {
    let ours = stage.stat_child(staged.as_bytes())?;
    match expect {
        Expect::Absent => stage.rename_no_replace(staged.as_bytes(), dir, name)?,
        Expect::Present(_) => {
            if let Some(why) = difference(Some(&dir.stat_child(name)?), expect) {
                return Ok(Put::Differs(why));
            }
            stage.rename_exchange(staged.as_bytes(), dir, name)?;
        }
    }
    Ok(Put::Done(ours))
}

fn difference(now: Option<&Stat>, expect: &Expect) -> Option<&'static str> {
    match (now, expect) {
        (None, Expect::Absent) => None,
        (Some(_), Expect::Absent) => Some(APPEARED),
        (None, Expect::Present(_)) => Some("is gone"),
        // Renaming one hard link changes the ctime of all.
        (Some(now), Expect::Present(expected)) if expected.links > 1 => {
            (!is_same_after_rename(now, expected)).then_some("was changed")
        }
        (Some(now), Expect::Present(expected)) => {
            (!now.same_content_as(expected)).then_some("was changed")
        }
    }
}

fn changed(path: &RelPath, why: &str) -> Stop {
    Stop::Changed(vec![Obstacle {
        path: path.clone(),
        why: why.into(),
    }])
}

/// Whether rmdir failed on a directory that is not empty; some systems report `AlreadyExists`.
fn is_not_empty(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
    )
}
