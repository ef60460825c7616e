//! What differs on Windows: spellings of paths, and files in use. Elsewhere all of it does nothing.

pub mod retry;
pub mod verbatim;
