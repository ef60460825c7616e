//! Reasons given to checkpoints after they were made: one file, replaced atomically. A commit keeps
//! its own reason, so that damage here loses no more than the later words.

use std::collections::BTreeMap;
use std::io;

use crate::base::text::{percent_decode, percent_encode};
use crate::error::Result;
use crate::model::ObjectId;
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text};

/// The later reasons by checkpoint.
pub type Rewords = BTreeMap<ObjectId, String>;

/// # Errors
/// An existing file cannot be read or is invalid.
pub fn read(layout: &Layout) -> io::Result<Rewords> {
    Ok(checksummed_text::read(&layout.rewords(), parse_line)?.unwrap_or_default())
}

/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, rewords: &Rewords) -> Result<()> {
    let lines: String = rewords
        .iter()
        .map(|(id, reason)| format!("{id} {}\n", percent_encode(reason.as_bytes())))
        .collect();
    atomic_file::replace(&layout.rewords(), checksummed_text::seal(&lines).as_bytes())
}

fn parse_line(line: &str) -> Option<(ObjectId, String)> {
    let (id, reason) = line.split_once(' ')?;
    let reason = String::from_utf8(percent_decode(reason)?).ok()?;
    Some((ObjectId::from_hex(id)?, reason))
}
