//! How a store is made, recognized as ours, moved and removed.

pub mod description;
pub mod init;
pub mod ownership;
pub mod relocate;
pub mod removal;
