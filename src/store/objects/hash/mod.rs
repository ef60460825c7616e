//! Hashes: ids of objects with collision detection, and the plain SHA-1 of packs and indexes.

mod checked;
mod conditions;
mod filter;
pub mod object_hash;
mod recompress;
mod wide;
