//! Rules for which paths are captured: compiled-in secrets, the user's patterns, ignore files and
//! the store's list, in this order.

mod chain;
mod pattern_list;
pub mod rule_set;
mod secrets;
pub(in crate::worktree) mod tracked;

pub use secrets::may_be_secret;
