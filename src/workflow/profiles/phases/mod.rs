//! The phases profile: a phase file, and a file for the tasks in the phase.

mod execution;
mod read;
mod standing;
mod take;
mod write;

pub use standing::{known_names, named_unbegun};
pub use take::{begin, take};
pub use write::{ARCHIVE, export};
