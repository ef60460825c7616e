//! The sessions of agents: where a checkpoint comes from, and what was noted of each session.

pub mod notes;
pub mod provenance;
pub mod redact;
