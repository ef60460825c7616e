//! Reads back a pack that was just written, before the packs that it replaces are removed.

use crate::base::threads::work_queue;
use crate::store::{EntryCrc, IndexEntry, Pack, ReadError, ReadResult};

/// Entries for which another thread pays off.
const CHECKED_PER_THREAD: usize = 64;

/// Checks that every entry is where the index says, with the written bytes. Cheaper than
/// [`read_back`], and enough if all entries were copied unchanged and their checksums checked.
///
/// # Errors
/// The entry or file that is damaged.
pub fn bytes_arrived(pack: &Pack) -> ReadResult<()> {
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
pub fn read_back(pack: &Pack) -> ReadResult<()> {
    pack.check_frame()?;
    let mut entries: Vec<IndexEntry> = pack.index()?.entries().collect();
    // In order of offset: a delta comes after its base, which is then still cached.
    entries.sort_unstable_by_key(|entry| entry.offset);
    let check = |part: &[IndexEntry]| {
        part.iter()
            .find(|entry| !pack.has_intact(&entry.id))
            .copied()
    };
    let damaged = work_queue::split(&entries, CHECKED_PER_THREAD, check);
    pack.forget_bases();
    match damaged.into_iter().flatten().next() {
        None => Ok(()),
        Some(entry) => Err(ReadError::Damaged(format!(
            "object {} in it cannot be read back",
            entry.id
        ))),
    }
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
