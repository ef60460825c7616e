//! Classifies the profile files in the project by the recorded state and what was last written.

use serde_json::Value;

use crate::error::Result;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::store::runs::projected::Projected;
use crate::workflow::documents::conflict::{Conflict, ConflictKind};
use crate::workflow::documents::find_documents::{self, OnDisk};
use crate::workflow::documents::run_owner;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::profiles::{dispatch, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::EXECUTION_FILE;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// What one file on disk means.
pub enum Verdict {
    /// The file matches the state, or is not ours.
    Nothing,
    /// The file is as we wrote it, but the state has moved on: a process was killed before it wrote
    /// the file.
    Stale(Workflow),
    Edited(Run, Value),
    /// A run that is not recorded yet, with the run that owned the file until now, which ends.
    New(Value, Option<Run>),
    Conflict(Conflict),
}

/// # Errors
/// The refs cannot be read.
pub fn judge_all(store: &Store, files: Vec<OnDisk>) -> Result<Vec<(OnDisk, Verdict)>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let (runs, notes) = (Runs::live(store)?, noted(store)?);
    Ok(files
        .into_iter()
        .map(|file| {
            let verdict = verdict(&runs, &notes, &file);
            (file, verdict)
        })
        .collect())
}

/// An open run whose file was written and is gone. A missing task file beside the phase file does
/// not end the run.
pub struct Removed {
    pub run: Run,
    pub path: String,
    /// The file is in the folder of failed files: so a user ends a run of the registry profile.
    pub is_put_aside: bool,
}

impl Removed {
    pub fn conflict(&self) -> Conflict {
        Conflict {
            path: self.path.clone(),
            run: Some(self.run.workflow.id.clone()),
            kind: ConflictKind::Gone,
        }
    }
}

/// # Errors
/// The refs cannot be read, or the root cannot be opened.
pub fn removed(context: &Context, store: &Store) -> Result<Vec<Removed>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    let work = WorkTree::open_root(&context.root)?;
    let is_there = |path: &str| {
        !matches!(
            state_file::read(&work, &find_documents::rel(path)),
            Ok(None)
        )
    };
    let notes = store
        .projected()
        .into_iter()
        .filter(|note| note.sum.is_some() && note.path != EXECUTION_FILE);
    let gone: Vec<Projected> = notes.filter(|note| !is_there(&note.path)).collect();
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let of_run = |run: Run| {
        let is_kept = |path: &str| {
            dispatch::profile_of_path(path)
                .is_some_and(|kept| run.workflow.profiles.contains(&kept))
        };
        let is_its = |note: &&Projected| note.workflow == run.workflow.id && is_kept(&note.path);
        let path = gone.iter().find(is_its)?.path.clone();
        let is_put_aside = registry::failed_path(&path).is_some_and(|path| is_there(&path));
        Some(Removed {
            run,
            path,
            is_put_aside,
        })
    };
    let open = Runs::live(store)?
        .runs
        .into_iter()
        .filter(|run| run.workflow.status.is_open());
    Ok(open.filter_map(of_run).collect())
}

/// # Errors
/// As [`judge_all`].
pub fn judge(store: &Store, file: &OnDisk) -> Result<Verdict> {
    Ok(verdict(&Runs::live(store)?, &noted(store)?, file))
}

/// Returns what was last written for each file, except for runs that lost their ref: only their
/// files are left.
fn noted(store: &Store) -> Result<Vec<Projected>> {
    let lost = store.torn_workflows()?;
    Ok(store
        .projected()
        .into_iter()
        .filter(|note| !lost.contains(&note.workflow))
        .collect())
}

fn verdict(runs: &Runs, notes: &[Projected], file: &OnDisk) -> Verdict {
    let entry = notes.iter().find(|note| note.path == file.path);
    let run = run_owner::of(runs, entry, file);
    if run.is_some_and(|run| run_owner::is_left_over(run, entry, file)) {
        return Verdict::Nothing;
    }
    let entry =
        entry.filter(|entry| run.is_none_or(|run| !run_owner::is_from_another(run, entry, file)));
    let conflict = |kind| {
        Verdict::Conflict(Conflict {
            path: file.path.clone(),
            run: run.map(|run| run.workflow.id.clone()),
            kind,
        })
    };
    let value = match &file.read {
        Ok(value) => value.clone(),
        Err(why) => {
            let findings = vec![Finding::new("no_json", "", why.clone())];
            return conflict(ConflictKind::Malformed {
                findings,
                raw: file.bytes.clone(),
            });
        }
    };
    let on_disk = file.sum();
    let written = entry.and_then(|entry| entry.sum.clone());
    let Some(run) = run else {
        // The run was archived: a file as we last wrote it is not a new run.
        return if entry.is_some() && written == on_disk {
            Verdict::Nothing
        } else {
            Verdict::New(value, None)
        };
    };
    let expected = run.workflow.documents.get(&file.path);
    let told = expected.map(find_documents::sum);
    if told == on_disk {
        // Killed between writing and noting: note it now, or the next write looks like an edit.
        let is_noted = written == on_disk || !run.workflow.profiles.contains(&file.profile);
        if is_noted {
            Verdict::Nothing
        } else {
            Verdict::Stale(run.workflow.clone())
        }
    } else if written == on_disk {
        Verdict::Stale(run.workflow.clone())
    } else if let Some(finding) = run_owner::other_run(run, file, &value) {
        conflict(ConflictKind::Malformed {
            findings: vec![finding],
            raw: file.bytes.clone(),
        })
    } else if run_owner::is_of_another(run, file, &value) {
        Verdict::New(value, Some(run.clone()))
    } else if written.is_none() || written == told {
        Verdict::Edited(run.clone(), value)
    } else {
        conflict(ConflictKind::BothChanged {
            file: value,
            state: expected.cloned().unwrap_or_default(),
        })
    }
}
