//! Small files of a store beside its objects and refs.

pub mod hook_log;
pub mod journal;
pub mod later_notes;
pub mod size_gate;
pub mod stat_cache;
