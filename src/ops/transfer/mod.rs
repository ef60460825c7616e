//! Checkpoints on their way to another store, and from it.

pub mod export;
pub mod import;
