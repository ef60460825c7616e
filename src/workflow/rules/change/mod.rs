//! The transitions of a run: each is checked against the rules and returns the next state, or why
//! it is refused.

mod apply;
mod kinds;
pub mod phases;
mod settings;
mod tasks;

pub use kinds::{Change, Note, PhaseChange, TaskChange};
pub use phases::{Finish, Start};

#[cfg(test)]
mod tests;
