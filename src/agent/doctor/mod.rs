//! `doctor`: looks at the directory and its store, and mends what it can.

pub mod check;
pub mod store_checks;
