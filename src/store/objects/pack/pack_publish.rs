//! The last steps of a new pack: seals it, makes it durable, renames it and its index into place.

use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::files::atomic_file;
use crate::store::objects::object_hash::hex_of;
use crate::store::objects::pack::pack_index;
use crate::store::objects::pack::pack_reader::HEADER_BYTES;
use crate::store::{IndexEntry, Pack, PackStamp, TemporaryFile, TrailerHasher};

/// Number of bytes that are written or read at once of a pack that is too large for memory.
pub const FILE_PIECE_BYTES: usize = 256 << 10;

/// Writes the count into the header, reads the file back for its checksum, and appends that; `len`
/// is the length before.
///
/// # Errors
/// The file cannot be read or written.
pub fn seal(file: &mut &std::fs::File, count: u32, len: u64) -> io::Result<[u8; 20]> {
    file.seek(SeekFrom::Start(HEADER_BYTES - 4))?;
    file.write_all(&count.to_be_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = TrailerHasher::default();
    let mut piece = vec![0; FILE_PIECE_BYTES];
    let mut left = len;
    while left > 0 {
        let want = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut piece[..want])?;
        hasher.update(&piece[..want]);
        left -= want as u64;
    }
    let trailer = hasher.finish();
    file.write_all(&trailer)?;
    Ok(trailer)
}

/// A complete pack and its index under temporary names.
#[derive(Debug)]
pub struct Completed {
    pack: TemporaryFile,
    index: TemporaryFile,
    name: String,
}

/// Writes the index of a complete pack.
///
/// # Errors
/// The index cannot be written; no file is left of either.
pub fn complete(
    pack_dir: &Path,
    pack: TemporaryFile,
    trailer: [u8; 20],
    entries: &mut [IndexEntry],
) -> Result<Completed> {
    let name = format!("pack-{}", hex_of(trailer));
    let index = TemporaryFile::create(pack_dir, "tmp_idx_", "_")?;
    let bytes = pack_index::encode(entries, trailer);
    index
        .file()
        .write_all(&bytes)
        .map_err(Error::io("write", index.path()))?;
    Ok(Completed { pack, index, name })
}

/// Flushes packs, indexes and `also`, and renames each pack into place before its index.
///
/// # Errors
/// A file could not be written; at worst a complete pack without an index is left, never read.
pub fn publish(
    pack_dir: &Path,
    completed: Vec<Completed>,
    also: Option<&TemporaryFile>,
) -> Result<Vec<PackStamp>> {
    let files = completed.iter().flat_map(|one| [&one.pack, &one.index]);
    atomic_file::sync_together(&files.chain(also).collect::<Vec<_>>())?;
    let mut names = Vec::new();
    for Completed { pack, index, name } in completed {
        put_in_place(pack, &pack_dir.join(format!("{name}.pack")))?;
        put_in_place(index, &pack_dir.join(format!("{name}.idx")))?;
        names.push(name);
    }
    if !names.is_empty() {
        atomic_file::sync_directory(pack_dir)?;
    }
    let stamp = |name: String| match Pack::stat(pack_dir, &name) {
        Some(pack) => Ok(pack.stamp),
        None => Err(Error::damaged(
            name,
            "it vanished as soon as it was written",
        )),
    };
    names.into_iter().map(stamp).collect()
}

/// Replaces an existing file of that name, which is equal or damaged. If it cannot be replaced
/// because another process has it open (Windows), one of the same size is kept.
fn put_in_place(temporary: TemporaryFile, path: &Path) -> Result<()> {
    let len = temporary
        .file()
        .metadata()
        .map_err(Error::io("look at", temporary.path()))?
        .len();
    temporary
        .publish(path)
        .or_else(|cause| match path.symlink_metadata() {
            Ok(there) if there.is_file() && there.len() == len => Ok(()),
            _ => Err(cause),
        })
}
