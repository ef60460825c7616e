//! `diff`: what two checkpoints hold differently, or a checkpoint and the working directory.

pub mod compare;
pub mod diff_side;
pub mod file_diff;
pub mod text_diff;
pub mod version;
