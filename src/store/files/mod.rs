//! Files and directories of a store: private, durable, replaced whole or not at all.

pub mod atomic_file;
pub mod checksummed_text;
pub mod directories;
pub mod scratch;

pub use crate::base::read_regular;
