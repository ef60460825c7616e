//! Checkpoints on their way to another store, and from it.

pub mod bundle;
pub mod clone;
pub mod fetch;
pub mod push;
pub mod remote;
pub mod remote_git;
pub mod remove_line;
