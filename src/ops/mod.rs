//! Operations by purpose: options in, outcome out. Store and worktree meet; nothing is printed.

pub mod browse;
pub mod capture;
pub mod context;
pub mod contract;
pub mod create;
pub mod database;
pub mod find_root;
pub mod locate_store;
pub mod maintain;
pub mod open_store;
pub mod own_files;
pub mod restore;
pub mod select;
pub mod session;
pub mod transfer;
pub mod warning;
