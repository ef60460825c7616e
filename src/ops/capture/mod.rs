//! The one place that turns the working directory into blobs and trees. Here worktree and store meet.

pub mod crew;
pub mod focus;
pub mod gather;
pub mod heedful;
pub mod held_state;
pub mod key_watch;
pub mod left_out;
pub mod pipeline;
pub mod present;
pub mod read_unknown;
pub mod rules_today;
pub mod sink;
