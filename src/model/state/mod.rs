//! The state of a directory: paths, entries, listings, snapshots, and the meta beside a git tree.

pub mod database;
pub mod entry;
pub mod listing;
pub mod meta;
pub mod object_id;
pub mod rel_path;
pub mod scope;
pub mod snapshot;
pub mod state_document;
