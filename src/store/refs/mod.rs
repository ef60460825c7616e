//! Refs as files, the checkpoints that they name, and the order in which one is recorded.

pub mod adopt;
pub mod adopted_sequence;
pub mod commit_codec;
pub mod commit_index;
pub mod commit_reader;
pub mod inventory;
pub mod manifest_file;
pub mod packed_refs_lock;
pub mod plain_git;
pub mod recording;
pub mod ref_files;
