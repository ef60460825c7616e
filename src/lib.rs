//! `checkpoint` snapshots a working directory into a shadow git repository and brings it back.
#![doc = include_str!("ARCHITECTURE.md")]
#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "tests make and break their own files"
    )
)]

pub mod base;

pub mod error;
pub mod model;

pub mod config;

pub mod store;
pub mod worktree;

pub mod ops;

pub mod workflow;

pub mod agent;

pub mod answer;
pub mod shell;

pub mod commands;

pub mod cli;

#[cfg(feature = "mcp")]
pub mod mcp;

#[cfg(feature = "ui")]
pub mod ui;

#[cfg(test)]
#[path = "../tests/it/bench/cases.rs"]
mod cases;
