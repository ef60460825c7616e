//! What all commands need of the machine: input and output, children, signals, the environment and
//! the context of a command.

#[cfg(feature = "ui")]
pub mod browser;
pub mod child;
pub mod command_context;
pub mod environment;
pub mod file_events;
pub mod grammar;
pub mod run;
pub mod signals;
pub mod terminal;
#[cfg(unix)]
pub mod watchman;
#[cfg(not(unix))]
#[path = "watchman_absent.rs"]
pub mod watchman;

pub use command_context::{CommandContext, PageOptions};
pub use environment::{Color, GlobalArgs};
pub use grammar::ParseRefusal;
pub use run::{Properties, RunAnywhere};
pub use terminal::pager::PagerOutput;
pub use terminal::picker::{PickedItem, PickerChoice};
pub use terminal::printer::{Printer, StdoutSink};
pub use terminal::progress::{Hidden, Showing};
pub use terminal::prompt::Prompt;
