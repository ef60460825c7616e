//! Databases beside the files of a checkpoint.

pub mod backup;
pub mod restore_databases;
