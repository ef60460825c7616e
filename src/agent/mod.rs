//! What the programs of agents ask of us: their events, and our entries in their settings.

pub mod dialect;
pub mod doctor;
pub mod event_place;
pub mod hook;
pub mod marks;
pub mod setup;
pub mod shell_calls;

pub use dialect::{AgentEvent, AgentName, HookAnswer};
pub use doctor::DoctorOutcome;
pub use event_place::NamedDirs;
pub use marks::Marks;
pub use setup::agents::{Agents, Leeway, SetupPlaces};
pub use setup::plan::{AgentPlan, FileOutcome, SettingsFile, SetupProgress};
