//! Git trees from a listing, and a state by path from git trees.

pub mod convert;
pub mod database_tree;
pub mod digest;
pub mod meta_tree;
pub mod tree_codec;
pub mod tree_memo;
