//! `diff`: its two sides, what differs between them, and the hunks of each file.

pub mod compare;
pub mod diff_side;
pub mod file_diff;
pub mod text_diff;
