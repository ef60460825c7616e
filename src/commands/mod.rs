//! The commands: one file each, with arguments, what is done, the answer and its words.

pub mod args;
pub mod bisect;
pub mod cat;
pub mod clone;
pub mod completions;
pub mod config;
pub mod create;
pub mod delete;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fetch;
pub mod find;
pub mod guard;
pub mod help;
pub mod hold;
pub mod hook;
pub mod import;
pub mod list;
pub mod ls;
pub mod man;
pub mod mcp;
pub mod pin;
pub mod prune;
pub mod push;
pub mod relink;
pub mod remote;
pub mod report;
pub mod restore;
pub mod rewind;
pub mod reword;
pub mod run;
pub mod setup;
pub mod show;
pub mod status;
pub mod statusline;
pub mod stores;
pub mod ui;
pub mod undo;
pub mod verify;
pub mod watch;
pub mod workflow;

/// What most commands name.
mod prelude {
    pub use crate::answer::format::{
        Paint, checkpoints, checkpoints_and_safety, count, counts, size,
    };
    pub use crate::answer::{Done, Either, Out, Text};
    pub(crate) use crate::answer::{outln, talkln};
    pub use crate::base::text::{escape, escape_line, escape_path};
    pub use crate::config::environment::Environment;
    pub use crate::error::{Code, CommandWords, Error, Result, Sentence, exit_code};
    pub use crate::model::json::{JsonSchema, Serialize};
    pub use crate::ops::context::Context;
    pub use crate::ops::warning::Warning;
    pub use crate::shell::command_context::CommandContext;
    pub use crate::shell::environment;
    pub use crate::shell::run::{Command, Properties, RunAnywhere, RunCommand};
}
