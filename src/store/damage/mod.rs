//! Damage: finds it, recovers from it under the lock, and salvages all that is still readable.

pub mod check;
pub mod check_checkpoints;
pub mod check_files;
pub mod check_objects;
pub mod check_report;
pub mod check_workflows;
pub mod left_behind;
pub mod recover;
pub mod replace_store;
pub mod salvage;
pub mod salvage_objects;
pub mod salvage_refs;
pub mod unindexed_packs;
mod unusable_files;
