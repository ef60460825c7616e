//! One function a command: options in, the operation, its outcome out as text and exit code.

pub mod audited;
pub mod bisect;
pub mod cat;
pub mod config;
pub mod create;
pub mod delete;
pub mod diff;
pub mod find;
pub mod guard;
pub mod help;
pub mod hold;
pub mod list;
pub mod phase;
pub mod pin;
pub mod prune;
pub mod relink;
pub mod restore;
pub mod schema;
pub mod shell;
pub mod show;
pub mod status;
pub mod verify;
pub mod workflow;
pub mod workflow_resume;
