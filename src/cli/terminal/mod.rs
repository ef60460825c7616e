//! What is printed, asked and paged: stdout, stderr and the terminal.

pub mod pager;
pub mod printer;
pub mod progress;
pub mod prompt;
