//! Profiles: the formats of other programs in which a run can be kept, read and written exactly.

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
