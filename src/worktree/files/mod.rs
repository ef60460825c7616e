//! Files written below the root for others: logs, documents, directories of our own.

pub mod private_dir;
pub mod state_file;
