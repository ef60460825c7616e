//! The command line: arguments to options, outcomes to text and exit codes. It uses operations and
//! views, never the store.

pub mod child;
pub mod command_context;
pub mod commands;
pub mod completion;
pub mod contract;
pub mod entry;
pub mod environment;
pub mod exit_code;
pub mod global;
pub mod grammar;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod parse;
pub mod run;
pub mod schema;
pub mod signals;
pub mod terminal;
