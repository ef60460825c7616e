//! The scan of the whole directory: what is captured and what is not, by as many threads as are worth it.

mod assemble;
pub mod extend;
pub mod read;
mod scan_dir;
pub mod scanner;
pub mod shared;
pub(super) mod walk;
