//! Dispatch by profile: recognizes, reads and writes the documents of each.

use serde_json::Value;

use crate::workflow::profiles::execution::Execution;
use crate::workflow::profiles::format::{taken, write};
use crate::workflow::profiles::phases::PhaseFile;
use crate::workflow::profiles::pipeline::Pipeline;
use crate::workflow::profiles::registry::Registry;
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE, Profile};
use crate::workflow::rules::workflow::Workflow;

/// One file to be written to the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Relative to the root.
    pub path: String,
    pub value: Value,
}

/// Returns the profile whose file has this path, relative to the root.
pub fn profile_of_path(path: &str) -> Option<Profile> {
    match path {
        PHASE_FILE | EXECUTION_FILE => Some(Profile::Phases),
        pipeline::FILE => Some(Profile::Pipeline),
        _ => registry::is_active_file(path).then_some(Profile::Registry),
    }
}

/// Guesses the profile from a document.
pub fn profile_of_document(value: &Value) -> Option<Profile> {
    let has = |key: &str| value.get(key).is_some();
    if has("phase_status") && has("current_phase") {
        Some(Profile::Phases)
    } else if has("checkpoint_id") && has("workflow_type") {
        Some(Profile::Registry)
    } else if has("completed_phases") && has("remaining_phases") {
        Some(Profile::Pipeline)
    } else {
        None
    }
}

/// Returns the files of a run under one profile, written over those that were read before
/// (`workflow.documents`). The task file is among them only if there are tasks, or if it was before.
pub fn export(workflow: &Workflow, profile: Profile, root: &str) -> Vec<Document> {
    let mut paths = match profile {
        Profile::Phases => vec![PHASE_FILE.to_owned()],
        Profile::Pipeline => vec![pipeline::FILE.to_owned()],
        Profile::Registry => vec![registry::path(workflow)],
    };
    let has_tasks = !workflow.tasks.is_empty() || workflow.documents.contains_key(EXECUTION_FILE);
    if profile == Profile::Phases && has_tasks {
        paths.push(EXECUTION_FILE.to_owned());
    }
    let document = |path: String| Document {
        value: match profile {
            Profile::Phases if path == EXECUTION_FILE => write::<Execution>(workflow, &path, root),
            Profile::Phases => write::<PhaseFile>(workflow, &path, root),
            Profile::Pipeline => write::<Pipeline>(workflow, &path, root),
            Profile::Registry => write::<Registry>(workflow, &path, root),
        },
        path,
    };
    paths.into_iter().map(document).collect()
}

/// Makes a run from the document of another program; the caller ensures a free id.
///
/// # Errors
/// The first error in the document.
pub fn begin(
    profile: Profile,
    path: &str,
    value: &Value,
    root: &str,
) -> Result<Workflow, Vec<Finding>> {
    let begun = match profile {
        Profile::Phases => phases::begin(value, root),
        Profile::Pipeline => pipeline::begin(value, root),
        Profile::Registry => registry::begin(value, root),
    };
    let mut workflow = begun.map_err(|finding| vec![finding])?;
    workflow.profile = Some(profile);
    take(&mut workflow, profile, path, value, root)?;
    Ok(workflow)
}

/// Takes over an edited document; fields that it lacks stay unchanged.
///
/// # Errors
/// The first error in the document; the run is then unchanged.
pub fn take(
    workflow: &mut Workflow,
    profile: Profile,
    path: &str,
    value: &Value,
    root: &str,
) -> Result<(), Vec<Finding>> {
    let taken = match profile {
        Profile::Phases if path == EXECUTION_FILE => {
            taken::<Execution>(workflow, path, value, root)
        }
        Profile::Phases => taken::<PhaseFile>(workflow, path, value, root),
        Profile::Pipeline => taken::<Pipeline>(workflow, path, value, root),
        Profile::Registry => taken::<Registry>(workflow, path, value, root),
    };
    *workflow = taken.map_err(|finding| vec![finding])?;
    Ok(())
}
