//! `find`: the checkpoints that hold or changed a path, or that have a text in them.

pub mod find_path;
pub mod find_pattern;
pub mod find_text;
pub mod text_search;
