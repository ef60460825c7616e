//! The commands of a run: each reads the state, makes one transition and records it.

pub mod end;
pub mod exchange;
pub mod init;
pub mod observe;
pub mod phase;
pub mod report;
pub mod resume;
pub mod rewind;
pub mod runs;
pub mod transact;
pub mod work;
