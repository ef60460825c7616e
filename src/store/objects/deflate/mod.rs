//! Makes and reads zlib streams fast; content that does not shrink is stored.

#[cfg(feature = "isal")]
mod fast_isal;
#[cfg(not(feature = "isal"))]
mod fast_libdeflate;
mod inflate;
mod libdeflate;
mod storer;
mod stream;
pub mod zlib;

#[cfg(feature = "isal")]
use fast_isal as fast;
#[cfg(not(feature = "isal"))]
use fast_libdeflate as fast;
