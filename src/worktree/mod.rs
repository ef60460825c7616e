//! The user's directory: what stands in it, what of it is captured, and how it is changed. It knows no store.

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
