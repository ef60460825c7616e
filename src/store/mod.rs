//! The store: a bare git repository of our own with one ref per checkpoint. It knows nothing of
//! working directories.

pub mod damage;
pub mod files;
pub mod gc;
pub mod layout;
pub mod lifecycle;
pub mod lock;
pub mod locked;
pub mod objects;
pub mod refs;
pub mod repository;
pub mod runs;
pub mod small_files;
pub mod transfer;
pub mod trees;
