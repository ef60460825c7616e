//! Guarantees for agents: contracts of what was done, the guard before a change, holds, and the
//! audit trail.

pub mod audit;
pub mod create_facts;
pub mod guard;
pub mod hold;
