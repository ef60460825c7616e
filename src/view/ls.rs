//! `ls` as text and as JSON.

use crate::base::text::escape_bytes;
use crate::model::json::{CheckpointRef, PathName, paths};
use crate::model::state::entry::Kind;
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::ls::{LsEntry, LsOutcome};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;

/// One path a line, as it is called `from_here`; with modes and sizes if `long`. With `z` as it is,
/// ended by NUL.
pub fn text(
    outcome: &LsOutcome,
    from_here: &dyn Fn(&RelPath) -> Vec<u8>,
    long: bool,
    z: bool,
) -> Vec<u8> {
    let size = |entry: &LsEntry| match entry.size_bytes {
        Some(bytes) => bytes.to_string(),
        None => "-".to_owned(),
    };
    let width = outcome.entries.iter().map(|entry| size(entry).len()).max();
    let width = width.unwrap_or_default();
    let line = |entry: &LsEntry| {
        let slash = if entry.kind.is_none() { "/" } else { "" };
        let path = from_here(&entry.path);
        if z {
            return [&*path, slash.as_bytes(), b"\0"].concat();
        }
        let columns = long.then(|| format!("{}  {:>width$}  ", mode(entry), size(entry)));
        let (columns, path) = (columns.unwrap_or_default(), escape_bytes(&path));
        format!("{columns}{path}{slash}\n").into_bytes()
    };
    outcome.entries.iter().flat_map(line).collect()
}

pub fn nothing(outcome: &LsOutcome) -> String {
    format!("nothing there in {}\n", outcome.checkpoint.id.short())
}

/// Formats kind and permissions as `ls -l` does.
fn mode(entry: &LsEntry) -> String {
    let kind = match entry.kind {
        None => 'd',
        Some(Kind::File) => '-',
        Some(Kind::Symlink) => 'l',
    };
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    let bits = bits.map(|(bit, letter)| {
        if entry.perm >> bit & 1 == 1 {
            letter
        } else {
            '-'
        }
    });
    std::iter::once(kind).chain(bits).collect()
}

/// Files and directories of a checkpoint.
#[derive(Serialize, JsonSchema)]
pub struct LsAnswer {
    checkpoint: CheckpointRef,
    /// What was asked for; none for the top.
    paths: Vec<PathName>,
    entries: Vec<LsEntryJson>,
}

#[derive(Serialize, JsonSchema)]
struct LsEntryJson {
    #[serde(flatten)]
    path: PathName,
    /// `file`, `symlink` or `directory`.
    kind: &'static str,
    /// Permission bits in octal digits.
    mode: String,
    /// Null for a directory.
    size_bytes: Option<u64>,
}

pub fn json(outcome: &LsOutcome) -> String {
    let entries = outcome.entries.iter().map(|entry| LsEntryJson {
        path: PathName::new(&entry.path),
        kind: entry.kind.map_or("directory", |kind| kind.into_str()),
        mode: format!("{:04o}", entry.perm),
        size_bytes: entry.size_bytes,
    });
    let data = LsAnswer {
        checkpoint: CheckpointRef::new(&outcome.checkpoint),
        paths: paths(&outcome.paths),
        entries: entries.collect(),
    };
    envelope("ls", 0, &data, &outcome.warnings)
}
