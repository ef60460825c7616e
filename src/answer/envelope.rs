//! The envelope in which every command answers with `--json`, with failures, and its JSON Schema.

use serde_json::Value;

use crate::answer::place::PlaceWords;
use crate::answer::{ContractDocument, words};
use crate::base::json::{self, JsonSchema, Serialize};
use crate::base::text::{escape_line, without_numbers};
use crate::error::{Choice, Error, More, Sentence};
use crate::model::{CheckpointRef, PathName, PathReason};
use crate::ops::Warning;
use crate::workflow::Run;

/// The one object on stdout.
#[derive(Serialize, JsonSchema)]
pub struct Answer<'a, D> {
    /// `checkpoint.COMMAND/2`; within a number, fields are only added.
    schema: String,
    /// Whether the command did its work: there is no `error`.
    ok: bool,
    /// The exit code of the program.
    exit: u8,
    /// What was asked for; null if there is nothing to show.
    data: Option<&'a D>,
    /// The failure; null if there was none.
    error: Option<ErrorJson>,
    /// What did not stop the work.
    warnings: Vec<WarningJson>,
}

/// What did not stop the work.
#[derive(Serialize, JsonSchema)]
struct WarningJson {
    code: &'static str,
    message: String,
    /// The path concerned, if there is a single one.
    path: Option<String>,
    /// The bytes of the path as hex digits, if it is not UTF-8.
    path_hex: Option<String>,
    /// The command that the message suggests, as words to run.
    command: Option<Vec<String>>,
}

impl WarningJson {
    fn new(warning: &Warning, place: &PlaceWords) -> Self {
        let sentence = place.sentence(warning.sentence());
        let name = warning.path().map(PathName::new);
        let (path, path_hex) = name.map_or((None, None), |name| (Some(name.path), name.path_hex));
        Self {
            code: warning.code(),
            command: sentence.to_run(),
            message: without_numbers(&sentence.to_string()),
            path,
            path_hex,
        }
    }
}

impl<'a, D> Answer<'a, D> {
    /// The answer of a command that did its work, or a part of it.
    pub fn new(
        command: &str,
        exit: u8,
        data: Option<&'a D>,
        error: Option<ErrorJson>,
        (warnings, place): (&[Warning], &PlaceWords),
    ) -> Self {
        let warnings = warnings.iter();
        Self {
            schema: schema_name(command),
            ok: error.is_none(),
            exit,
            data,
            error,
            warnings: warnings.map(|one| WarningJson::new(one, place)).collect(),
        }
    }
}

pub fn schema_name(command: &str) -> String {
    format!("checkpoint.{command}/2")
}

/// Returns the JSON Schema of a command's answer.
pub fn schema<D: JsonSchema + 'static>(command: &str) -> Value {
    let mut schema = json::schema::<Answer<'static, D>>();
    let name = schema_name(command);
    schema["title"] = name.clone().into();
    schema["properties"]["schema"]["const"] = name.into();
    schema
}

/// A failure: what failed, and the next step.
#[derive(Default, Serialize, JsonSchema)]
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
    /// The present state of the workflow.
    run: Option<Run>,
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
    fn new(choice: &Choice, place: &PlaceWords) -> Self {
        let command = place.command(choice.command.clone());
        Self {
            key: choice.key.clone(),
            label: choice.label.clone(),
            command: command.to_run(),
            command_line: command.to_string(),
        }
    }
}

impl ErrorJson {
    pub fn new(error: &Error, contract: Option<&ContractDocument>, place: &PlaceWords) -> Self {
        let (message, hint) = (words::message(error, place), words::hint(error, place));
        let mut failed = Self {
            code: error.code.name.to_owned(),
            message: escape_line(&match message.split_once(": \n") {
                // What git says has several lines.
                Some((what, lines)) => format!("{what}: {}", lines.replace('\n', "; ")),
                None => message,
            }),
            command: hint.as_ref().and_then(Sentence::to_run),
            hint: hint.map(|hint| hint.to_string()),
            contract: contract.map(|contract| contract.value.clone()),
            ..Self::default()
        };
        match &error.more {
            More::Candidates(candidates) => {
                let named = candidates.iter().map(|one| {
                    CheckpointRef::of_parts(&one.id.into(), Some(&one.reason), one.made)
                });
                failed.candidates = Some(named.collect());
            }
            More::Stores(stores) => {
                let shown = stores.iter().map(|path| path.display().to_string());
                failed.store_dirs = Some(shown.collect());
            }
            More::Paths(obstacles) => {
                let named = obstacles.iter();
                let named = named.map(|one| PathReason::plain(&one.path, one.why.clone()));
                failed.paths = Some(named.collect());
            }
            More::Run(details) => {
                let options = details.options.iter();
                let options: Vec<OptionJson> =
                    options.map(|one| OptionJson::new(one, place)).collect();
                // Of several answers none is the next command: the user chooses.
                let is_answer = |one: &OptionJson| one.command == failed.command;
                if options.len() > 1 && options.iter().any(is_answer) {
                    failed.command = None;
                }
                failed.options = (!options.is_empty()).then_some(options);
                let state = details.state.clone();
                let state = state.and_then(|state| serde_json::from_value(state).ok());
                failed.run = state.map(Run::unrecorded);
                failed.detail.clone_from(&details.detail);
            }
            More::Nothing
            | More::Why(_)
            | More::NoStoreYet
            | More::TooManyFiles { .. }
            | More::File { .. } => {}
        }
        failed
    }
}
