//! Git trees: made from a listing, read back, compared, and what lies beside them.

pub mod convert;
pub mod database_tree;
pub mod digest;
pub mod meta_tree;
pub mod tree_codec;
pub mod tree_memo;
