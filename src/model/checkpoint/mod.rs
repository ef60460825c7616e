//! A recorded state of the root: what a checkpoint is, apart from how it is stored.

pub mod adopted;
pub mod alias;
pub mod baseline;
pub mod bisection;
pub mod hold;
pub mod manifest;
pub mod message;
pub mod record;
pub mod retention;
pub mod selector;
pub mod terms;
pub mod undo_stack;
