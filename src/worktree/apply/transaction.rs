//! Applies a plan to the directory: all of it, or nothing.
//!
//! No byte of the user's is overwritten or unlinked here. Replaced files are renamed or exchanged
//! into the stage, compared there with the plan, and kept until the caller has closed its journal.
//! Any difference or failure rolls back every step.

use std::collections::BTreeSet;
use std::io;

use crate::base::Interrupt;
use crate::error::{Code, Error, Obstacle, Result};
use crate::model::RelPath;
use crate::worktree::apply::forward::{ApplyProgress, ApplyRun, Stop};
use crate::worktree::apply::{case_folding, rollback};
use crate::worktree::{AppliedStep, ApplyPlan, Stage, WorkTree, sys};

/// Upper bound on paths synced one by one; more are synced by one call for the whole file system,
/// where possible.
const PATHS_SYNCED_SINGLY: usize = 64;

/// Why a plan was not applied.
#[derive(Debug)]
pub struct ApplyError {
    /// `changed_meanwhile` if paths differed from the plan.
    pub error: Error,
    /// Paths that could not be rolled back; if there are any, the stage stays with its files.
    pub problems: Vec<Obstacle>,
}

/// An applied plan; the replaced files are still in the stage.
#[derive(Debug)]
pub struct Applied<'w> {
    work: &'w WorkTree,
    stage: Stage,
    done: Vec<AppliedStep>,
    left_alone: Vec<RelPath>,
}

/// Applies a plan with the files of a stage.
///
/// # Errors
/// See [`ApplyError`]; a signal is the error [`Error::Interrupted`]. After a full rollback the
/// stage is removed too.
pub fn apply<'w>(
    work: &'w WorkTree,
    stage: Stage,
    plan: &ApplyPlan,
    interrupt: &Interrupt,
) -> std::result::Result<Applied<'w>, ApplyError> {
    let checked = ApplyRun::new(work, &stage, plan, interrupt).check_all();
    // Only an occupied path can be another spelling of a name to be removed.
    let turned = if checked.is_err() {
        case_folding::removals_first(work, plan)
    } else {
        None
    };
    let mut run = ApplyRun::new(work, &stage, turned.as_ref().unwrap_or(plan), interrupt);
    let checked = if turned.is_some() {
        run.check_all()
    } else {
        checked
    };
    let ended = checked.and_then(|()| run.go());
    let ApplyProgress { done, left_alone } = run.progress;
    match ended {
        Ok(()) => Ok(Applied {
            work,
            stage,
            done,
            left_alone,
        }),
        Err(stop) => Err(take_back(work, stage, &done, stop)),
    }
}

fn take_back(work: &WorkTree, stage: Stage, done: &[AppliedStep], stop: Stop) -> ApplyError {
    let problems = rollback::take_back(work, &stage, done);
    if problems.is_empty() {
        // Only our own files are left in it; if it stays, the caller's journal still names it.
        let _ = stage.discard(work);
    }
    let error = match stop {
        Stop::Changed(obstacles) => {
            let what = "changed during the restore:";
            Error::obstacles(Code::CHANGED_MEANWHILE, what, obstacles)
                .advise("nothing was changed; try again when no program writes there")
        }
        Stop::Failed(error) => error,
    };
    ApplyError { error, problems }
}

