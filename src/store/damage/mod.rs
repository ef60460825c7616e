//! Damage: finding it, mending it, and saving what can still be read.

pub mod check;
pub mod check_checkpoints;
pub mod check_files;
pub mod check_objects;
pub mod check_store;
pub mod check_workflows;
pub mod recover;
pub mod replace_store;
pub mod salvage;
pub mod salvage_backlog;
pub mod salvage_objects;
pub mod salvage_refs;
pub mod unindexed_packs;
