//! `doctor`: looks at the directory and its store, and mends what it can.
//!
//! `store_checks` and `agent_checks` look; a `check` is one result.

pub mod agent_checks;
pub mod check;
pub mod store_checks;
