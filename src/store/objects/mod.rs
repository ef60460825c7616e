//! Reading objects by id: own packs first, then loose and deltified ones, and a second look at what is damaged.

pub mod base_cache;
pub mod catalogue;
pub mod deflate;
pub mod foreign;
pub mod hash;
pub mod id_set;
pub mod loose_files;
pub mod object_error;
mod objects_damage;
mod objects_delta;
mod objects_quick;
pub mod odb;
pub mod pack;
