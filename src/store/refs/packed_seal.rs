//! The seal of the packed commits: what proves cheaply that they are still stored, and that the
//! beginning of the manifest names them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::Result;
use crate::model::checkpoint::manifest;
use crate::model::{Line, LineEntry};
use crate::store::files::{atomic_file, read_regular};
use crate::store::small_files::stat_cache_head::{SUM_BYTES, put, sum_at_end};
use crate::store::{Holder, Input, Layout};

const SEAL_MAGIC: &[u8; 8] = b"CKPTPS01";
/// Lines of a manifest above its rows.
const HEADER_LINES: usize = 2;
/// Bytes of a manifest that are summed at once.
const PIECE_BYTES: usize = 32 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The sum of `packed-refs`.
    pub refs_sum: u64,
    /// The packs when all commits were known to be stored.
    pub holders: Vec<Holder>,
    pub rows: KnownRows,
}

/// The beginning of the manifest, up to the newest packed checkpoint, as it was once compared with
/// the checkpoints row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownRows {
    bytes: u64,
    sum: u64,
    /// Sum of the ids of the checkpoints among them whose refs are not packed.
    unpacked: u64,
}

impl Seal {
    /// Reads the seal; `None` if there is no valid one.
    pub fn read(layout: &Layout) -> Option<Self> {
        let bytes = read_regular::read(&layout.packed_seal()).ok()?;
        sum_at_end(&bytes)?;
        let mut input = Input(&bytes[..bytes.len() - SUM_BYTES]);
        if input.take(SEAL_MAGIC.len())? != SEAL_MAGIC {
            return None;
        }
        let refs_sum = input.number()?;
        let rows = KnownRows {
            bytes: input.number()?,
            sum: input.number()?,
            unpacked: input.number()?,
        };
        let count = input.number()?;
        let holders = (0..count).map(|_| Holder::parse(&mut input));
        Some(Self {
            refs_sum,
            rows,
            holders: holders.collect::<Option<_>>()?,
        })
    }

    /// # Errors
    /// The file cannot be written; it is as before.
    pub fn write(&self, layout: &Layout) -> Result<()> {
        let mut out = SEAL_MAGIC.to_vec();
        let KnownRows {
            bytes,
            sum,
            unpacked,
        } = self.rows;
        for number in [
            self.refs_sum,
            bytes,
            sum,
            unpacked,
            self.holders.len() as u64,
        ] {
            put(&mut out, number);
        }
        self.holders
            .iter()
            .for_each(|holder| holder.render(&mut out));
        let sum = xxh3_64(&out);
        put(&mut out, sum);
        atomic_file::replace_derived(&layout.own(), &layout.packed_seal(), &out)
    }

    /// Whether each of the packs is among those now; more packs do not matter.
    pub fn stands(&self, now: &BTreeSet<Holder>) -> bool {
        self.holders.iter().all(|holder| now.contains(holder))
    }
}

impl KnownRows {
    /// Takes them from a manifest that was just rendered from the line.
    pub fn of(text: &str, line: &Line) -> Self {
        let rows = line.older_count() + older_unpacked(line).count();
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let Some(end) = ends.skip(HEADER_LINES).nth(rows.wrapping_sub(1)) else {
            return Self::default();
        };
        Self {
            bytes: end as u64,
            sum: xxh3_64(&text.as_bytes()[..end]),
            unpacked: unpacked_sum(line),
        }
    }

    /// The length of the beginning of `text` that needs no comparison; 0 if it is another one.
    pub fn length_in(&self, text: &str) -> usize {
        let length = usize::try_from(self.bytes).unwrap_or_default();
        let beginning = text.get(..length);
        let is_same = beginning.is_some_and(|beginning| xxh3_64(beginning.as_bytes()) == self.sum);
        if is_same { length } else { 0 }
    }

    /// Whether they are those of a line, so that only their bytes are to be compared.
    pub fn are_of(&self, line: &Line) -> bool {
        line.has_older() && unpacked_sum(line) == self.unpacked
    }

    /// Reads a manifest; of a beginning that needs no comparison only the sum is taken.
    ///
    /// # Errors
    /// It is no plain file, or cannot be read.
    pub fn read_after(&self, mut file: File) -> io::Result<(usize, Vec<u8>)> {
        let found = file.metadata()?;
        if !found.is_file() || found.len() > read_regular::UPTO_BYTES {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut known = self.bytes;
        if known > found.len() || known > 0 && sum_of(&mut file, known)? != self.sum {
            known = 0;
            file.rewind()?;
        }
        let left = found.len() - known;
        let mut rest = Vec::with_capacity(usize::try_from(left).map_err(io::Error::other)?);
        file.take(left).read_to_end(&mut rest)?;
        Ok((usize::try_from(known).map_err(io::Error::other)?, rest))
    }
}

/// The sum of the next bytes of a file.
fn sum_of(file: &mut File, bytes: u64) -> io::Result<u64> {
    let (mut sum, mut piece) = (Xxh3::new(), vec![0; PIECE_BYTES]);
    let mut left = usize::try_from(bytes).map_err(io::Error::other)?;
    while left > 0 {
        let piece = &mut piece[..left.min(PIECE_BYTES)];
        file.read_exact(piece)?;
        sum.update(piece);
        left -= piece.len();
    }
    Ok(sum.digest())
}

/// The text of a manifest, without its beginning if that is known.
#[derive(Debug, Default)]
pub struct ManifestText {
    pub known_bytes: usize,
    pub rest: String,
}

impl ManifestText {
    /// `None` if the file looks like no manifest.
    pub fn of((known_bytes, rest): (usize, Vec<u8>)) -> Option<Self> {
        let is_readable = known_bytes > 0 && !rest.contains(&0) || manifest::is_readable(&rest);
        let rest = String::from_utf8(rest).ok().filter(|_| is_readable)?;
        Some(Self { known_bytes, rest })
    }
}

fn unpacked_sum(line: &Line) -> u64 {
    let ids: Vec<u8> = older_unpacked(line)
        .flat_map(|entry| *entry.id.as_bytes())
        .collect();
    xxh3_64(&ids)
}

/// Checkpoints before the newest packed one whose refs are not packed.
fn older_unpacked(line: &Line) -> impl Iterator<Item = LineEntry> {
    let last = line.older().next_back();
    let newer = line.newer().iter().map(LineEntry::of);
    newer.take_while(move |entry| Some(*entry) < last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_beginning_that_is_the_same_to_the_byte_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("manifest");
        let beginning = "| a row |\n".repeat(PIECE_BYTES / 5).into_bytes();
        let rows = KnownRows {
            bytes: beginning.len() as u64,
            sum: xxh3_64(&beginning),
            unpacked: 0,
        };
        let read = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            rows.read_after(File::open(&path).unwrap()).unwrap()
        };
        assert_eq!(read(&beginning), (beginning.len(), Vec::new()));
        let more = [&beginning, "a new row\n".as_bytes()].concat();
        assert_eq!(read(&more), (beginning.len(), b"a new row\n".to_vec()));
        for at in [0, 7, PIECE_BYTES, beginning.len() - 1] {
            let mut flipped = more.clone();
            flipped[at] ^= 1;
            assert_eq!(read(&flipped), (0, flipped.clone()), "byte {at}");
            assert_eq!(read(&more[..at]), (0, more[..at].to_vec()), "cut at {at}");
        }
        // Some systems open no directory.
        if let Ok(directory) = File::open(place.path()) {
            assert!(rows.read_after(directory).is_err());
        }
    }
}
