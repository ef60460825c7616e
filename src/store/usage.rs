//! How much room a store takes on disk.

use std::path::Path;

use walkdir::WalkDir;

/// Sum of the sizes of all files below a directory, in bytes. What cannot be read counts as nothing.
pub fn bytes_below(dir: &Path) -> u64 {
    let files = WalkDir::new(dir).follow_links(false).into_iter().filter_map(std::result::Result::ok);
    files.filter_map(|entry| entry.metadata().ok()).filter(|meta| meta.is_file()).map(|meta| meta.len()).sum()
}
