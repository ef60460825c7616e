//! The formats in which other programs keep a run, each with its files in the project: read and written exactly.

pub mod dispatch;
pub mod document;
#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod example_tests;
mod moving;
pub mod overlay;
pub mod phases;
pub mod pipeline;
pub mod pipeline_schema;
pub mod reader;
pub mod registry;
