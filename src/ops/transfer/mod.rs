//! Checkpoints on their way to another store, and from it.

pub mod clone;
pub mod export;
pub mod fetch;
pub mod import;
pub mod push;
pub mod remote;
pub mod remote_git;
pub mod remove_line;
