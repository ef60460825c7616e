//! Checkpoints on the way between stores, as git bundles: `header` is the text in front,
//! `write_bundle` streams the objects out, `receive` takes a bundle into a quarantine, `take_over`
//! checks it there and adds it to the store.

pub mod header;
pub mod receive;
pub mod take_over;
pub mod tree_extent;
pub mod write_bundle;
