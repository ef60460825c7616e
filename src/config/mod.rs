//! Settings: defaults, the user's file, the project's file and the environment, in rising order, each with its origin.

pub mod databases;
pub mod file;
pub mod settings;
pub mod variables;
