//! References as files: the name of a ref under `refs/checkpoints` is itself the commit, so a torn file loses nothing.
//!
//! Refs are read and written here and not through libgit2, because libgit2 passes over a damaged ref in silence
//! and one bad line in `packed-refs` hides all of them from it.

pub mod adopt;
pub mod adopted_places;
pub mod commit_cache;
pub mod commit_codec;
pub mod commit_reader;
pub mod inventory;
pub mod plain_git;
pub mod recording;
pub mod ref_files;
