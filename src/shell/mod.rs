//! What all commands need of the machine: input and output, children, signals, the environment and
//! the context of a command.

#[cfg(feature = "ui")]
pub mod browser;
pub mod child;
pub mod command_context;
pub mod environment;
pub mod grammar;
pub mod run;
pub mod signals;
pub mod terminal;
