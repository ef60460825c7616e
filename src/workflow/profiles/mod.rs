//! Profiles: the formats of other programs in which a run can be kept, read and written exactly.

mod adopt;
pub mod dispatch;
pub mod format;
pub mod phases;
pub mod pipeline;
pub mod registry;
#[cfg(test)]
mod tests;
