//! Databases beside the files of a checkpoint.

pub mod database_command;
pub mod database_names;
pub mod database_return;
pub mod database_take;
pub mod database_write;
