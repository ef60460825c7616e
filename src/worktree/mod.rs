//! The user's directory: scanned, filtered by rules, and changed. Knows no store.

pub mod apply;
pub mod destination;
pub mod files;
pub mod git;
pub mod root;
pub mod rules;
pub mod scan;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(not(feature = "sqlite"))]
#[path = "sqlite_absent.rs"]
pub mod sqlite;
pub mod sys;
pub mod tree_handle;
