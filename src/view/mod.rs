//! Outcomes as text: for people, for programs, for markdown. Pure.

pub mod format;
pub mod human;
pub mod json;
pub mod plan;
pub mod shell_word;
pub mod table;
