//! Dispatch by profile: recognizes, reads and writes the documents of each.

use serde_json::Value;

use crate::workflow::profiles::execution::Execution;
use crate::workflow::profiles::format::{Format, begun, taken, write};
use crate::workflow::profiles::phases::PhaseFile;
use crate::workflow::profiles::pipeline::Pipeline;
use crate::workflow::profiles::registry::Registry;
use crate::workflow::profiles::{pipeline, registry};
use crate::workflow::rules::workflow::{EXECUTION_FILE, Finding, PHASE_FILE, Profile, Workflow};

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

/// What the documents of a format do.
struct Documents {
    begin: fn(&Value, &str) -> Result<Workflow, Finding>,
    take: fn(&Workflow, &str, &Value, &str) -> Result<Workflow, Finding>,
    write: fn(&Workflow, &str, &str) -> Value,
}

impl Documents {
    fn at(path: &str) -> Self {
        match path {
            EXECUTION_FILE => Self::of::<Execution>(),
            PHASE_FILE => Self::of::<PhaseFile>(),
            pipeline::FILE => Self::of::<Pipeline>(),
            _ => Self::of::<Registry>(),
        }
    }

    fn of<F: Format>() -> Self {
        let (begin, take, write) = (begun::<F>, taken::<F>, write::<F>);
        Self { begin, take, write }
    }
}

/// Returns the files of a run under one profile, with their paths, written over those that were read
/// before (`workflow.documents`). The task file is among them only if there are tasks, or if it was
/// before.
pub fn export(workflow: &Workflow, profile: Profile, root: &str) -> Vec<(String, Value)> {
    let has_tasks = !workflow.tasks.is_empty() || workflow.documents.contains_key(EXECUTION_FILE);
    let paths = match profile {
        Profile::Phases if has_tasks => vec![PHASE_FILE.to_owned(), EXECUTION_FILE.to_owned()],
        Profile::Phases => vec![PHASE_FILE.to_owned()],
        Profile::Pipeline => vec![pipeline::FILE.to_owned()],
        Profile::Registry => vec![registry::path(workflow)],
    };
    let value = |path: &String| (Documents::at(path).write)(workflow, path, root);
    let values: Vec<Value> = paths.iter().map(value).collect();
    paths.into_iter().zip(values).collect()
}

/// Makes a run from the document of another program; the caller ensures a free id.
///
/// # Errors
/// The first error in the document.
pub fn begin(path: &str, value: &Value, root: &str) -> Result<Workflow, Finding> {
    let mut workflow = (Documents::at(path).begin)(value, root)?;
    workflow.profile = profile_of_path(path);
    take(&mut workflow, path, value, root)?;
    Ok(workflow)
}

/// Takes over an edited document; fields that it lacks stay unchanged.
///
/// # Errors
/// The first error in the document; the run is then unchanged.
pub fn take(run: &mut Workflow, path: &str, value: &Value, root: &str) -> Result<(), Finding> {
    *run = (Documents::at(path).take)(run, path, value, root)?;
    Ok(())
}
