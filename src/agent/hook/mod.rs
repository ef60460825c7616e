//! The work on one event of an agent.
//!
//! `handle` decides what an event means and makes its checkpoint; `marks` are what is remembered
//! outside the store; `start` tells a new session what is here; `text` makes the words
//! that are recorded.

pub mod handle;
pub mod marks;
pub mod start;
pub mod text;
