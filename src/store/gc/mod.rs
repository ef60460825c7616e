//! Garbage collection: finds live objects and frees the space of the rest.

pub mod deltas;
pub mod disk_usage;
pub mod merge_small_packs;
pub mod reach;
pub mod repack;
pub mod repack_plan;
pub mod sweep;
