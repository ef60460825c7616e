//! `find PATTERN`: which checkpoints hold or changed a path, newest first.

pub mod find_path;
pub mod find_pattern;
pub mod find_text;
pub mod text_search;
