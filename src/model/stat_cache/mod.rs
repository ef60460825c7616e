//! The stat cache as bytes: written and read in place.

pub mod kept_block;
pub mod kept_listing;
pub mod kept_rest;
pub mod kept_write;
