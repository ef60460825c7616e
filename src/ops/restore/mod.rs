//! `restore`, `undo`, `redo` and `restore --resume`: which state is wanted, and what is said about the end.

pub mod aftermath;
pub mod carry_out;
pub mod commands;
pub mod confirmation;
pub mod new_trees;
pub mod prospect;
pub mod restore_paths;
pub mod restore_run;
pub mod restore_terms;
pub mod restore_to;
pub mod staging;
pub mod steps;
pub mod target;
pub mod write_out;
