//! Small files of a store beside its objects and refs.

pub mod holds;
pub mod journal;
pub mod rewords;
pub mod size_gate;
pub mod stat_cache;
pub mod stat_cache_head;
