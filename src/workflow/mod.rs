//! Runs of phases that outlive the sessions that work on them: rules, documents, commands.

pub mod documents;
pub mod engine;
pub mod plan;
pub mod port;
pub mod profiles;
pub mod rules;
pub mod words;
