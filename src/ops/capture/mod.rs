//! From the working directory to blobs and trees: where worktree and store meet to read.

pub mod gather;
pub mod hash_files;
pub mod lazy_snapshot;
pub mod left_out;
pub mod monitor;
pub mod pipeline;
pub mod present;
pub mod sink;
