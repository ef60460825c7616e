//! One verb a file: options in, outcome out. Here store and worktree meet; nothing is printed.

pub mod capture;
pub mod carry_out;
pub mod config;
pub mod context;
pub mod create;
pub mod delete;
pub mod delete_store;
pub mod gate;
pub mod left_out;
pub mod list;
pub mod orphans;
pub mod pin;
pub mod prune;
pub mod record;
pub mod restore;
pub mod restore_paths;
pub mod restore_run;
pub mod restore_terms;
pub mod session;
pub mod size_limit;
pub mod status;
pub mod stores;
pub mod target;
pub mod tidy;
pub mod warning;
