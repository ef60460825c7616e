//! Damage: finds it, recovers from it under the lock, and salvages all that is still readable.

pub mod check;
pub mod check_checkpoints;
pub mod check_files;
pub mod check_objects;
pub mod recover;
pub mod replace_store;
pub mod salvage;
pub mod unindexed_packs;
