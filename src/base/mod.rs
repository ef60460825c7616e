//! General helpers that know nothing of checkpoints: text, time, patterns, threads, progress.

pub mod cut_list;
pub mod git_quoting;
pub mod interrupt;
pub mod json;
pub mod malformed;
pub mod mutex;
pub mod progress;
pub mod random_name;
pub mod read_regular;
pub mod shell_word;
pub mod text;
pub mod threads;
pub mod time;

pub mod wildmatch;
pub mod windows;

pub use interrupt::{Interrupt, Interrupted, Shield};
pub use json::TimeText;
pub use json::merge::Spelling;
pub use malformed::Malformed;
pub use progress::{Progress, WorkPhase};
pub use threads::work_queue::WorkQueue;
pub use wildmatch::Glob;

#[cfg(test)]
pub(crate) mod tests;
