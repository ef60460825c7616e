//! Data and rules, pure: no file, no clock, no git library is known here.

pub mod adopted;
pub mod base85;
pub mod checkpoint;
pub mod default_rules;
pub mod difference;
pub mod entry;
pub mod git_index;
pub mod interrupt;
pub mod listing;
pub mod manifest;
pub mod message;
pub mod meta;
pub mod meta_text;
pub mod object_id;
pub mod obstacle;
pub mod quoting;
pub mod rel_path;
pub mod restore_plan;
pub mod retention;
pub mod selector;
pub mod shell;
pub mod snapshot;
pub mod steps;
pub mod text;
pub mod time;
pub mod tree_change;
