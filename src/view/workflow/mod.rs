//! Workflow commands as text, in the layouts and questions that each profile's users know.

pub mod answers;
pub mod findings;
pub mod json;
pub mod listing;
pub mod outcomes;
pub mod questions;
pub mod run_json;
pub mod summary;
