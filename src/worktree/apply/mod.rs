//! Changing the directory: content made complete in a stage, steps forward, and the way back.

pub mod apply_steps;
mod case_folding;
mod dir_opener;
mod forward;
pub mod materialize;
mod rollback;
pub mod stage;
pub mod stage_removal;
pub mod transaction;
pub mod unfinished;
pub mod verify_path;
pub mod write_back;
