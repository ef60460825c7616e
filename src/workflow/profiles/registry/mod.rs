//! The registry profile: one file for each run, with phases as numbers.

mod paths;
mod progress;
mod read;
mod take;
mod write;

pub use paths::{FAILED, FOLDER, failed_path, is_active_file, path, path_of_document};
pub use take::{begin, take};
pub use write::export;
