//! Garbage collection: finds live objects and frees the space of the rest.

pub mod blob_versions;
pub mod delta_make;
pub mod delta_plan;
pub mod delta_write;
pub mod disk_usage;
pub mod last_gc;
pub mod mark;
pub mod merge_small_packs;
pub mod pack_usage;
pub mod reach;
pub mod rejected_bases;
pub mod repack;
pub mod repack_plan;
pub mod sweep;
