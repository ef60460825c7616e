//! What the words of a command name: checkpoints, and paths in them or in the directory.

pub mod checkpoint;
pub mod words;
