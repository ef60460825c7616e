//! `create`: its options, the capture, and what follows the commit point.

pub mod command;
pub mod copies;
pub mod create_terms;
pub mod gate;
pub mod record;
