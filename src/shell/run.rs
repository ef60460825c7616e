//! The traits and properties of commands.

use crate::answer::{ContractForm, Done, Text};
use crate::config::Environment;
use crate::error::{Error, Result, exit_code};
use crate::ops::Context;
use crate::shell::CommandContext;

/// Properties of a command that are needed before it runs.
#[derive(Clone, Copy)]
pub struct Properties {
    /// Name in the JSON schema, unless that of the command.
    pub name: Option<&'static str>,
    /// Whether the time depends on the size of the directory or store, or on the lock.
    pub may_take_long: bool,
    /// Whether the command has `--dry-run`.
    pub has_dry_run: bool,
    /// Exit code of failures without a code of their own.
    pub failure_code: u8,
    /// The requested format of the contract, even if the command fails.
    pub contract: Option<ContractForm>,
    /// What is true after a signal, unless nothing was changed.
    pub left_by_a_signal: Option<&'static str>,
    /// Whether another program runs in its place, for which signals that are ignored stay so.
    pub is_wrapper: bool,
}

impl Properties {
    pub const USUAL: Self = Self {
        name: None,
        may_take_long: false,
        has_dry_run: false,
        failure_code: exit_code::FAILED,
        contract: None,
        left_by_a_signal: None,
        is_wrapper: false,
    };
    /// Of a command whose time depends on the size of the directory or store, or on the lock.
    pub const LONG: Self = Self {
        may_take_long: true,
        ..Self::USUAL
    };
}

/// A command that acts on a directory, and prints its answer itself.
pub trait RunCommand: Sized {
    fn properties(&self) -> Properties;

    /// Runs the command and returns its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8>;
}

/// A command that acts on a directory: what may be typed, what is done and what is answered.
pub trait Command: Sized {
    type Answer: Text;
    const TRAITS: Properties = Properties::LONG;

    fn properties(&self) -> Properties {
        Self::TRAITS
    }

    /// Does the work.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>>;

    /// Does what may follow once the answer is printed, or the command has failed.
    fn after(_: &Context, _: &CommandContext<'_>, _: Ended<'_, Self::Answer>) {}
}

/// How a command ended.
pub type Ended<'e, A> = std::result::Result<&'e Done<A>, &'e Error>;

impl<C: Command> RunCommand for C {
    fn properties(&self) -> Properties {
        Command::properties(self)
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let done = Command::run(self, context, cmd);
        if let Ok(done) = &done {
            cmd.print(context, done);
        } else {
            cmd.close_pages();
        }
        C::after(context, cmd, done.as_ref());
        done.map(|done| done.exit)
    }
}

/// The exit code of work that is done, but whose answer was lost; `failed` is that of failures of the
/// command.
pub fn unanswered(code: u8, failed: u8) -> u8 {
    if matches!(code, exit_code::DONE | exit_code::PARTIAL) {
        failed
    } else {
        code
    }
}

/// A command that needs neither a directory nor a store.
pub trait RunAnywhere: Sized {
    /// The name in the JSON schema, unless that of the command.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Runs the command and returns its exit code.
    ///
    /// # Errors
    /// Those of its operation.
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8>;
}
