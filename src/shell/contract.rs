//! Contracts: the call as it was typed, and the requested format.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use crate::answer::contract::{Call, ContractDocument, ContractForm, nothing_made};
use crate::answer::restore_contract::nothing_restored;
use crate::answer::words::{self, advised};
use crate::base::shell_word::{shell_line, shell_word};
use crate::error::Error;
use crate::ops::context::Context;
use crate::shell::command_context::CommandContext;
use crate::shell::environment;

/// Flattened into `create`, `restore` and its kin.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Agent contract")]
pub struct ContractArgs {
    /// Print a report of what was done, verified against the checkpoint, for agents
    #[arg(long)]
    pub contract: bool,
    /// Format of the report [default: yaml]
    #[arg(long, value_name = "FORMAT", requires = "contract", value_parser = PossibleValuesParser::new(["yaml", "json"]).map(|form| form_named(&form)))]
    pub format: Option<ContractForm>,
}

impl ContractArgs {
    pub fn form(self) -> ContractForm {
        self.format.unwrap_or_default()
    }

    /// The form of the contract, if there shall be one.
    pub fn wanted(self) -> Option<ContractForm> {
        self.contract.then(|| self.form())
    }
}

fn form_named(name: &str) -> ContractForm {
    if name == "json" {
        ContractForm::Json
    } else {
        ContractForm::Yaml
    }
}

/// Returns the words of this call, for a contract.
pub fn call(context: &Context, cmd: &CommandContext<'_>) -> Call {
    let home = context.environment.home.as_ref();
    let usual = home.map(|home| home.join(".claude"));
    Call {
        anchor: anchor(cmd.words),
        program: environment::program(cmd.words),
        root: context.root.path().to_path_buf(),
        base: Some(context.base.clone()).filter(|base| Some(base) != usual.as_ref()),
    }
}

/// Returns the contract of a call that failed.
pub fn refused(command: &str, words: &[OsString], error: &Error) -> ContractDocument {
    let why = advised(&words::message(error), words::hint(error).as_ref());
    match command {
        "create" => nothing_made(&why, &anchor(words)),
        _ => nothing_restored(&why, &anchor(words)),
    }
}

/// Returns the form of the contract that a line asks for which cannot be parsed.
pub fn asked_for(command: &str, words: &[OsString]) -> Option<ContractForm> {
    let has_contract = ["create", "restore", "undo", "redo", "rewind"].contains(&command);
    let mut options = words.iter().take_while(|word| *word != "--");
    let is_wanted = has_contract && options.any(|word| word == "--contract");
    let is_json = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    let is_json = words.contains(&"--format=json".into()) || words.windows(2).any(is_json);
    is_wanted.then(|| form_named(if is_json { "json" } else { "yaml" }))
}

/// Returns a command that repeats the call from any directory, or just its words if it read
/// standard input.
pub fn anchor(words: &[OsString]) -> String {
    let program = environment::program(words);
    let rest = words.iter().skip(1).map(|word| word.as_encoded_bytes());
    let reads_input = rest.clone().any(|word| {
        matches!(word, b"-" | b"@-") || word.ends_with(b"=-") || word.ends_with(b"=@-")
    });
    let command = shell_line(std::iter::once(program.as_bytes()).chain(rest));
    match environment::absolute(Path::new(".")) {
        Ok(here) if !reads_input => {
            let here = shell_word(here.as_os_str().as_encoded_bytes());
            format!("tool:bash:cd {here} && {command}")
        }
        _ => format!("check:called_as:{command}"),
    }
}
