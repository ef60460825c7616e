//! Failures as JSON.

use serde_json::Value;

use crate::answer::contract::ContractDocument;
use crate::answer::document::{JsonSchema, Serialize};
use crate::answer::place::placed_command;
use crate::answer::words;
use crate::base::text::escape_line;
use crate::error::sentence::Sentence;
use crate::error::{Choice, Error, More};
use crate::model::checkpoint::mismatch::Candidate;
use crate::model::json::{CheckpointRef, PathReason};
use crate::workflow::engine::run_json::RunJson;
use crate::workflow::rules::workflow::Workflow;

/// A failure: what failed, and the next step.
#[derive(Serialize, JsonSchema)]
pub struct ErrorJson {
    pub code: String,
    pub message: String,
    /// The next step in words.
    hint: Option<String>,
    /// The command that the hint names, as words to run.
    command: Option<Vec<String>>,
    /// Checkpoints that an ambiguous selector could mean.
    candidates: Option<Vec<CheckpointRef>>,
    /// Stores that answer for the directory, if there are several.
    store_dirs: Option<Vec<String>>,
    /// Paths that are in the way.
    paths: Option<Vec<PathReason>>,
    /// The possible answers to a question about a workflow.
    options: Option<Vec<OptionJson>>,
    /// The workflow as it stands.
    run: Option<RunJson>,
    /// Further data of a workflow's failure.
    detail: Option<Value>,
    /// The contract of a refusal, if one was asked for.
    contract: Option<Value>,
}

/// A possible answer to a question.
#[derive(Serialize, JsonSchema)]
struct OptionJson {
    key: String,
    label: String,
    /// The command that gives this answer, as a line for a shell.
    command_line: String,
    /// The same as words to run; null if a word of it has to be replaced first.
    command: Option<Vec<String>>,
}

impl OptionJson {
    fn new(choice: &Choice) -> Self {
        let command = placed_command(choice.command.clone());
        Self {
            key: choice.key.clone(),
            label: choice.label.clone(),
            command: command.to_run(),
            command_line: command.to_string(),
        }
    }
}

impl ErrorJson {
    pub fn new(error: &Error, contract: Option<&ContractDocument>) -> Self {
        let hint = words::hint(error);
        let mut failed = Self {
            code: error.code.name.to_owned(),
            message: escape_line(&words::message(error)),
            command: hint.as_ref().and_then(Sentence::to_run),
            hint: hint.map(|hint| hint.to_string()),
            candidates: None,
            store_dirs: None,
            paths: None,
            options: None,
            run: None,
            detail: None,
            contract: contract.map(|contract| contract.value.clone()),
        };
        match &error.more {
            More::Candidates(candidates) => {
                failed.candidates = Some(candidates.iter().map(candidate).collect());
            }
            More::Stores(stores) => {
                let shown = stores.iter().map(|path| path.display().to_string());
                failed.store_dirs = Some(shown.collect());
            }
            More::Paths(obstacles) => {
                let named = obstacles
                    .iter()
                    .map(|one| PathReason::plain(&one.path, one.why.clone()));
                failed.paths = Some(named.collect());
            }
            More::Run(details) => {
                let options: Vec<OptionJson> =
                    details.options.iter().map(OptionJson::new).collect();
                // Of several answers none is the next command: the user chooses.
                let is_answer = |one: &OptionJson| one.command == failed.command;
                if options.len() > 1 && options.iter().any(is_answer) {
                    failed.command = None;
                }
                failed.options = (!options.is_empty()).then_some(options);
                let state = details.state.clone();
                let state = state.and_then(|state| serde_json::from_value(state).ok());
                failed.run = state.map(|state: Workflow| RunJson::from(&state));
                failed.detail.clone_from(&details.detail);
            }
            More::Nothing | More::Why(_) | More::NoStoreYet | More::File { .. } => {}
        }
        failed
    }
}

fn candidate(candidate: &Candidate) -> CheckpointRef {
    CheckpointRef::of_parts(
        &candidate.id.into(),
        Some(&candidate.reason),
        candidate.made,
    )
}
