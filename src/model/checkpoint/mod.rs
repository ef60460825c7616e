//! Checkpoints as data: record, selectors, retention, undo, and manifest.

pub mod adopted;
pub mod alias;
pub mod baseline;
pub mod bisection;
pub mod hold;
pub mod keep_policy;
pub mod limits;
pub mod line;
pub mod manifest;
pub mod message;
pub mod mismatch;
pub mod record;
pub mod retention;
pub mod selector;
pub mod terms;
pub mod undo_stack;
