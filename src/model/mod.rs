//! Data and rules, pure: no file, no clock, no git library is known here.

pub mod default_rules;
pub mod entry;
pub mod listing;
pub mod object_id;
pub mod rel_path;
pub mod snapshot;
pub mod text;
