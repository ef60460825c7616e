//! One binary for all tests of the built program; each file covers one command or one promise.
//!
//! `CHECKPOINT_CASES=2000` tries that many random cases in every test that makes up its own, those
//! within the library among them, `CHECKPOINT_CASES=10x` ten times the default.
//! `CHECKPOINT_TEST_FULL=1` tries every case instead of a sample, which `CHECKPOINT_SEED` draws.
//! `CHECKPOINT_REPOS=a:b` names repositories to walk through in place of this one, `CHECKPOINT_CALLGRIND=1` counts
//! instructions, of a build as `.ci/run` makes it, `CHECKPOINT_PROGRAM=FILE` tests that program and
//! not the one built with the tests, `UPDATE_SNAPSHOTS=1` rewrites the pinned help texts.
//!
//! `#[cfg(unix)]` stands before each test of what only Unix has: modes, FIFOs, signals, names of any
//! bytes, a POSIX shell or terminal, strace. `.ci/cross_left` names those that Wine cannot run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "tests make and break files directly, read their own settings, and fail loudly in helpers too"
)]
#![cfg_attr(
    windows,
    allow(
        dead_code,
        unused_imports,
        reason = "used by the tests of what only Unix has"
    )
)]

mod adoption;
mod bad_index;
mod bench;

mod bisect;
mod bundles;
mod bundles_hostile;
mod cat;
mod check;
#[cfg(feature = "sqlite")]
mod companions;
mod completions;
mod config;
mod contract;
mod create;
mod ctrl_c;
mod damage_matrix;
#[cfg(feature = "sqlite")]
mod databases;
mod delete;
mod diff_oracle;
mod diff_random;
mod doctor;
mod eviction;
mod examples;
mod find;
mod folding;
#[cfg(unix)]
mod fuse;
mod fuzz_corpus;
mod growth;
mod guard;
mod help;
mod hints;
mod hook;
mod hook_recorded;
mod hook_words;
mod hostile_env;
#[cfg(unix)]
mod hostile_terminal;
mod hostile_tree;
mod huge;
mod ignore_rules;
mod interrupted;
mod invariants;
mod json_contract;
mod json_fields;
mod keep_policy;
mod layers;
mod man;
mod many_checkpoints;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_hostile;
#[cfg(feature = "mcp")]
mod mcp_restore;
mod meanwhile;
mod newer_formats;
mod no_forgotten_files;
mod obstacles;
mod orphaned;
mod owners;
#[cfg(unix)]
mod pager;
mod partial;
#[cfg(unix)]
mod picker;
mod picture;
mod pin;
mod place;
mod plain_git;
mod plan_property;
#[cfg(unix)]
mod postgres;
mod printed_commands;
mod progress;
mod promises;
#[cfg(unix)]
mod questions;
mod random_kills;
mod readme;
mod real_history;
mod regressions;
mod relink;
mod remotes;
mod remotes_faults;
mod remotes_hostile;
mod remotes_servers;
mod restore;
mod restore_patch;
mod restore_reads;
mod restore_to;
mod retention;
mod retention_plan;
#[cfg(feature = "mcp")]
mod roots;
mod roundtrip;
mod rules;
mod run;
mod salvage;
#[cfg(unix)]
mod screens;
mod setup;
mod setup_failures;
mod setup_plugins;
mod setup_servers;
mod setup_shared;
mod shape;
#[cfg(unix)]
mod shortage;
mod source;
mod specials;
#[cfg(target_os = "linux")]
mod store_moves;
mod store_objects;
mod stories;
#[cfg(unix)]
mod system_calls;
#[cfg(unix)]
mod terminal_words;
#[cfg(feature = "ui")]
mod ui;
mod undo_redo;
mod version_0_1;
mod watch;
#[cfg(target_os = "linux")]
mod watchman;
#[cfg(windows)]
mod windows;
mod workflow_cost;
mod workflow_examples;
mod workflow_files;
mod workflow_formats;
mod workflow_kills;
mod workflow_packs;
mod workflow_race;
mod workflow_terminal;
mod worktree;
mod wrong_usage;
