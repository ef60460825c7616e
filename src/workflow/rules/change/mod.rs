//! The transitions of a run: each is checked against the rules and returns the next state, or why
//! it is refused.

mod apply;
mod kinds;
pub mod phases;
mod settings;
mod tasks;

pub use kinds::{Change, Finish, Note, PhaseChange, Start, TaskChange};

#[cfg(test)]
mod tests;
