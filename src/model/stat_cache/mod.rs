//! The stat cache as bytes: written and read in place.

pub mod cache_writer;
pub mod cached_block;
pub mod cached_listing;
pub mod summary;
