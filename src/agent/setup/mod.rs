//! `setup`: our entries in the settings of agents, put in and taken out again.
//!
//! `plan` compares what each agent should have (`agent_files`, made of `hook_tables`, the
//! `command_line`, the `servers` and the texts) with what is there; `act` carries it out.
//! `shared_entries` are those in a file that others write too: `shared_hooks` and an entry of
//! `servers`; JSON is edited by `json_edit`. `record` keeps what was written,
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
pub mod servers;
pub mod shared_entries;
pub mod shared_hooks;
