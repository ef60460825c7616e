//! What every command says of itself, and how it is run.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::config::settings::{Environment, OwnFile};
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::contract::ContractForm;

/// A command that acts on a directory.
pub trait RunCommand: Sized {
    /// The word in the schema of its JSON, where that is not the name of the command.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Whether the work grows with the directory or the store.
    fn may_take_long(&self) -> bool {
        false
    }

    /// Whether it takes `--dry-run`.
    fn has_dry_run(&self) -> bool {
        false
    }

    /// Whether it works although the user's own configuration is bad, as every way back does.
    fn own_file(&self) -> OwnFile {
        OwnFile::MustBeGood
    }

    /// The exit code of a failure that has none of its own.
    fn failure_code(&self) -> u8 {
        exit_code::FAILED
    }

    /// The form of the contract that is asked for, also where the command fails.
    fn contract(&self) -> Option<ContractForm> {
        None
    }

    /// Runs it and answers with its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8>;
}

/// A command that needs neither a directory nor a store.
pub trait RunAnywhere {
    /// Runs it and answers with its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8>;
}
