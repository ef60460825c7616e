//! The work on one event of an agent.
//!
//! `handle` decides what an event means; `anchor` makes its checkpoint; `start` tells a new session
//! what is here; `text` makes the words that are recorded.

pub mod anchor;
pub mod handle;
pub mod start;
pub mod text;
