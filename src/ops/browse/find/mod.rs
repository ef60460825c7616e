//! `find`: the checkpoints that hold or changed a path, or contain a text.

pub mod find_path;
pub mod find_pattern;
pub mod find_text;
pub mod text_search;
