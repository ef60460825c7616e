//! Sentences of runs for users: the rules and commands give codes and data, the words stand here.

pub mod input_error;
pub mod labels;
pub mod reasons;
pub mod run_error;
