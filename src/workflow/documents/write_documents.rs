//! Writes the profile files of a run: each is replaced atomically, and only if unchanged since our
//! last write.

use serde_json::Value;

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::runs::projected::Projected;
use crate::workflow::documents::find_documents::{self, OnDisk, rel};
use crate::workflow::profiles::pipeline_schema::{PIPELINE_SCHEMA, SCHEMA_FILE};
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::NOTING_FILES;
use crate::worktree::files::replace_known::{remove_known, replace_known};
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// What happens to one file.
enum DocumentFate {
    Stands(Value),
    Removed,
    /// Moved to this path.
    MovedTo(String),
}

/// Updates all files of a run; `imported` is the file from which the state was just read. Failures
/// are warnings, since the state is recorded already; returns whether there were any.
pub fn project(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    imported: Option<&OnDisk>,
) -> bool {
    if workflow.profiles.is_empty() {
        return false;
    }
    let known = session.locked.store().projected();
    let mut notes = known.clone();
    let mut is_partial = false;
    let warnings = &mut session.warnings;
    for (path, fate) in fates(workflow, context.now_ms) {
        let imported = imported
            .filter(|file| file.path == path)
            .and_then(OnDisk::sum);
        match bring(
            context,
            &mut notes,
            workflow,
            &path,
            fate,
            imported.as_deref(),
        ) {
            Ok(true) => {}
            Ok(false) => {
                is_partial = true;
                warnings.push(RunWarning::Edited { path }.into());
            }
            Err(error) => {
                is_partial = true;
                warnings.push(
                    RunWarning::NotWritten {
                        path,
                        why: error.to_string(),
                    }
                    .into(),
                );
            }
        }
    }
    if workflow.profiles.contains(&Profile::Pipeline)
        && !notes.iter().any(|note| note.path == SCHEMA_FILE)
    {
        match add_schema(context, workflow, &mut notes) {
            Ok(()) => {}
            Err(error) => {
                warnings.push(
                    RunWarning::NotWritten {
                        path: SCHEMA_FILE.to_owned(),
                        why: error.to_string(),
                    }
                    .into(),
                );
            }
        }
    }
    if notes != known
        && let Err(e) = session.locked.write_projected(&notes)
    {
        warnings.push(Warning::bookkeeping(NOTING_FILES)(e));
    }
    is_partial
}

/// Writes the schema of the pipeline state, if the project has none.
fn add_schema(context: &Context, workflow: &Workflow, notes: &mut Vec<Projected>) -> Result<()> {
    let work = WorkTree::open_root(&context.root)?;
    let place = rel(SCHEMA_FILE);
    if state_file::read(&work, &place)?.is_some() {
        return Ok(());
    }
    state_file::replace(
        &work,
        &place,
        format!("{}\n", PIPELINE_SCHEMA.trim_end()).as_bytes(),
    )?;
    notes.push(Projected {
        path: SCHEMA_FILE.to_owned(),
        sum: None,
        workflow: workflow.id.clone(),
    });
    Ok(())
}

fn fates(workflow: &Workflow, now_ms: i64) -> Vec<(String, DocumentFate)> {
    let stands = |path: &String| {
        workflow
            .documents
            .get(path)
            .cloned()
            .map_or(DocumentFate::Removed, DocumentFate::Stands)
    };
    let mine = workflow
        .documents
        .keys()
        .filter_map(|path| Some((path, dispatch::profile_of_path(path)?)));
    let mine = mine.filter(|(_, profile)| workflow.profiles.contains(profile));
    mine.map(|(path, profile)| {
        let fate = match (profile, workflow.status) {
            (Profile::Registry, RunStatus::Failed | RunStatus::Abandoned) => {
                DocumentFate::MovedTo(registry::failed_path(path).unwrap_or_default())
            }
            (Profile::Phases, RunStatus::Abandoned) => {
                DocumentFate::MovedTo(archived(workflow, path, now_ms))
            }
            (Profile::Registry, RunStatus::Complete)
            | (Profile::Pipeline, RunStatus::Abandoned) => DocumentFate::Removed,
            _ => stands(path),
        };
        (path.clone(), fate)
    })
    .collect()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the archive path of a file of a run: below a folder named by its id and the time.
pub fn archived(workflow: &Workflow, path: &str, now_ms: i64) -> String {
    let folder = if path == pipeline::FILE {
        pipeline::ARCHIVE
    } else {
        phases::ARCHIVE
    };
    let time = crate::base::time::utc_compact(now_ms);
    format!("{folder}/{}_{time}/{}", workflow.id, name_of(path))
}

/// Updates one file; returns `false` and leaves it alone if another process wrote to it meanwhile.
fn bring(
    context: &Context,
    notes: &mut Vec<Projected>,
    workflow: &Workflow,
    path: &str,
    fate: DocumentFate,
    imported: Option<&str>,
) -> Result<bool> {
    let work = WorkTree::open_root(&context.root)?;
    let place = rel(path);
    let on_disk = state_file::read(&work, &place)?;
    let said = on_disk
        .as_ref()
        .map(|bytes| find_documents::sum_of_text(bytes));
    let note = notes.iter().position(|note| note.path == path);
    let written = note.and_then(|at| notes[at].sum.clone());
    let expected = workflow.documents.get(path).map(find_documents::sum);
    let is_ours = match &said {
        None => true,
        Some(sum) => {
            sum.is_some() && (*sum == written || *sum == expected || sum.as_deref() == imported)
        }
    };
    if !is_ours {
        return Ok(false);
    }
    let sum = match fate {
        DocumentFate::Stands(value) => {
            let bytes = find_documents::render(&value);
            let is_written = said.flatten() == expected
                || replace_known(&work, &place, on_disk.as_deref(), bytes.as_bytes())?;
            if !is_written {
                return Ok(false);
            }
            expected
        }
        DocumentFate::Removed => {
            if let Some(known) = &on_disk
                && !remove_known(&work, &place, known)?
            {
                return Ok(false);
            }
            None
        }
        DocumentFate::MovedTo(to) => {
            if let Some(known) = &on_disk {
                let last = workflow
                    .documents
                    .get(path)
                    .map(find_documents::render)
                    .unwrap_or_default();
                state_file::replace(&work, &rel(&to), last.as_bytes())?;
                if !remove_known(&work, &place, known)? {
                    return Ok(false);
                }
            }
            None
        }
    };
    let entry = Projected {
        path: path.to_owned(),
        sum,
        workflow: workflow.id.clone(),
    };
    match note {
        Some(at) => notes[at] = entry,
        None => notes.push(entry),
    }
    Ok(true)
}
