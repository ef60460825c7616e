//! One binary for all tests of the built program; each file covers one command or one promise.
//!
//! `CHECKPOINT_CASES=2000` tries that many random cases in every test that makes up its own, those
//! within the library among them, `CHECKPOINT_CASES=10x` ten times the default.
//! `CHECKPOINT_TEST_FULL=1` tries every case instead of a sample, which `CHECKPOINT_SEED` draws.
//! `CHECKPOINT_REPOS=a:b` names real repositories to walk through, `CHECKPOINT_CALLGRIND=1` counts
//! instructions, of a build as `.ci/run` makes it, `CHECKPOINT_PROGRAM=FILE` tests that program and
//! not the one built with the tests, `UPDATE_SNAPSHOTS=1` rewrites the pinned help texts.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests make and break files directly, read their own settings, and fail loudly in helpers too"
)]

mod adoption;
mod agents;
#[cfg(unix)]
mod audit;
mod bad_index;
mod bench;

mod baseline;
mod below_root;
#[cfg(unix)]
mod bisect;
#[cfg(unix)]
mod cat;
#[cfg(unix)]
mod check;
mod completions;
#[cfg(unix)]
mod config;
mod consent;
#[cfg(unix)]
mod contract;
mod copies;
mod create;
mod ctrl_c;
mod damage_matrix;
#[cfg(feature = "sqlite")]
#[cfg(unix)]
mod databases;
#[cfg(feature = "sqlite")]
mod databases_named;
#[cfg(unix)]
mod dedup;
#[cfg(unix)]
mod delete;
mod deltas;
mod derived;
#[cfg(unix)]
mod diff;
mod diff_history;
mod diff_oracle;
#[cfg(unix)]
mod diff_random;
mod doctor;
mod eviction;
mod examples;
mod exit_codes;
#[cfg(unix)]
mod find;
#[cfg(unix)]
mod find_text;
mod folding;
mod fuse;
mod fuzz_corpus;
mod growth;
#[cfg(unix)]
mod guard;
mod help;
mod hints;
mod hold;
mod hook;
#[cfg(unix)]
mod hook_lost;
mod hook_recorded;
mod hook_words;
#[cfg(unix)]
mod hostile_env;
mod hostile_terminal;
#[cfg(unix)]
mod hostile_tree;
mod huge;
#[cfg(unix)]
mod ignore_rules;
mod interrupted;
mod invariants;
#[cfg(unix)]
mod json_commands;
#[cfg(unix)]
mod json_contract;
#[cfg(unix)]
mod json_fields;
mod keep_policy;
#[cfg(unix)]
mod layers;
mod list;
#[cfg(unix)]
mod list_all;
mod lost_rows;
mod man;
mod many_checkpoints;
mod max_store_size;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
#[cfg(unix)]
mod mcp_hostile;
#[cfg(feature = "mcp")]
mod mcp_restore;
mod meanwhile;
mod nested_repos;
mod newer_formats;
mod no_forgotten_files;
#[cfg(unix)]
mod nothing_to_do;
#[cfg(unix)]
mod orphaned;
mod pager;
#[cfg(unix)]
mod partial;
mod picker;
mod picture;
mod pin;
#[cfg(unix)]
mod place;
mod plain_git;
mod plan_property;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
mod printed_commands;
mod progress;
mod promises;
mod prune;
mod questions;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod real_history;
#[cfg(unix)]
mod refused_roots;
#[cfg(unix)]
mod regressions;
mod relink;
#[cfg(unix)]
mod restore;
#[cfg(unix)]
mod restore_reads;
#[cfg(unix)]
mod restore_to;
mod retention;
mod retention_plan;
mod reword;
#[cfg(unix)]
mod roundtrip;
mod rules;
mod safety;
#[cfg(unix)]
mod salvage;
#[cfg(unix)]
mod scoped;
mod screens;
mod secrets;
#[cfg(unix)]
mod selectors;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod setup_failures;
#[cfg(unix)]
mod setup_kills;
#[cfg(unix)]
mod setup_plugins;
#[cfg(unix)]
mod setup_servers;
#[cfg(unix)]
mod setup_shared;
mod shape;
mod shortage;
mod show;
mod size_gate;
mod source;
#[cfg(unix)]
mod specials;
mod status;
mod statusline;
#[cfg(unix)]
mod store_objects;
mod stores_in_tree;
mod sweep;
mod system_calls;
mod terminal_words;
mod undo_redo;
mod verify;
mod version_0_1;
mod workflow_archived;
mod workflow_by_hand;
mod workflow_choices;
mod workflow_cost;
mod workflow_documents;
mod workflow_examples;
mod workflow_files;
mod workflow_json;
mod workflow_kills;
#[cfg(unix)]
mod workflow_odd_files;
mod workflow_packs;
mod workflow_protocols;
#[cfg(unix)]
mod workflow_race;
mod workflow_recovery;
mod workflow_refs;
mod workflow_rewind;
mod workflow_shims;
mod workflow_store;
mod workflow_terminal_phases;
mod workflow_terminal_pipeline;
mod workflow_terminal_registry;
mod workflow_unsound;
mod workflow_waves;
#[cfg(unix)]
mod worktree;
mod wrong_usage;
