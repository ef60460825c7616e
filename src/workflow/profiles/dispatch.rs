//! Dispatch by profile: recognizes, reads and writes the documents of each.

use serde_json::Value;

use crate::workflow::profiles::format::{read, taken, write};
use crate::workflow::profiles::phases::{Execution, PhaseFile};
use crate::workflow::profiles::pipeline::Pipeline;
use crate::workflow::profiles::registry::Registry;
use crate::workflow::profiles::{pipeline, registry};
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::{Found, Profile, Workflow};

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
    let marks = [
        (Profile::Phases, ["phase_status", "current_phase"]),
        (Profile::Registry, ["checkpoint_id", "workflow_type"]),
        (Profile::Pipeline, ["completed_phases", "remaining_phases"]),
    ];
    let mut marks = marks.into_iter();
    let found = marks.find(|(_, keys)| keys.iter().all(|key| value.get(key).is_some()));
    found.map(|(profile, _)| profile)
}

/// Returns the path of the file of a run in a profile; of `phases` that of the phase file.
pub fn path_of(run: &Workflow, profile: Profile) -> String {
    match profile {
        Profile::Phases => PHASE_FILE.to_owned(),
        Profile::Pipeline => pipeline::FILE.to_owned(),
        Profile::Registry => registry::path(run),
    }
}

/// Returns the files of a run under one profile, with their paths, written over those that were read
/// before (`workflow.documents`). The task file is among them only if there are tasks, or if it was
/// before.
pub fn export(run: &Workflow, profile: Profile, root: &str) -> Vec<(String, Value)> {
    let path = path_of(run, profile);
    let value = match profile {
        Profile::Phases => write::<PhaseFile>(run, &path, root),
        Profile::Pipeline => write::<Pipeline>(run, &path, root),
        Profile::Registry => write::<Registry>(run, &path, root),
    };
    let mut files = vec![(path, value)];
    let has_tasks = !run.tasks.is_empty() || run.documents.contains_key(EXECUTION_FILE);
    if profile == Profile::Phases && has_tasks {
        let value = write::<Execution>(run, EXECUTION_FILE, root);
        files.push((EXECUTION_FILE.to_owned(), value));
    }
    files
}

/// Makes a run from the document of another program; the caller ensures a free id.
///
/// # Errors
/// All errors in the document.
pub fn begin(profile: Profile, path: Option<&str>, value: &Value, root: &str) -> Found<Workflow> {
    let none = Workflow::default();
    let mut run = match profile {
        Profile::Phases => read::<PhaseFile>(value, &none, root)?.0.begin(root),
        Profile::Pipeline => read::<Pipeline>(value, &none, root)?.0.begin(value, root),
        Profile::Registry => read::<Registry>(value, &none, root)?.0.begin(root),
    };
    run.profile = Some(profile);
    let path = path.map_or_else(|| path_of(&run, profile), str::to_owned);
    take(&mut run, &path, value, root)?;
    Ok(run)
}

/// Takes over an edited document; fields that it lacks stay unchanged.
///
/// # Errors
/// All errors in the document; the run is then unchanged.
pub fn take(run: &mut Workflow, path: &str, value: &Value, root: &str) -> Found<()> {
    *run = match path {
        EXECUTION_FILE => taken::<Execution>(run, path, value, root),
        PHASE_FILE => taken::<PhaseFile>(run, path, value, root),
        pipeline::FILE => taken::<Pipeline>(run, path, value, root),
        _ => taken::<Registry>(run, path, value, root),
    }?;
    Ok(())
}
