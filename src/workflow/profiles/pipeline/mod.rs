//! The pipeline profile: one file with completed, current and remaining phases.

mod listing;
mod paths;
mod read;
mod take;
mod write;

pub use paths::{ARCHIVE, FILE};
pub use take::{begin, take};
pub use write::export;
