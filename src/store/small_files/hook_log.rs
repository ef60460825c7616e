//! The log of the hooks that agents ran: two files of limited size, which may be lost.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use crate::store::Layout;
use crate::store::files::{atomic_file, read_regular};

/// Size at which the log is begun anew, in bytes; the one before is kept.
const LONGEST_LOG: u64 = 256 * 1024;

/// Appends a line. Lines of two processes do not mix.
///
/// # Errors
/// The log cannot be written.
pub fn append(layout: &Layout, line: &str) -> io::Result<()> {
    let path = layout.hook_log();
    if read_regular::lstat(&path)
        .ok()
        .flatten()
        .is_some_and(|found| found.len() >= LONGEST_LOG || !found.is_file())
    {
        atomic_file::rename(&path, &layout.former_hook_log()).map_err(io::Error::other)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(&path)?
        .write_all(format!("{line}\n").as_bytes())
}

/// Returns the lines of both files, oldest first.
pub fn lines(layout: &Layout) -> Vec<String> {
    let files = [layout.former_hook_log(), layout.hook_log()];
    let texts = files
        .iter()
        .filter_map(|path| read_regular::read_text(path).ok());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_kept_beside_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_path_buf());
        std::fs::create_dir(layout.own()).unwrap();
        for line in ["one", "two"] {
            append(&layout, line).unwrap();
        }
        assert_eq!(lines(&layout), ["one", "two"]);
        assert!(!layout.former_hook_log().exists());
        let long = "x".repeat(usize::try_from(LONGEST_LOG).unwrap());
        for line in [&*long, "last"] {
            append(&layout, line).unwrap();
        }
        assert_eq!(lines(&layout), ["one", "two", &long, "last"]);
        assert!(layout.former_hook_log().exists());
    }
}
