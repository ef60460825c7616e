//! Settings, the files and variables that they come from, and the databases the user configured.

pub mod edit;
pub mod environment;
pub mod file;
pub mod keys;
pub mod settings;

pub use environment::{AgentEnvironment, ColorChoice, Environment, Origin};
pub use file::{ConfigFile, ConfigProblem};
pub use keys::{AgentConsent, DatabaseCommands, Owner, PromptWords, ScanMonitor};
pub use settings::Settings;
