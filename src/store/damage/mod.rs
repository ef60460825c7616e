//! Damage: finding it, mending it, and saving what can still be read.

pub mod check;
pub mod check_files;
pub mod check_objects;
pub mod check_states;
pub mod check_workflows;
pub mod left_behind;
pub mod recover;
pub mod rescue;
pub mod salvage;
pub mod salvage_objects;
pub mod salvage_refs;
pub mod swap;
