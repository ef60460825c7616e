//! The one type of failures, with a table of codes; commands in its sentences are words.

mod constructors;
mod failure;
pub mod sentence;
mod words;

pub use sentence::{CommandWords, Sentence};

pub use failure::{Choice, Code, Error, Failure, More, Result, RunDetails};
pub use words::{Instead, Obstacle, StoreFlaw, behind_link};

/// Exit codes of outcomes, and of failures that have no code of their own.
pub mod exit_code {
    pub const DONE: u8 = 0;
    pub const FAILED: u8 = 1;
    /// `diff --exit-code` found differences. With it, failures are `FAILED_TO_COMPARE`.
    pub const DIFFERENT: u8 = 1;
    pub const FAILED_TO_COMPARE: u8 = 128;
    pub const USAGE: u8 = 2;
    pub const REFUSED: u8 = 4;
    pub const PARTIAL: u8 = 5;
    pub const DAMAGED: u8 = 6;
}
