//! Copies objects from a damaged store: intact packs as they are, from others every intact object.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Code, Error, Result};
use crate::model::ObjectId;
use crate::store::files::{atomic_file, read_regular};
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_walk;
use crate::store::objects::pack::pack_writer::PackError;
use crate::store::{EntryHeader, EntryKind, Objects, Pack, PackWriter};

/// How to treat a pack that the disk fails to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Fail: the pack may be intact and readable the next time, and the user did not ask for a
    /// store without it.
    Stops,
    /// Skip it: it remains in the kept copy.
    IsPassedOver,
}

/// Copies every object that `from` can still give into `to`, which no other process uses yet.
///
/// # Errors
/// The new store cannot be written, or the caller asked to stop. Damaged objects are skipped.
pub fn copy_readable(
    from: &Path,
    to: &Objects,
    unreadable: Unreadable,
    check_interrupt: &dyn Fn() -> Result<()>,
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
    for pack in old.pack_list() {
        check_interrupt()?;
        if is_intact(&pack, check_interrupt)? {
            link_pack(&pack, &to.objects_dir().join("pack"))?;
        } else {
            if unreadable == Unreadable::Stops {
                for path in [&pack.index_path, &pack.pack_path] {
                    match read_regular::read(path) {
                        // A missing file will not be readable the next time either.
                        Err(cause)
                            if matches!(
                                cause.kind(),
                                ErrorKind::NotFound | ErrorKind::IsADirectory
                            ) => {}
                        read => drop(read.map_err(Error::io("read", path))?),
                    }
                }
            }
            damaged.push(pack);
        }
    }
    atomic_file::sync_directory(&to.objects_dir().join("pack"))?;
    to.refresh()?;
    let mut writer = PackWriter::begin(to.objects_dir(), to)?;
    for pack in damaged {
        let Ok(index) = pack.index() else { continue };
        for entry in index.entries() {
            check_interrupt()?;
            if !to.holds(&entry.id) {
                copy_entry(&pack, &entry.id, &mut writer)?;
            }
        }
    }
    for id in loose_files::list(from).unwrap_or_default() {
        check_interrupt()?;
        if let Ok((kind, content)) = loose_files::read(from, &id)
            && !to.holds(&id)
        {
            writer.rewrite(id, kind, &content)?;
        }
    }
    writer.finish()?;
    to.refresh()
}

/// Copies the wanted objects that `from` has; returns those found.
///
/// # Errors
/// The pack cannot be written.
pub fn copy_wanted(
    from: &Objects,
    wanted: &[ObjectId],
    writer: &mut PackWriter<'_>,
) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    for id in wanted {
        if let Ok((kind, content)) = from.read_any(id) {
            writer.rewrite(*id, kind, &content)?;
            found.push(*id);
        }
    }
    Ok(found)
}

fn is_intact(pack: &Pack, check_interrupt: &dyn Fn() -> Result<()>) -> Result<bool> {
    let framed = pack.check_frame().is_ok()
        && pack
            .reader()
            .and_then(pack_walk::check_trailer)
            .is_ok_and(|(_, is_right)| is_right);
    let Some(index) = pack.index().ok().filter(|_| framed) else {
        return Ok(false);
    };
    for entry in index.entries() {
        check_interrupt()?;
        if !pack.has_intact(&entry.id) {
            return Ok(false);
        }
    }
    Ok(pack
        .reader()
        .is_ok_and(|reader| u64::from(reader.declared_count()) == index.count() as u64))
}

/// Links a pack: packs are never written to, so both stores can share the file.
fn link_pack(pack: &Pack, pack_dir: &Path) -> Result<()> {
    // The index comes last: a pack without one is ignored.
    for path in [&pack.pack_path, &pack.index_path] {
        let Some(name) = path.file_name() else {
            continue;
        };
        atomic_file::link_or_copy(path, &pack_dir.join(name))?;
    }
    Ok(())
}

/// Copies an entry; a damaged one is skipped, since its store is kept.
fn copy_entry(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<()> {
    let copied = match (pack.header(id), pack.place_of(id), pack.reader()) {
        (
            Ok(Some(EntryHeader {
                kind: EntryKind::Object(_),
                ..
            })),
            Ok(Some((entry, end))),
            Ok(reader),
        ) => {
            if pack.has_intact(id) {
                writer.copy_entry(reader, &entry, end)
            } else {
                Ok(())
            }
        }
        (
            Ok(Some(EntryHeader {
                kind: EntryKind::Delta,
                ..
            })),
            _,
            _,
        ) => match pack.read_resolved(id) {
            Ok(Some(found)) => writer.rewrite(*id, found.0, &found.1),
            _ => Ok(()),
        },
        _ => Ok(()),
    };
    match copied {
        // The entry is intact, but bytes after it break the checksum.
        Err(PackError::Source(_)) => copy_resolved(pack, id, writer),
        other => other.map_err(Error::from),
    }
}

fn copy_resolved(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<()> {
    match pack.read_resolved(id) {
        Ok(Some(found)) => writer.rewrite(*id, found.0, &found.1).map_err(Error::from),
        _ => Ok(()),
    }
}
