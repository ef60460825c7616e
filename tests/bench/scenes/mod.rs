//! The measured paths.

pub mod cold;
pub mod plain;
pub mod prune;
pub mod restore;
pub mod seats;
pub mod series;
pub mod warm;
