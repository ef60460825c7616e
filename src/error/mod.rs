//! The failures that a caller branches on, each with its code, its exit class and the next step; all others carry a cause.

mod kinds;
pub mod problem;

pub use kinds::{Error, Result};
