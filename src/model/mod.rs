//! Pure data and rules: no file access, no clock, no git library.

pub mod checkpoint;
pub mod command_end;
pub mod default_rules;
pub mod difference;
pub mod git_index;
pub mod json;
pub mod patch;
pub mod path_filter;
pub mod path_pattern;
pub mod restore_plan;
mod restore_planner;
pub mod rules_stamp;
pub mod run_id;
pub mod session;
pub mod stat_cache;
pub mod state;
pub mod transition;
