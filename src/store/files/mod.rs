//! Files and directories of a store: private, durable, replaced whole or not at all.

pub mod directories;
pub mod durable;
pub mod plain_file;
pub mod scratch;
pub mod summed;
