//! One SHA-256 over the whole content of a checkpoint, which can be recomputed from the files.
//!
//! It covers one record per content, in bytewise order of kind and name: `<mode> <SHA-256 of the
//! content, hex>  <path>` and a NUL, where the mode is git's six octal digits and the content of a
//! symlink is its target. The document of values follows as `state <…>  @state`, a database as
//! `database <…>  <name>`.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use crate::base::text::BINARY_PROBE_BYTES;
use crate::model::{ObjectId, RelPath, Snapshot};
use crate::store::trees::convert;
use crate::store::{Extras, Objects, ReadFailure};

/// The figures of one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub sha256: [u8; 32],
    pub size_bytes: u64,
    /// `None` for binary content.
    pub lines: Option<u64>,
}

impl Facts {
    /// The checksum in lower-case hex.
    pub fn sha256_hex(&self) -> String {
        hex(&self.sha256)
    }
}

/// Computes the figures of one content in pieces.
#[derive(Default)]
pub struct ContentSink {
    sum: Sha256,
    size_bytes: u64,
    newlines: u64,
    ends_a_line: bool,
    is_binary: bool,
}

impl ContentSink {
    pub fn finish(self) -> Facts {
        let unended = u64::from(self.size_bytes > 0 && !self.ends_a_line);
        let lines = (!self.is_binary).then_some(self.newlines + unended);
        Facts {
            sha256: self.sum.finalize().into(),
            size_bytes: self.size_bytes,
            lines,
        }
    }
}

impl Write for ContentSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let near_start = (BINARY_PROBE_BYTES as u64).saturating_sub(self.size_bytes);
        let head = &bytes[..bytes
            .len()
            .min(usize::try_from(near_start).unwrap_or(usize::MAX))];
        self.is_binary |= head.contains(&0);
        self.sum.update(bytes);
        self.size_bytes += bytes.len() as u64;
        self.newlines += bytes.split(|byte| *byte == b'\n').count() as u64 - 1;
        self.ends_a_line = bytes.last().map_or(self.ends_a_line, |last| *last == b'\n');
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The digest in progress. Records must come in order.
#[derive(Default)]
pub struct Digest(Sha256);

impl Digest {
    pub fn add_file(&mut self, mode: u32, path: &[u8], facts: &Facts) {
        self.add(&format!("{mode:06o}"), path, facts);
    }

    fn add(&mut self, kind: &str, name: &[u8], facts: &Facts) {
        self.0.update(format!("{kind} {}  ", hex(&facts.sha256)));
        self.0.update(name);
        self.0.update([0]);
    }

    /// `sha256:` and the digits.
    pub fn finish(self) -> String {
        format!("sha256:{}", hex(&self.0.finalize()))
    }
}

/// Returns 16 hex digits of SHA-256 over the parts, each with its length before it.
pub fn of_parts(parts: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    hex(&sha.finalize())[..16].to_owned()
}

/// A digest and the amount of content covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub hash: String,
    pub files: u64,
    pub lines: u64,
    pub binary_files: u64,
}

/// Reads every content of a snapshot. Each object is checked against its id.
///
/// # Errors
/// A content cannot be read; the message names it.
pub fn sum(objects: &Objects, snapshot: &Snapshot, extras: &Extras) -> Result<Sum, ReadFailure> {
    let files = snapshot.files.iter().map(|(path, entry)| {
        let facts = facts(objects, entry.id).map_err(|why| format!("{path}: {why}").into());
        (path, facts.map(|facts| (entry.git_mode(), facts)))
    });
    sum_of(objects, files, extras)
}

/// Computes the digest of files read elsewhere, ordered by path, each with git's mode.
///
/// # Errors
/// As [`sum`], or the first error among the files.
pub fn sum_of<'f>(
    objects: &Objects,
    files: impl Iterator<Item = (&'f RelPath, Result<(u32, Facts), ReadFailure>)>,
    extras: &Extras,
) -> Result<Sum, ReadFailure> {
    let mut digest = Digest::default();
    let mut sum = Sum::default();
    for (path, found) in files {
        let (mode, facts) = found?;
        digest.add_file(mode, path.as_bytes(), &facts);
        sum.files += 1;
        sum.lines += facts.lines.unwrap_or_default();
        sum.binary_files += u64::from(facts.lines.is_none());
    }
    if let Some(state_document) = extras.state_document {
        digest.add(
            "state",
            b"@state",
            &facts(objects, state_document).map_err(|why| format!("@state: {why}"))?,
        );
    }
    if let Some(databases) = extras.databases {
        let mut entries = convert::read_tree(objects, databases)?;
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        for entry in entries {
            digest.add(
                "database",
                &entry.name,
                &facts(objects, entry.id).map_err(|why| format!("a database: {why}"))?,
            );
        }
    }
    sum.hash = digest.finish();
    Ok(sum)
}

/// The figures of one object.
///
/// # Errors
/// It cannot be read.
pub fn facts(objects: &Objects, id: ObjectId) -> Result<Facts, ReadFailure> {
    let mut sink = ContentSink::default();
    objects.stream_blob(&id, &mut sink)?;
    Ok(sink.finish())
}

/// SHA-256 of some bytes in lower-case hex.
pub fn sum_of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(pieces: &[&[u8]]) -> Facts {
        let mut sink = ContentSink::default();
        for piece in pieces {
            sink.write_all(piece).unwrap();
        }
        sink.finish()
    }

    #[test]
    fn lines_are_counted_as_people_do_and_binaries_have_none() {
        for (pieces, lines) in [
            (&[b"".as_slice()][..], Some(0)),
            (&[b"a"], Some(1)),
            (&[b"a\n", b"b"], Some(2)),
            (&[b"a\nb", b"\n"], Some(2)),
            (&[b"a\0\n"], None),
            (&[&[b'x'; 8000], b"\0"], Some(1)),
        ] {
            assert_eq!(facts_of(pieces).lines, lines, "{pieces:?}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_all_bytes() {
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(facts_of(&[b"a", b"bc"]).sha256_hex(), sum);
    }

    #[test]
    fn the_sum_is_what_the_shell_formula_gives() {
        // printf '100644 %s  a\0' "$(printf 'x\n' | sha256sum | cut -c1-64)" | sha256sum
        let mut digest = Digest::default();
        digest.add_file(0o100_644, b"a", &facts_of(&[b"x\n"]));
        assert_eq!(digest.finish(), SHELL_FORMULA);
    }

    const SHELL_FORMULA: &str =
        "sha256:1510be4e49f1584f45d9b5d4d52346c63937eba9ca9d0440f948843e161922f1";
}
