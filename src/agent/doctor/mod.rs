//! `doctor`: looks at the directory and its store, and mends what it can.
//!
//! `store_checks` looks; a `check` is one result of it.

pub mod check;
pub mod store_checks;
