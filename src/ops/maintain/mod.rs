//! Maintenance of a store: disk space, damage, moved roots, deletion.

pub mod auto_gc;
pub mod delete;
pub mod delete_store;
pub mod moved;
pub mod orphans;
pub mod pin;
pub mod prune;
pub mod relink;
pub mod repair;
pub mod room;
pub mod size_limit;
pub mod stores;
pub mod verify;
