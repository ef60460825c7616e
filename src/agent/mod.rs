//! What the programs of agents ask of us: their events, and our entries in their settings.

pub mod dialect;
pub mod doctor;
pub mod event_place;
pub mod hook;
pub mod marks;
pub mod setup;
pub mod shell_calls;
