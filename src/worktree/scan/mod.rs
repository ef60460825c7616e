//! The scan: a walk by several threads, and reading files that do not change meanwhile.

mod assemble;
mod enter_dir;
pub mod extend;
pub mod read;
mod scan_dir;
pub mod scanner;
pub mod touched;
pub mod walk;
