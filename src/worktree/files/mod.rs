//! Files written below the root for others: logs, documents, directories of our own.

pub mod append;
pub mod new_file;
pub mod private_dir;
pub mod state_file;
