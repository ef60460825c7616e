//! Runs of phases in words: the layouts and the questions that each profile's readers know.

pub mod findings;
pub mod json;
pub mod listing;
pub mod outcomes;
pub mod questions;
pub mod summary;
