//! Disk space taken by a store.

use std::path::Path;

use walkdir::{DirEntry, WalkDir};

/// Sum of the sizes of all files below a directory, in bytes. Unreadable ones count as zero.
pub fn bytes_below(dir: &Path) -> u64 {
    let files =
        WalkDir::new(dir).follow_links(false).follow_root_links(false).into_iter().filter_map(std::result::Result::ok);
    files
        .filter(|entry: &DirEntry| entry.file_type().is_file())
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.len())
        .sum()
}

/// Whether anything but directories lies below a directory.
pub fn has_files(dir: &Path) -> bool {
    WalkDir::new(dir).follow_links(false).into_iter().any(|entry| entry.is_ok_and(|entry| !entry.file_type().is_dir()))
}
