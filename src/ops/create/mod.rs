//! `create`: captures the working directory and records it.

pub mod command;
pub mod copies;
pub mod create_terms;
pub mod gate;
pub mod record;
