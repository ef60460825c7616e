//! The words in which the programs of agents tell an event, and in which they are answered.
//!
//! An `event` is the normal form; `read` makes it from a document, `answer` renders the reply.

pub mod answer;
pub mod event;
pub mod read;
