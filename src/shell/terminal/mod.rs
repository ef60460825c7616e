//! Input and output: stdout, stderr, prompts, the pager and the picker.

pub mod pager;
pub mod picker;
pub mod printer;
pub mod progress;
pub mod prompt;
