//! Git trees: builds, reads and compares them, and handles the extras beside them.

pub mod convert;
pub mod digest;
pub mod meta_tree;
pub mod tree_codec;
pub mod tree_extent;
pub mod tree_walk;
