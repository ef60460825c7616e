//! The phases profile: a phase file, and a file for the tasks in the phase.

mod execution;
mod progress;
mod read;
mod take;
mod write;

pub use progress::{known_names, named_unbegun};
pub use take::{begin, take};
pub use write::{ARCHIVE, export};
