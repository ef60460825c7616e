//! Garbage collection: what is still needed, and giving back the room of the rest.

pub mod delta_make;
pub mod delta_plan;
pub mod delta_write;
pub mod fold_packs;
pub mod mark;
pub mod reach;
pub mod repack;
pub mod repack_plan;
pub mod survey;
pub mod sweep;
pub mod tidied;
pub mod unlike;
pub mod usage;
pub mod versions;
pub mod weight;
