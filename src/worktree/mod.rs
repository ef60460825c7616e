//! The user's directory: what of it is captured, how it is read, and how it is changed.

pub mod git_index;
pub mod rules;
