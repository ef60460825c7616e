//! The object database: packs, loose files, and access to damaged ones.

pub mod base_cache;
pub mod catalogue;
mod damage_notes;
pub mod deflate;
mod delta_rebuild;
pub mod id_set;
pub mod libgit2_fallback;
pub mod loose_files;
pub mod object_error;
pub mod object_hash;
pub mod odb;
pub mod pack;
mod quick_read;
mod stream_blob;
