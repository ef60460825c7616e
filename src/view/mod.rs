//! Outcomes as text, JSON and markdown. Pure but for options in `place` and the local time zone.

pub mod answer;
pub mod columns;
pub mod contract;
pub mod document;
pub mod envelope;
pub mod error_json;
pub mod format;
pub mod limits;
pub mod patch;
pub mod place;
pub mod plan;
pub mod progress;
pub mod restore_contract;
pub mod table;
pub mod terminal;
pub mod topics;
pub mod version;
pub mod words;
pub mod yaml;
