//! Reading back a pack that was just written: each object in it is made again and hashed, before anything that it
//! replaces goes.

use crate::store::hash::TrailerHasher;
use crate::store::pack_index::IndexEntry;
use crate::store::pack_list::Pack;
use crate::store::pack_reader::{EntryHeader, EntryKind, PackReader, ReadError};
use crate::store::threads;

/// Content above this is hashed in pieces.
const WHOLE_UPTO_BYTES: u64 = 16 << 20;
/// Objects for which another thread gains more than it costs.
const WORTH_A_THREAD: usize = 64;

/// Whether every object of a pack is whole.
///
/// # Errors
/// Names what is not.
pub fn read_back(pack: &Pack) -> Result<(), String> {
    pack.check_frame().map_err(|cause| cause.to_string())?;
    let mut entries: Vec<IndexEntry> = pack.index().map_err(|cause| cause.to_string())?.entries().collect();
    // A delta stands behind its base, which is then still in memory.
    entries.sort_unstable_by_key(|entry| entry.offset);
    let checked = threads::share(&entries, WORTH_A_THREAD, |part| check_some(pack, part)).into_iter().collect();
    pack.forget_bases();
    checked
}

fn check_some(pack: &Pack, entries: &[IndexEntry]) -> Result<(), String> {
    entries.iter().try_for_each(|entry| {
        check_one(pack, entry).map_err(|why| format!("object {} in it cannot be read back: {why}", entry.id))
    })
}

fn check_one(pack: &Pack, entry: &IndexEntry) -> Result<(), ReadError> {
    let reader = pack.reader()?;
    let end = pack.index()?.end_of(entry.offset, reader.entries_end());
    let header = reader.header(entry.offset, end)?;
    let sum = match header.kind {
        EntryKind::Object(kind) if header.size <= WHOLE_UPTO_BYTES => {
            let (_, content) = reader.content(entry.offset, end)?;
            sum_of(kind.name(), &content)
        }
        EntryKind::Object(kind) => sum_of_stream(reader, entry, end, &header, kind.name())?,
        EntryKind::Tag => sum_of_stream(reader, entry, end, &header, "tag")?,
        EntryKind::Delta => {
            let made = pack.resolve(entry.offset)?;
            sum_of(made.0.map_or("tag", |kind| kind.name()), &made.1)
        }
    };
    let right = sum == *entry.id.as_bytes();
    if right { Ok(()) } else { Err(ReadError::Damaged("its content has another hash".into())) }
}

/// The id that a content has. It was hashed with an eye on collisions when it came in; this guards against accidents.
fn sum_of(kind: &str, content: &[u8]) -> [u8; 20] {
    let mut hasher = begin(kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

fn sum_of_stream(
    reader: &PackReader,
    entry: &IndexEntry,
    end: u64,
    header: &EntryHeader,
    kind: &str,
) -> Result<[u8; 20], ReadError> {
    let mut hasher = begin(kind, header.size);
    reader.stream(entry.offset, end, header, &mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finish())
}

fn begin(kind: &str, len: u64) -> TrailerHasher {
    let mut hasher = TrailerHasher::default();
    hasher.update(format!("{kind} {len}\0").as_bytes());
    hasher
}
