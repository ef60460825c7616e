//! The store: objects in packs, and how they are written, read and given up.

pub mod commit_codec;
pub mod deflate;
pub mod durable;
pub mod hash;
pub mod loose_files;
pub mod object_error;
pub mod objects;
pub mod pack_error;
pub mod pack_index;
pub mod pack_list;
pub mod pack_publish;
pub mod pack_reader;
pub mod pack_writer;
pub mod repack;
pub mod repack_plan;
pub mod survey;
pub mod sweep;
pub mod tree_codec;
