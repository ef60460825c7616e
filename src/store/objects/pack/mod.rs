//! Packs: their format, readers and writers.

pub mod delta;
pub mod pack_delta;
pub mod pack_index;
pub mod pack_list;
pub mod pack_publish;
pub mod pack_reader;
pub mod pack_walk;
pub mod pack_writer;
