//! Changes to the directory: content completed in a stage, forward steps, and rollback.

pub mod apply_steps;
mod case_folding;
mod dir_opener;
mod forward;
pub mod materialize;
pub mod refusals;
mod rollback;
pub mod stage;
pub mod transaction;
pub mod verify_path;
