//! Maintenance of a store: disk space, damage, moved roots, deletion.

pub mod delete;
pub mod moved;
pub mod pin;
pub mod prune;
pub mod repair;
pub mod room;
pub mod size_limit;
pub mod stores;
pub mod verify;
