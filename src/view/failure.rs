//! Failures as JSON.

use serde_json::{Value, json};

use crate::error::Error;
use crate::ops::warning::Warning;
use crate::view::contract::ContractDocument;
use crate::view::envelope::{answer, hex, text, with_path};
use crate::view::place::placed;
use crate::view::workflow::json as runs_json;

/// Returns the document of a failure, with a contract if requested.
pub fn failure(
    command: &str,
    exit: u8,
    error: &Error,
    contract: Option<&ContractDocument>,
) -> String {
    let schema = format!("checkpoint.{command}/1");
    let mut document =
        json!({"schema": schema, "ok": false, "exit": exit, "error": error_json(error, exit)});
    if let Some(contract) = contract {
        document["data"] = json!({"contract": contract.value});
    }
    text(&document.to_string())
}

pub fn error_json(error: &Error, exit: u8) -> Value {
    let mut object =
        json!({"code": error.code(), "exit": exit, "message": placed(&error.to_string())});
    if let Some(hint) = error.hint() {
        object["hint"] = placed(&hint).into();
    }
    match error {
        Error::AmbiguousCheckpoint { candidates, .. } => {
            let listed = candidates
                .iter()
                .map(|c| json!({"id": hex(c.id), "short": c.id.short(), "reason": c.reason}));
            object["candidates"] = listed.collect();
        }
        Error::AmbiguousStore { candidates } => {
            object["candidates"] = candidates
                .iter()
                .map(|path| json!(path.display().to_string()))
                .collect();
        }
        Error::Conflict { obstacles } | Error::ChangedMeanwhile { obstacles } => {
            let named = obstacles
                .iter()
                .map(|o| with_path(json!({"why": o.why}), &o.path));
            object["paths"] = named.collect();
        }
        Error::Workflow(problem) => runs_json::add_problem(&mut object, problem),
        _ => {}
    }
    object
}

/// Returns the document of a command that failed in part.
pub fn partial(
    command: &str,
    exit: u8,
    data: &Value,
    warnings: &[Warning],
    failure: Option<&Error>,
) -> String {
    let mut document = answer(command, exit, data, warnings);
    if let Some(error) = failure {
        document["error"] = error_json(error, exit);
    }
    text(&document.to_string())
}
