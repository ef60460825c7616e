//! The holds of a store: one file, replaced atomically; damage to it stops nothing.

use std::io;

use crate::error::Result;
use crate::model::Hold;
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text};

const HOLD: &str = "hold ";

/// Reads all holds that were taken, including those that have ended.
///
/// # Errors
/// An existing file cannot be read or is invalid.
pub fn read(layout: &Layout) -> io::Result<Vec<Hold>> {
    Ok(checksummed_text::read(&layout.holds(), parse_line)?.unwrap_or_default())
}

/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, holds: &[Hold]) -> Result<()> {
    if holds.is_empty() {
        return if atomic_file::remove_if_there(&layout.holds())? {
            atomic_file::sync_directory(&layout.own())
        } else {
            Ok(())
        };
    }
    let lines: String = holds
        .iter()
        .map(|hold| format!("{HOLD}{}\n", hold.to_field()))
        .collect();
    atomic_file::replace(&layout.holds(), checksummed_text::seal(&lines).as_bytes())
}

fn parse_line(line: &str) -> Option<Hold> {
    Hold::from_field(line.strip_prefix(HOLD)?)
}
