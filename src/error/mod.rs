//! The one type of failures, with a table of codes; commands in its sentences are words.

mod code;
mod constructors;
mod failure;
pub mod sentence;
mod words;

pub use code::Code;
pub use failure::{Choice, Error, Failure, More, Result, RunDetails};
pub use words::{Instead, Obstacle, StoreFlaw, behind_link};
