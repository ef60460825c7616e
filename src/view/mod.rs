//! Outcomes as text: for people, for programs, for markdown. Pure.

pub mod columns;
pub mod contract;
pub mod databases;
pub mod diffstat;
pub mod format;
pub mod human;
pub mod json;
pub mod origin;
pub mod patch;
pub mod place;
pub mod plan;
pub mod restore_contract;
pub mod schema;
pub mod table;
pub mod terminal;
pub mod topics;
pub mod yaml;
