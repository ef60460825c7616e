//! Contracts: the call as it was typed, and the requested format.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::shell_word::{shell_line, shell_word};
use crate::cli::command_context::CommandContext;
use crate::cli::environment;
use crate::error::Error;
use crate::ops::context::Context;
use crate::view::contract::{Call, ContractDocument, ContractForm, nothing_made};
use crate::view::words::{self, advised};

/// Flattened into `create` and `restore`.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Agent contract")]
pub struct ContractArgs {
    /// Print a report of what was done, verified against the checkpoint, for agents
    #[arg(long)]
    pub contract: bool,
    /// Format of the report [default: yaml]
    #[arg(long, value_name = "FORMAT", requires = "contract")]
    pub format: Option<Format>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Yaml,
    Json,
}

/// The words of this call, for a contract.
pub struct Words {
    anchor: String,
    program: String,
    base: Option<PathBuf>,
}

impl Words {
    pub fn of(context: &Context, cmd: &CommandContext<'_>) -> Self {
        let usual = context
            .environment
            .home
            .as_ref()
            .map(|home| home.join(".claude"));
        let base = Some(context.base.clone()).filter(|base| Some(base) != usual.as_ref());
        Self {
            anchor: anchor(cmd.words),
            program: environment::program(cmd.words),
            base,
        }
    }

    pub fn call<'c>(&'c self, context: &'c Context) -> Call<'c> {
        let (program, root, base) = (
            self.program.as_str(),
            context.root.path(),
            self.base.as_deref(),
        );
        Call {
            anchor: &self.anchor,
            program,
            root,
            base,
        }
    }
}

/// Returns the contract of a `create` that made no checkpoint.
pub fn refused(words: &[OsString], error: &Error) -> ContractDocument {
    let why = advised(&words::message(error), words::hint(error).as_ref());
    nothing_made(&why, &anchor(words))
}

/// Returns a command that repeats the call from any directory, or just its words if it read
/// standard input.
pub fn anchor(words: &[OsString]) -> String {
    let program = environment::program(words);
    let rest = words.iter().skip(1).map(|word| word.as_encoded_bytes());
    let reads_input = rest
        .clone()
        .any(|word| word == b"-" || word.ends_with(b"=-"));
    let command = shell_line(std::iter::once(program.as_bytes()).chain(rest));
    match environment::absolute(Path::new(".")) {
        Ok(here) if !reads_input => {
            let here = shell_word(here.as_os_str().as_encoded_bytes());
            format!("tool:bash:cd {here} && {command}")
        }
        _ => format!("check:called_as:{command}"),
    }
}

impl From<ContractArgs> for ContractForm {
    fn from(args: ContractArgs) -> Self {
        match args.format {
            None | Some(Format::Yaml) => Self::Yaml,
            Some(Format::Json) => Self::Json,
        }
    }
}
