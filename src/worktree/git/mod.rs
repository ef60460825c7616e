//! What is read of the project's own repository, which is never written.

pub mod git_head;
pub mod git_index;
