//! One verb a file: options in, outcome out. Here store and worktree meet; nothing is printed.

pub mod capture;
pub mod carry_out;
pub mod cat;
pub mod context;
pub mod create;
pub mod diff;
pub mod diff_side;
pub mod file_diff;
pub mod gate;
pub mod left_out;
pub mod list;
pub mod present;
pub mod prune;
pub mod record;
pub mod restore;
pub mod restore_paths;
pub mod restore_run;
pub mod restore_terms;
pub mod session;
pub mod status;
pub mod stores;
pub mod target;
pub mod text_diff;
pub mod tidy;
pub mod warning;
