//! Paths of the files of runs, and the project that is part of their names.

use serde_json::Value;

use super::read::{self, RegistryDocument};
use crate::model::run_id;
use crate::workflow::profiles::document::project_of;
use crate::workflow::rules::workflow::Workflow;

pub const FOLDER: &str = ".claude/checkpoints";
pub const FAILED: &str = ".claude/checkpoints/failed";

/// Whether a path is that of an active run: in the folder itself,
/// `{type}_{project}_{YYYYMMDD_HHMMSS}.json`.
pub fn is_active_file(path: &str) -> bool {
    let name = path
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    name.filter(|name| !name.contains('/'))
        .and_then(|name| name.strip_suffix(".json"))
        .is_some_and(run_id::is_timed)
}

/// Returns the path of the file: as it was read, else by its name.
pub fn path(workflow: &Workflow) -> String {
    let known = workflow
        .documents
        .keys()
        .find(|path| is_active_file(path))
        .cloned();
    known.unwrap_or_else(|| path_of(&name(workflow)))
}

/// Returns the path for the document of another program.
pub fn path_of_document(value: &Value) -> Option<String> {
    let read = read::document(value).ok()?;
    let made = || run_id::make(&read.kind, &project(&read, ""), read.created_ms);
    Some(path_of(&if is_name(&read.id) {
        read.id.clone()
    } else {
        made()
    }))
}

/// Returns the path for the file of a failed or abandoned run.
pub fn failed_path(path: &str) -> Option<String> {
    is_active_file(path).then(|| path.replacen(FOLDER, FAILED, 1))
}

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}.json")
}

fn is_name(id: &str) -> bool {
    run_id::is_legal(id) && run_id::is_timed(id)
}

/// Returns the id of the run if readers of the folder accept that as a file name, else a new name.
fn name(workflow: &Workflow) -> String {
    let made = || run_id::make(&workflow.kind, &workflow.project, workflow.created_ms);
    if is_name(&workflow.id) {
        workflow.id.clone()
    } else {
        made()
    }
}

/// Returns the project in the state, else the part of the id between type and time, else the name
/// of the root.
pub fn project(read: &RegistryDocument, root: &str) -> String {
    if let Some(name) = read
        .state
        .get("project_name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
    {
        return name.to_owned();
    }
    let rest = read
        .id
        .strip_prefix(read.kind.as_str())
        .and_then(|rest| rest.strip_prefix('_'));
    let named = rest
        .filter(|_| run_id::is_timed(&read.id))
        .and_then(|rest| rest.rsplitn(3, '_').nth(2));
    named.unwrap_or_else(|| project_of(root)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_run_is_known_by_its_name() {
        for name in [
            "orchestrate_auth_system_20251003_184530",
            "test-all_x_20251003_192230",
        ] {
            assert!(
                is_active_file(&format!(".claude/checkpoints/{name}.json")),
                "{name}"
            );
            assert!(
                !is_active_file(&format!(".claude/checkpoints/failed/{name}.json")),
                "{name}"
            );
            assert!(
                !is_active_file(&format!("{name}.json"))
                    && !is_active_file(&format!(".claude/checkpoints/{name}"))
            );
        }
        for name in [
            "README",
            "x_20251003_184530",
            "_x_20251003_184530",
            "a_b_2025_184530",
            "a_b_20251003_18453",
        ] {
            assert!(
                !is_active_file(&format!(".claude/checkpoints/{name}.json")),
                "{name}"
            );
        }
    }
}
