//! The object database: packs, loose files, and access to damaged ones.

pub mod deflate;
pub mod id_set;
pub mod loose_files;
pub mod object_hash;
pub mod odb;
pub mod pack;
