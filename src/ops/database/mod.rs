//! Databases beside the files of a checkpoint.

pub mod backup;
pub mod database_command;
pub mod database_names;
pub mod database_write;
pub mod restore_databases;
