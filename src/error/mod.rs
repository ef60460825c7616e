//! The failures that a caller branches on, each with message, code and next step; all others carry
//! a cause.

mod hint;
mod kinds;
pub mod problem;
pub mod sentence;
mod words;

pub use kinds::{Error, Result};
pub use words::{Instead, Obstacle, StoreFlaw};
