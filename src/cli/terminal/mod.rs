//! Input and output: stdout, stderr, prompts and the pager.

pub mod pager;
pub mod printer;
pub mod progress;
pub mod prompt;
