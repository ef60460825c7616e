//! `setup`: our entries in the settings of agents, put in and taken out again.
//!
//! `plan` compares what each agent should have (`agent_files`, made of `hook_tables`, the
//! `command_line` and the texts) with what is there; `act` carries it out. `shared_hooks` are
//! entries in a file that others write too, edited by `json_edit`. `record` keeps what was written,
//! `places` says where, and `managed` what an organization forbids.

pub mod act;
pub mod agent_files;
pub mod command_line;
pub mod hook_tables;
pub mod json_edit;
pub mod managed;
pub mod places;
pub mod plan;
pub mod record;
pub mod shared_hooks;
