//! Traits of commands: their properties, and how they run.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::config::environment::Environment;
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::ops::context::Context;
use crate::view::contract::ContractForm;

/// A command that acts on a directory.
pub trait RunCommand: Sized {
    /// Name in the JSON schema, unless that of the command.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Whether the time depends on the size of the directory or store.
    fn may_take_long(&self) -> bool {
        false
    }

    /// Whether the command has `--dry-run`.
    fn has_dry_run(&self) -> bool {
        false
    }

    /// Whether the user's own configuration may be bad, so that restores always work.
    fn own_file(&self) -> OwnFile {
        OwnFile::MustBeGood
    }

    /// Exit code of failures without a code of their own.
    fn failure_code(&self) -> u8 {
        exit_code::FAILED
    }

    /// The requested format of the contract, even if the command fails.
    fn contract(&self) -> Option<ContractForm> {
        None
    }

    /// Runs the command and returns its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8>;
}

/// A command that needs neither a directory nor a store.
pub trait RunAnywhere {
    /// Runs the command and returns its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8>;
}
