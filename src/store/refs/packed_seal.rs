//! The seal of the packed commits: what proves cheaply that they are still stored, and that the
//! beginning of the manifest names them.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::model::checkpoint::line::{Line, LineEntry};
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;
use crate::store::objects::odb::Objects;
use crate::store::refs::commit_cache::Holder;
use crate::store::small_files::stat_cache_head::{Input, SUM_BYTES, put, sum_at_end};

const SEAL_MAGIC: &[u8; 8] = b"CKPTPS01";
/// Lines of a manifest above its rows.
const HEADER_LINES: usize = 2;

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

    /// Whether each of the packs stands unchanged; more packs do not matter.
    pub fn stands(&self, objects: &Objects) -> bool {
        let now = Holder::all(objects);
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
    pub fn length_in(&self, text: &str, line: &Line) -> usize {
        let length = usize::try_from(self.bytes).unwrap_or_default();
        let is_same = text.get(..length).is_some_and(|beginning| {
            xxh3_64(beginning.as_bytes()) == self.sum && unpacked_sum(line) == self.unpacked
        });
        if is_same { length } else { 0 }
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
