//! Files that this program writes below the root: logs, documents, private directories.

pub mod private_dir;
pub mod state_file;
