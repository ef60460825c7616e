//! Data and rules, pure: no file, no clock, no git library is known here.

pub mod bisection;
pub mod checkpoint;
pub mod default_rules;
pub mod ended;
pub mod entry;
pub mod interrupt;
pub mod listing;
pub mod manifest;
pub mod message;
pub mod meta;
pub mod meta_text;
pub mod object_id;
pub mod obstacle;
pub mod rel_path;
pub mod restore_plan;
pub mod retention;
pub mod selector;
pub mod snapshot;
pub mod steps;
pub mod text;
pub mod time;
pub mod tree_change;
