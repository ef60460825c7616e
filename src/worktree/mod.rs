//! The user's directory: what stands in it, what of it is captured, and how it is changed. It knows no store.

pub mod append;
pub mod apply;
pub mod apply_plan;
mod apply_run;
mod assemble;
pub mod destination;
pub mod extend;
pub mod git_head;
pub mod git_index;
pub mod materialize;
pub mod new_file;
mod one_place;
pub mod private_dir;
mod reach;
pub mod read;
mod rollback;
pub mod root;
pub mod rules;
pub mod scan;
mod scan_dir;
mod share;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(not(feature = "sqlite"))]
#[path = "sqlite_absent.rs"]
pub mod sqlite;
pub mod stage;
pub mod stage_removal;
pub mod state_file;
pub mod sys;
pub mod tree_handle;
pub mod unfinished;
pub mod verify;
mod walk;
pub mod write_back;
