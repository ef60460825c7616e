//! Settings, the files and variables that they come from, and the databases the user configured.

pub mod agents;
pub mod amount;
pub mod databases;
pub mod edit;
pub mod environment;
pub mod file;
pub mod keep;
pub mod settings;
pub mod variables;
