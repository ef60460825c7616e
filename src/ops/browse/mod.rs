//! Read-only commands on checkpoints and the directory.

pub mod bisect;
pub mod cat;
pub mod config;
pub mod diff;
pub mod find;
pub mod list;
pub mod ls;
pub mod prompts;
pub mod status;
