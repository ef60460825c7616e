//! The command line: from its words to the exit code.

pub mod command_list;
pub mod completion;
pub mod entry;
pub mod parse;
pub mod schema;
