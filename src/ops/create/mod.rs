//! `create`: its options, the capture, and what follows the commit point.

pub mod command;
pub mod copies;
pub mod options;
pub mod record;
pub mod watched;
