//! `setup`: our entries in the settings of agents, put in and taken out again.
//!
//! The table `agents.toml` says what each agent gets and where (`agents`); `agent_files` makes the
//! files of it, `plan` compares them with what is there, `act` carries it out. In a file that others
//! write too ours is known by the program that it calls (`settings_json`, `settings_toml`, the
//! `command_line`), a text of ours alone by its last line (`own_text`). `json_edit` edits JSON, and
//! `managed` says what an organization forbids.

pub mod act;
pub mod agent_files;
pub mod agents;
pub mod command_line;
pub mod json_edit;
pub mod managed;
pub mod own_text;
pub mod plan;
pub mod settings_json;
pub mod settings_toml;
