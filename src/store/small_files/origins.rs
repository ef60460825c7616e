//! Where imported checkpoints come from, and their place in the order here: one file, replaced
//! atomically. Without it they are placed by the sequence numbers of their commits.

use std::collections::BTreeMap;
use std::io;

use crate::error::Result;
use crate::model::{ObjectId, OriginStore};
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text};

/// What is noted of an imported checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginNote {
    /// Its sequence number in this store.
    pub sequence: u64,
    /// Unknown of a bundle that plain git made.
    pub origin: Option<OriginStore>,
}

pub type Origins = BTreeMap<ObjectId, OriginNote>;

/// # Errors
/// An existing file cannot be read or is invalid.
pub fn read(layout: &Layout) -> io::Result<Origins> {
    Ok(checksummed_text::read(&layout.origins(), parse_line)?.unwrap_or_default())
}

/// # Errors
/// The file cannot be written; then it is as before.
pub fn write(layout: &Layout, origins: &Origins) -> Result<()> {
    let line = |(id, imported): (&ObjectId, &OriginNote)| {
        let origin = imported.origin.as_ref().map(OriginStore::to_ref);
        let origin = origin.unwrap_or_else(|| "-".to_owned());
        format!("{id} {} {origin}\n", imported.sequence)
    };
    let lines: String = origins.iter().map(line).collect();
    atomic_file::replace(&layout.origins(), checksummed_text::seal(&lines).as_bytes())
}

fn parse_line(line: &str) -> Option<(ObjectId, OriginNote)> {
    let mut parts = line.splitn(3, ' ');
    let id = ObjectId::from_hex(parts.next()?)?;
    let sequence = parts.next()?.parse().ok()?;
    let origin = match parts.next()? {
        "-" => None,
        origin => Some(OriginStore::of_ref(origin)?),
    };
    Some((id, OriginNote { sequence, origin }))
}
