//! Dispatch by profile: recognizes, reads and writes the documents of each.

use serde_json::Value;

use crate::workflow::profiles::document::Document;
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::workflow::Workflow;

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

/// Returns the files of a run under one profile. A document that was read before
/// (`workflow.documents`) is the base: unchanged and unknown parts are kept byte for byte.
pub fn export(workflow: &Workflow, profile: Profile, root: &str) -> Vec<Document> {
    match profile {
        Profile::Phases => phases::export(workflow),
        Profile::Pipeline => vec![pipeline::export(workflow, root)],
        Profile::Registry => vec![registry::export(workflow)],
    }
}

/// Makes a run from the document of another program; the caller ensures a free id.
///
/// # Errors
/// Every finding about the document.
pub fn begin(
    profile: Profile,
    path: &str,
    value: &Value,
    root: &str,
) -> Result<Workflow, Vec<Finding>> {
    let mut workflow = match profile {
        Profile::Phases => phases::begin(value, root),
        Profile::Pipeline => pipeline::begin(value, root),
        Profile::Registry => registry::begin(value, root),
    }?;
    workflow.profiles = vec![profile];
    take(&mut workflow, profile, path, value, root)?;
    Ok(workflow)
}

/// Takes over an edited document; fields that it lacks stay unchanged.
///
/// # Errors
/// Every finding about the document; the run is then unchanged.
pub fn take(
    workflow: &mut Workflow,
    profile: Profile,
    path: &str,
    value: &Value,
    root: &str,
) -> Result<(), Vec<Finding>> {
    let mut taken = workflow.clone();
    match profile {
        Profile::Phases => phases::take(&mut taken, path, value),
        Profile::Pipeline => pipeline::take(&mut taken, value, root),
        Profile::Registry => registry::take(&mut taken, value),
    }?;
    taken.documents.insert(path.to_owned(), value.clone());
    *workflow = taken;
    Ok(())
}
