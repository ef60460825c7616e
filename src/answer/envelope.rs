//! The envelope in which every command answers with `--json`, and its JSON Schema.

use serde_json::Value;

use crate::answer::document::{self, JsonSchema, Serialize};
use crate::answer::error_json::ErrorJson;
use crate::answer::place::placed_sentence;
use crate::base::json::document;
use crate::base::text::without_numbers;
use crate::error::Error;
use crate::model::json::{PathName, TextAnswer};
use crate::ops::warning::Warning;

/// The one object on stdout.
#[derive(Serialize, JsonSchema)]
struct Answer<'a, D> {
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
    fn new(warning: &Warning) -> Self {
        let sentence = placed_sentence(warning.sentence());
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

/// Returns the answer of a command that did its work.
pub fn envelope<D: Serialize>(command: &str, exit: u8, data: &D, warnings: &[Warning]) -> String {
    partial(command, exit, data, warnings, None)
}

/// Returns the answer of a command that failed in part.
pub fn partial<D: Serialize>(
    command: &str,
    exit: u8,
    data: &D,
    warnings: &[Warning],
    error: Option<&Error>,
) -> String {
    let error = error.map(|error| ErrorJson::new(error, None));
    render(command, exit, Some(data), error, warnings)
}

/// Returns the answer of a command that failed and has nothing to show.
pub fn failure(command: &str, exit: u8, error: ErrorJson, warnings: &[Warning]) -> String {
    render::<Value>(command, exit, None, Some(error), warnings)
}

fn render<D: Serialize>(
    command: &str,
    exit: u8,
    data: Option<&D>,
    error: Option<ErrorJson>,
    warnings: &[Warning],
) -> String {
    let answer = Answer {
        schema: schema_name(command),
        ok: error.is_none(),
        exit,
        data,
        error,
        warnings: warnings.iter().map(WarningJson::new).collect(),
    };
    document(&answer, false)
}

fn schema_name(command: &str) -> String {
    format!("checkpoint.{command}/2")
}

/// Returns the answer of a command that prints one text.
pub fn text_answer(command: &str, text: &str) -> String {
    let text = text.to_owned();
    envelope(command, 0, &TextAnswer { text }, &[])
}

/// Returns the JSON Schema of a command's answer.
pub fn schema<D: JsonSchema + 'static>(command: &str) -> Value {
    let mut schema = document::schema::<Answer<'static, D>>();
    let name = schema_name(command);
    schema["title"] = name.clone().into();
    schema["properties"]["schema"]["const"] = name.into();
    schema
}
