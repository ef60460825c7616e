//! `restore`, `undo`, `redo` and `restore --resume`: the protocol of every restore, and its steps.

pub mod commands;
pub mod companions;
pub mod listing_after_restore;
pub mod planned_restore;
pub mod protocol;
pub mod restore_options;
pub mod restore_patch;
pub mod restore_paths;
pub mod staging;
pub mod target;
pub mod to_directory;
pub mod verify_written;
pub mod write_out;
