//! The profile files of runs in the project: found, read, classified and written.

pub mod classify;
pub mod conflict;
pub mod drift;
pub mod find_documents;
pub mod git_ignored;
pub mod import_edits;
pub mod leftovers;
pub mod run_owner;
pub mod write_documents;
