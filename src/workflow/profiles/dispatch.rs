//! The formats in which other programs keep a run, each with its files in the project: read and written exactly.

use serde_json::Value;

use crate::workflow::profiles::document::{Document, Reading};
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::workflow::Workflow;

/// The profile whose file lies at this path, relative to the root.
pub fn profile_of_path(path: &str) -> Option<Profile> {
    match path {
        profile::PHASE_FILE | profile::EXECUTION_FILE => Some(Profile::Phases),
        pipeline::FILE => Some(Profile::Pipeline),
        _ => registry::is_active_file(path).then_some(Profile::Registry),
    }
}

/// The profile in whose format a document seems to be.
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

/// The files that a run has in the project now under one of its profiles. A file of the same path that was read before
/// (`workflow.documents`) is the pattern: what did not change in it, and what we do not know, stays letter for letter.
pub fn export(workflow: &Workflow, profile: Profile, root: &str) -> Vec<Document> {
    match profile {
        Profile::Phases => phases::export(workflow),
        Profile::Pipeline => vec![pipeline::export(workflow, root)],
        Profile::Registry => vec![registry::export(workflow)],
    }
}

/// A new run from the document of another program; the caller checks that its id is free.
///
/// # Errors
/// All that is wrong with it.
pub fn begin(profile: Profile, path: &str, value: &Value, reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    let mut workflow = match profile {
        Profile::Phases => phases::begin(value, reading),
        Profile::Pipeline => pipeline::begin(value, reading),
        Profile::Registry => registry::begin(value, reading),
    }?;
    workflow.profiles = vec![profile];
    take(&mut workflow, profile, path, value, reading)?;
    Ok(workflow)
}

/// Takes over what an edited document says; what it does not speak of stays.
///
/// # Errors
/// All that is wrong with it; then the run is as before.
pub fn take(
    workflow: &mut Workflow,
    profile: Profile,
    path: &str,
    value: &Value,
    reading: Reading<'_>,
) -> Result<(), Vec<Finding>> {
    let mut taken = workflow.clone();
    match profile {
        Profile::Phases => phases::take(&mut taken, path, value, reading),
        Profile::Pipeline => pipeline::take(&mut taken, value, reading),
        Profile::Registry => registry::take(&mut taken, value, reading),
    }?;
    taken.documents.insert(path.to_owned(), value.clone());
    *workflow = taken;
    Ok(())
}
