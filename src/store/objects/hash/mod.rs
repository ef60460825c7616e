//! Hashes: ids of objects with collision detection, and the plain SHA-1 of packs and indexes.

pub mod object_hash;
