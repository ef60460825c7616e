//! Runs in the store: each is a line of commits under a ref of its own.

pub mod run_line;
pub mod run_refs;
