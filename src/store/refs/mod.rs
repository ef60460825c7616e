//! Refs as files, the checkpoints that they name, and the order in which one is recorded.

pub mod adopt;
pub mod commit_codec;
pub mod commit_index;
pub mod commit_reader;
pub mod inventory;
pub mod recording;
pub mod ref_files;
