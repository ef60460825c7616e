//! Writing the files of a run's profiles: each is replaced in one step, and only if it is as we left it.

use serde_json::Value;

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::run_warning::RunWarning;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::store::runs::projected::Projected;
use crate::workflow::documents::find_documents::{self, OnDisk, rel};
use crate::workflow::profiles::pipeline_schema::{PIPELINE_SCHEMA, SCHEMA_FILE};
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// What becomes of one file.
enum DocumentFate {
    Stands(Value),
    Removed,
    /// To this path, as it is.
    MovedTo(String),
}

/// Brings all files of a run up to date; `taken` is the one from which its state was read just now. What cannot be done is
/// a warning: the state itself is recorded. Whether something could not be done.
pub fn project(
    context: &Context,
    session: &Session<'_>,
    workflow: &Workflow,
    taken: Option<&OnDisk>,
    warnings: &mut Vec<Warning>,
) -> bool {
    if workflow.profiles.is_empty() {
        return false;
    }
    let known = session.locked.store().projected();
    let mut notes = known.clone();
    let mut is_partial = false;
    for (path, fate) in fates(workflow, context.now_ms) {
        let taken = taken.filter(|file| file.path == path).and_then(OnDisk::sum);
        match bring(context, &mut notes, workflow, &path, fate, taken.as_deref()) {
            Ok(true) => {}
            Ok(false) => {
                is_partial = true;
                warnings.push(RunWarning::Edited { path }.into());
            }
            Err(error) => {
                is_partial = true;
                warnings.push(RunWarning::NotWritten { path, why: error.to_string() }.into());
            }
        }
    }
    if workflow.profiles.contains(&Profile::Pipeline) && !notes.iter().any(|note| note.path == SCHEMA_FILE) {
        match add_schema(context, workflow, &mut notes) {
            Ok(()) => {}
            Err(error) => {
                warnings.push(RunWarning::NotWritten { path: SCHEMA_FILE.to_owned(), why: error.to_string() }.into());
            }
        }
    }
    if notes != known
        && let Err(e) = session.locked.write_projected(&notes)
    {
        warnings.push(Warning::bookkeeping("noting which state files were written")(e));
    }
    is_partial
}

/// The schema that the state of a pipeline is said to follow, where nobody has put one.
fn add_schema(context: &Context, workflow: &Workflow, notes: &mut Vec<Projected>) -> Result<()> {
    let work = WorkTree::open(context.root.path())?;
    let place = rel(SCHEMA_FILE);
    if state_file::read(&work, &place)?.is_some() {
        return Ok(());
    }
    state_file::replace(&work, &place, format!("{}\n", PIPELINE_SCHEMA.trim_end()).as_bytes())?;
    notes.push(Projected { path: SCHEMA_FILE.to_owned(), sum: None, workflow: workflow.id.clone() });
    Ok(())
}

fn fates(workflow: &Workflow, now_ms: i64) -> Vec<(String, DocumentFate)> {
    let stands =
        |path: &String| workflow.documents.get(path).cloned().map_or(DocumentFate::Removed, DocumentFate::Stands);
    let mine = workflow.documents.keys().filter_map(|path| Some((path, dispatch::profile_of_path(path)?)));
    let mine = mine.filter(|(_, profile)| workflow.profiles.contains(profile));
    mine.map(|(path, profile)| {
        let fate = match (profile, workflow.status) {
            (Profile::Registry, RunStatus::Failed | RunStatus::Abandoned) => {
                DocumentFate::MovedTo(registry::failed_path(path).unwrap_or_default())
            }
            (Profile::Phases, RunStatus::Abandoned) => DocumentFate::MovedTo(archived(workflow, path, now_ms)),
            (Profile::Registry, RunStatus::Complete) | (Profile::Pipeline, RunStatus::Abandoned) => {
                DocumentFate::Removed
            }
            _ => stands(path),
        };
        (path.clone(), fate)
    })
    .collect()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Where the files of a run go that is put aside: a folder with its id and the time.
pub fn archived(workflow: &Workflow, path: &str, now_ms: i64) -> String {
    let folder = if path == pipeline::FILE { pipeline::ARCHIVE } else { phases::ARCHIVE };
    let time = crate::base::time::utc_compact(now_ms);
    format!("{folder}/{}_{time}/{}", workflow.id, name_of(path))
}

/// Does one; `false` if somebody wrote to the file meanwhile: then it is left as it is.
fn bring(
    context: &Context,
    notes: &mut Vec<Projected>,
    workflow: &Workflow,
    path: &str,
    fate: DocumentFate,
    taken: Option<&str>,
) -> Result<bool> {
    let work = WorkTree::open(context.root.path())?;
    let place = rel(path);
    let on_disk = state_file::read(&work, &place)?;
    let said = on_disk.as_ref().map(|bytes| find_documents::sum_of_text(bytes));
    let note = notes.iter().position(|note| note.path == path);
    let written = note.and_then(|at| notes[at].sum.clone());
    let expected = workflow.documents.get(path).map(find_documents::sum);
    let is_ours = match &said {
        None => true,
        Some(sum) => sum.is_some() && (*sum == written || *sum == expected || sum.as_deref() == taken),
    };
    if !is_ours {
        return Ok(false);
    }
    let sum = match fate {
        DocumentFate::Stands(value) => {
            let bytes = find_documents::render(&value);
            let is_written = said.flatten() == expected
                || state_file::replace_known(&work, &place, on_disk.as_deref(), bytes.as_bytes())?;
            if !is_written {
                return Ok(false);
            }
            expected
        }
        DocumentFate::Removed => {
            if let Some(known) = &on_disk
                && !state_file::remove_known(&work, &place, known)?
            {
                return Ok(false);
            }
            None
        }
        DocumentFate::MovedTo(to) => {
            if let Some(known) = &on_disk {
                let last = workflow.documents.get(path).map(find_documents::render).unwrap_or_default();
                state_file::replace(&work, &rel(&to), last.as_bytes())?;
                if !state_file::remove_known(&work, &place, known)? {
                    return Ok(false);
                }
            }
            None
        }
    };
    let entry = Projected { path: path.to_owned(), sum, workflow: workflow.id.clone() };
    match note {
        Some(at) => notes[at] = entry,
        None => notes.push(entry),
    }
    Ok(true)
}
