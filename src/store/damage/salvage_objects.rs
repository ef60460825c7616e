//! Copies objects from a damaged store: intact packs as they are, from others every intact object.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Code, Error, Result};
use crate::model::ObjectId;
use crate::store::damage::check_objects;
use crate::store::files::{atomic_file, read_regular};
use crate::store::objects::pack::pack_writer::PackError;
use crate::store::{CheckOptions, EntryKind, Objects, Pack, PackWriter};

/// How to treat a pack that the disk fails to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Fail: the pack may be intact and readable the next time, and the user did not ask for a
    /// store without it.
    Stops,
    /// Skip it: it remains in the kept copy.
    IsPassedOver,
}

/// Copies every object that `from` can still give into `to`, which no other process writes to.
///
/// # Errors
/// The new store cannot be written, or the caller asked to stop. Damaged objects are skipped.
pub fn copy_readable(
    from: &Path,
    to: &Objects,
    unreadable: Unreadable,
    options: &CheckOptions<'_>,
) -> Result<()> {
    // Without the directory there is nothing to copy.
    let old = match Objects::open(from) {
        Ok(old) => old,
        Err(cause) if cause.code == Code::IO && unreadable == Unreadable::Stops => {
            return Err(cause);
        }
        Err(_) => return Ok(()),
    };
    old.make_packs_readable();
    let mut damaged = Vec::new();
    let present = to.packs();
    for pack in old.pack_list() {
        if present.contains(&pack.stamp) {
            continue;
        }
        if check_objects::is_intact(&pack, options)? {
            link_pack(&pack, &to.objects_dir().join("pack"))?;
        } else {
            let files = [&pack.index_path, &pack.pack_path];
            let files = files
                .into_iter()
                .filter(|_| unreadable == Unreadable::Stops);
            for (path, cause) in
                files.filter_map(|path| Some((path, read_regular::read(path).err()?)))
            {
                // A missing file will not be readable the next time either.
                if cause.raw_os_error().is_some() && cause.kind() != ErrorKind::NotFound {
                    return Err(Error::io("read", path)(cause));
                }
            }
            damaged.push(pack);
        }
    }
    atomic_file::sync_directory(&to.objects_dir().join("pack"))?;
    to.refresh()?;
    let mut writer = PackWriter::begin(to.objects_dir(), to)?;
    // Of each object the first intact copy, in one of these packs or as a file.
    for id in old.by_prefix("") {
        (options.check_interrupt)()?;
        if to.holds(&id) {
            continue;
        }
        let mut is_copied = false;
        for pack in &damaged {
            is_copied = is_copied || copy_entry(pack, &id, &mut writer)?;
        }
        if !is_copied && let Ok((kind, content)) = old.read_any(&id) {
            writer.rewrite(id, kind, &content)?;
        }
    }
    writer.finish()?;
    to.refresh()
}

/// Links a pack: packs are never written to, so both stores can share the file.
fn link_pack(pack: &Pack, pack_dir: &Path) -> Result<()> {
    // The index comes last: a pack without one is ignored.
    for path in [&pack.pack_path, &pack.index_path] {
        if let Some(name) = path.file_name() {
            atomic_file::link_or_copy(path, &pack_dir.join(name))?;
        }
    }
    Ok(())
}

/// Copies an intact entry that is no delta as it is; returns whether it could.
fn copy_entry(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<bool> {
    let (Ok(Some(header)), Ok(Some((entry, end))), Ok(reader)) =
        (pack.header(id), pack.place_of(id), pack.reader())
    else {
        return Ok(false);
    };
    if header.kind == EntryKind::Delta || !pack.has_intact(id) {
        return Ok(false);
    }
    match writer.copy_entry(reader, &entry, end) {
        // The entry is intact, but bytes after it break the checksum.
        Err(PackError::Source(_)) => Ok(false),
        copied => Ok(copied.map(|()| true)?),
    }
}
