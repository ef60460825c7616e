//! Dispatch by profile: recognizes, reads and writes the documents of each.

use serde_json::Value;

use crate::workflow::profiles::execution::Execution;
use crate::workflow::profiles::format::{self, Format};
use crate::workflow::profiles::phases::Phases;
use crate::workflow::profiles::pipeline::Pipeline;
use crate::workflow::profiles::registry::Registry;
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};
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
        profile::PHASE_FILE | profile::EXECUTION_FILE => Some(Profile::Phases),
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
    let mut files = match profile {
        Profile::Phases => {
            vec![document::<Phases>(
                workflow,
                profile::PHASE_FILE.to_owned(),
                root,
            )]
        }
        Profile::Pipeline => vec![document::<Pipeline>(
            workflow,
            pipeline::FILE.to_owned(),
            root,
        )],
        Profile::Registry => vec![document::<Registry>(
            workflow,
            registry::path(workflow),
            root,
        )],
    };
    let has_tasks =
        !workflow.tasks.is_empty() || workflow.documents.contains_key(profile::EXECUTION_FILE);
    if profile == Profile::Phases && has_tasks {
        files.push(document::<Execution>(
            workflow,
            profile::EXECUTION_FILE.to_owned(),
            root,
        ));
    }
    files
}

fn document<F: Format>(workflow: &Workflow, path: String, root: &str) -> Document {
    let value = format::write::<F>(workflow, &path, root);
    Document { path, value }
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
    workflow.profiles = vec![profile];
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
    let mut next = workflow.clone();
    let taken = match profile {
        Profile::Phases if path == profile::EXECUTION_FILE => {
            format::take::<Execution>(&mut next, path, value, root)
        }
        Profile::Phases => format::take::<Phases>(&mut next, path, value, root),
        Profile::Pipeline => format::take::<Pipeline>(&mut next, path, value, root),
        Profile::Registry => format::take::<Registry>(&mut next, path, value, root),
    };
    taken.map_err(|finding| vec![finding])?;
    next.documents.insert(path.to_owned(), value.clone());
    *workflow = next;
    Ok(())
}