impl Applied<'_> {
    /// Returns the files that another process, having them open, wrote to after they were replaced;
    /// these bytes exist only in the stage.
    pub fn written_late(&self) -> Vec<RelPath> {
        let late = |step: &&AppliedStep| {
            step.waiting().is_some_and(|(name, expected)| {
                let now = self.stage.dir().stat_child(name.as_bytes());
                now.is_ok_and(|now| !rollback::is_same_after_rename(&now, expected))
            })
        };
        self.done
            .iter()
            .filter(late)
            .map(|step| step.path().clone())
            .collect()
    }

    /// Returns the directories that were to be removed but are not empty.
    pub fn left_alone(&self) -> &[RelPath] {
        &self.left_alone
    }

    /// Syncs all changes to the disk.
    ///
    /// # Errors
    /// I/O errors.
    pub fn sync(&self) -> Result<()> {
        let mut places = BTreeSet::new();
        self.done
            .iter()
            .for_each(|step| add_places(step, &mut places));
        let whole = || {
            let synced = self.work.root().sync_file_system();
            synced.map_err(|error| self.work.io("write", &RelPath::root(), error))
        };
        let are_many = places.len() > PATHS_SYNCED_SINGLY || self.stage.holds_many();
        if are_many && whole()? {
            return Ok(());
        }
        self.stage
            .sync_files()
            .map_err(|error| self.work.io("write", self.stage.path(), error))?;
        if self.stage.holds_many() {
            self.done
                .iter()
                .for_each(|step| add_files(step, &mut places));
        }
        for place in &places {
            match self.sync_place(place) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    // Its mode forbids opening it even to its owner.
                    whole()?;
                }
                Err(error) if !sys::is_absent(&error) => {
                    return Err(self.work.io("write", place, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Syncs a changed directory, or a file whose mode changed; anything that has replaced them
    /// meanwhile is skipped.
    fn sync_place(&self, path: &RelPath) -> io::Result<()> {
        match self.work.root().open_below(path, sys::Access::Read) {
            Err(error) if sys::is_absent(&error) => {}
            opened => return opened?.sync(),
        }
        let parent = self
            .work
            .root()
            .open_below(&path.parent().unwrap_or_default(), sys::Access::Search)?;
        match sys::kind_of(&parent.stat_child(path.name())?) {
            sys::ItemKind::File => parent.sync_file(path.name()),
            _ => Ok(()),
        }
    }

    /// Removes the stage and the replaced files in it.
    ///
    /// # Errors
    /// I/O errors.
    pub fn discard(self) -> Result<()> {
        self.stage.discard(self.work)
    }
}

/// Collects the directories that a step changed, and paths of which only the mode changed.
fn add_places(step: &AppliedStep, places: &mut BTreeSet<RelPath>) {
    let path = step.path();
    places.insert(path.parent().unwrap_or_default());
    match step {
        AppliedStep::MadeDir { .. } | AppliedStep::ChangedMode { .. } => {
            places.insert(path.clone());
        }
        AppliedStep::Grafted { holds, .. } => {
            places.extend(holds.iter().map(|dir| path.join_all(&dir.below)));
        }
        _ => {}
    }
}

/// Collects the files that a step placed.
fn add_files(step: &AppliedStep, places: &mut BTreeSet<RelPath>) {
    let path = step.path();
    match step {
        AppliedStep::Placed { .. } | AppliedStep::Exchanged { .. } => {
            places.insert(path.clone());
        }
        AppliedStep::Grafted { holds, .. } => {
            for dir in holds.iter() {
                let within = path.join_all(&dir.below);
                places.extend(dir.files.iter().map(|(name, _)| within.join(name)));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;
    use crate::worktree::apply::apply_steps::Expect;
    use crate::worktree::apply::apply_steps::WriteStep;

    const HEX: &str = "00112233445566aa";

    /// Sets up a root with the file `f`, a stage, and a plan that writes the bytes `ours` to the
    /// named files.
    fn scene(names: &[&str]) -> (tempfile::TempDir, WorkTree, Stage, ApplyPlan) {
        let temp = tempfile::tempdir().unwrap();
        fs::File::create_new(temp.path().join("f"))
            .unwrap()
            .write_all(b"old")
            .unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let stage = Stage::create(&work, HEX).unwrap();
        let mut plan = ApplyPlan::default();
        for (staged, name) in names.iter().enumerate() {
            let path = RelPath::new(name.as_bytes()).unwrap();
            let made = stage.dir().create_file(staged.to_string().as_bytes());
            made.unwrap().write_all(b"ours").unwrap();
            let expect = work
                .stat(&path)
                .unwrap()
                .map_or(Expect::Absent, Expect::Present);
            plan.writes.push(WriteStep {
                path,
                staged,
                expect,
            });
        }
        (temp, work, stage, plan)
    }

    #[test]
    fn bytes_written_after_the_change_are_never_lost_by_taking_it_back() {
        let (temp, work, stage, plan) = scene(&["f", "g"]);
        let applied = apply(&work, stage, &plan, &Interrupt::default()).unwrap();
        for name in ["f", "g"] {
            let file = fs::File::options()
                .write(true)
                .truncate(true)
                .open(temp.path().join(name));
            file.unwrap().write_all(b"edited since").unwrap();
        }
        let problems = rollback::take_back(&work, &applied.stage, &applied.done);
        let paths: Vec<String> = problems
            .iter()
            .map(|problem| problem.path.to_string())
            .collect();
        assert_eq!(paths, ["g", "f"]);
        let read = |name: &str| fs::read_to_string(temp.path().join(name)).unwrap();
        assert_eq!([read("f"), read("g")], ["edited since", "edited since"]);
        assert_eq!(read(&format!(".checkpoint-stage-{HEX}/0")), "old");
    }

    #[test]
    fn late_bytes_in_a_replaced_file_take_the_change_back() {
        let (temp, work, stage, plan) = scene(&["f"]);
        let mut open = fs::File::options()
            .append(true)
            .open(temp.path().join("f"))
            .unwrap();
        let interrupt = Interrupt::default();
        let mut run = ApplyRun::new(&work, &stage, &plan, &interrupt);
        assert!(run.check_all().is_ok() && run.go().is_ok());
        // Like an editor writing through a descriptor that it opened before.
        open.write_all(b" and late").unwrap();
        assert!(matches!(run.check_waiting(), Err(Stop::Changed(_))));
        assert!(rollback::take_back(&work, &stage, &run.progress.done).is_empty());
        let found = fs::read_to_string(temp.path().join("f")).unwrap();
        assert_eq!(found, "old and late");
    }
}
