//! Small files of a store beside its objects and refs.

pub mod agent_sessions;
pub mod holds;
pub mod hook_log;
pub mod journal;
pub mod origins;
pub mod rewords;
pub mod size_gate;
pub mod stat_cache;
pub mod stat_cache_head;
