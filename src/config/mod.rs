//! Settings, the files and variables that they come from, and the databases the user configured.

pub mod edit;
pub mod environment;
pub mod file;
pub mod keys;
pub mod settings;
