//! Changes the directory as a plan says: all of it, or nothing.
//!
//! No byte of the user's is overwritten or unlinked here. What must go is renamed or exchanged into the stage, compared
//! there with what the plan expected, and waits until the caller has closed its journal. Any difference or failure
//! takes back every step done.

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
