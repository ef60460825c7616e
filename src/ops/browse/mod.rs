//! Looking at checkpoints and at the directory; nothing is changed.

pub mod bisect;
pub mod cat;
pub mod config;
pub mod diff;
pub mod find;
pub mod history;
pub mod list;
pub mod status;
