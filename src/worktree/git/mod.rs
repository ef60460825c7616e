//! Reads the project's own repository, which is never written.

pub mod find_index;
pub mod git_head;
