//! Checkpoints as data: record, selectors, retention, undo, and manifest.

pub mod bisection;
pub mod hold;
pub mod limits;
pub mod line;
pub mod manifest;
pub mod message;
pub mod record;
pub mod retention;
pub mod selector;
pub mod undo_stack;
