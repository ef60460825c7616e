//! `create`: its options, the capture, and what follows the commit point.

pub mod apply_retention;
pub mod command;
pub mod copies;
pub mod options;
pub mod outcome;
pub mod record;
