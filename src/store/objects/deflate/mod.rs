//! Makes and reads zlib streams fast; content that does not shrink is stored.

mod inflate;
mod stream;
pub mod zlib;
