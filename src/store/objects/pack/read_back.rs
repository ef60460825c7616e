//! Reads back a pack that was just written, before the packs that it replaces are removed.

use crate::base::threads::work_queue;
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::store::objects::deflate::zlib::EntryCrc;
use crate::store::objects::object_hash::TrailerHasher;
use crate::store::objects::pack::pack_index::IndexEntry;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::{EntryHeader, EntryKind, PackReader, ReadError};

/// Entries for which another thread pays off.
const CHECKED_PER_THREAD: usize = 64;

/// Checks that every entry is where the index says, with the written bytes. Cheaper than
/// [`read_back`], and enough if all entries were copied unchanged and their checksums checked.
///
/// # Errors
/// The entry or file that is damaged.
pub fn bytes_arrived(pack: &Pack) -> Result<(), ReadError> {
    pack.check_places()?;
    let (index, reader) = (pack.index()?, pack.reader()?);
    for entry in index.entries() {
        let mut crc = EntryCrc::default();
        reader.raw(
            entry.offset,
            index.end_of(entry.offset, reader.entries_end()),
            &mut |bytes| {
                crc.update(bytes);
                Ok(())
            },
        )?;
        if crc.sum() != entry.crc {
            return Err(ReadError::Damaged(format!(
                "object {} in it is not as it was written",
                entry.id
            )));
        }
    }
    Ok(())
}

/// Checks every object of a pack by building and hashing it.
///
/// # Errors
/// The object or file that is damaged.
pub fn read_back(pack: &Pack) -> Result<(), ReadError> {
    pack.check_frame()?;
    let mut entries: Vec<IndexEntry> = pack.index()?.entries().collect();
    // In order of offset: a delta comes after its base, which is then still cached.
    entries.sort_unstable_by_key(|entry| entry.offset);
    let checked = work_queue::split(&entries, CHECKED_PER_THREAD, |part| check_some(pack, part))
        .into_iter()
        .collect();
    pack.forget_bases();
    checked
}

fn check_some(pack: &Pack, entries: &[IndexEntry]) -> Result<(), ReadError> {
    entries.iter().try_for_each(|entry| {
        let named = |why| {
            ReadError::Damaged(format!(
                "object {} in it cannot be read back: {why}",
                entry.id
            ))
        };
        check_one(pack, entry).map_err(named)
    })
}

fn check_one(pack: &Pack, entry: &IndexEntry) -> Result<(), ReadError> {
    let reader = pack.reader()?;
    let end = pack.index()?.end_of(entry.offset, reader.entries_end());
    let header = reader.header(entry.offset, end)?;
    let sum = match header.kind {
        EntryKind::Object(kind) if header.size <= STREAM_FROM_BYTES => {
            let (_, content) = reader.content(entry.offset, end)?;
            sum_of(kind.into_str(), &content)
        }
        EntryKind::Object(kind) => sum_of_stream(reader, entry, end, &header, kind.into_str())?,
        EntryKind::Delta => {
            let made = pack.resolve(entry.offset)?;
            sum_of(made.0.into_str(), &made.1)
        }
    };
    let right = sum == *entry.id.as_bytes();
    if right {
        Ok(())
    } else {
        Err(ReadError::Damaged("its content has another hash".into()))
    }
}

/// Hashes a content to guard against accidents; collisions were excluded when it was stored.
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests break files directly")]
mod tests {
    use super::*;
    use crate::store::objects::object_hash::ObjectKind;
    use crate::store::objects::odb::Objects;
    use crate::store::objects::pack::pack_writer::PackWriter;

    #[test]
    fn a_changed_byte_anywhere_in_a_new_pack_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let known = Objects::open(place.path()).unwrap();
        let mut writer = PackWriter::begin(place.path(), &known).unwrap();
        for content in [&b"short"[..], &b"all work and no play ".repeat(100), b""] {
            writer.add(ObjectKind::Blob, content).unwrap();
        }
        let stamp = writer.finish().unwrap().unwrap();
        let dir = place.path().join("pack");
        let path = dir.join(format!("{}.pack", stamp.name));
        let whole = std::fs::read(&path).unwrap();
        let checked = || {
            [bytes_arrived, read_back]
                .map(|check| check(&Pack::stat(&dir, &stamp.name).unwrap()).is_ok())
        };
        assert_eq!(checked(), [true; 2]);
        // The header in front does not affect any entry.
        for at in 12..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 4;
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &broken).unwrap();
            assert!(!checked()[0], "byte {at}");
        }
    }
}
