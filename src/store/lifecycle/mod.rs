//! How a store is made, recognized as ours, moved and removed.

pub mod description;
pub mod guard;
pub mod relocate;
pub mod removal;
pub mod skeleton;
