//! The documents of a run in the project: found, read, told apart and written.

pub mod classify;
pub mod conflict;
pub mod drift;
pub mod find_documents;
pub mod git_ignored;
pub mod leftovers;
pub mod run_owner;
pub mod shims;
pub mod sync;
pub mod write_documents;
