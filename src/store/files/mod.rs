//! Files and directories of a store: private, durable, replaced whole or not at all.

pub mod atomic_file;
pub mod checksummed_text;
pub mod directories;
pub mod read_regular;
pub mod scratch;
