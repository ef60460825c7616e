//! Plans of phases: from the command line, a preset or a document, and their checks.

mod check;
mod command_line;
mod document;
mod lint;
#[cfg(test)]
mod tests;
mod writes;

pub use check::check;
pub use command_line::{DOTAGENT, from_words, preset};
pub use document::{DEPENDENCY_KEYS, PLAN, from_document, to_document};
pub use lint::lint;
pub use writes::share_writes;
