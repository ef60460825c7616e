//! Workflows in the store: each is a line of commits under a ref of its own.

pub mod projected;
pub mod workflow_refs;
pub mod workflow_roll;
pub mod workflow_salvage;
pub mod workflow_writes;
pub mod workflows;
