//! Taking over objects from a damaged store: wholly good packs as they are, of all others whatever is whole.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file;
use crate::store::objects::loose_files;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::{EntryHeader, EntryKind};
use crate::store::objects::pack::pack_walk;
use crate::store::objects::pack::pack_writer::{PackError, PackWriter};

/// What is made of a pack that the disk does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It may be whole, and readable the next time: nobody asked for a store without it.
    Stops,
    /// It is left behind, in the store that is kept.
    IsPassedOver,
}

/// Brings every object that `from` can still give into `to`, which nobody else knows yet.
///
/// # Errors
/// The new store cannot be written, or we were asked to stop. What is damaged is passed over.
pub fn take_over(from: &Path, to: &Objects, unreadable: Unreadable, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
    // Without the directory there is nothing to take.
    let old = match Objects::open(from) {
        Ok(old) => old,
        Err(cause @ Error::Io { .. }) if unreadable == Unreadable::Stops => return Err(cause),
        Err(_) => return Ok(()),
    };
    old.look_again();
    let mut damaged = Vec::new();
    for pack in old.pack_list() {
        go_on()?;
        if is_wholly_good(&pack, go_on)? {
            link_pack(&pack, &to.objects_dir().join("pack"))?;
        } else {
            if unreadable == Unreadable::Stops {
                for path in [&pack.index_path, &pack.pack_path] {
                    match std::fs::read(path) {
                        // What is gone for good will not be there the next time either.
                        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {}
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
            go_on()?;
            if !to.holds(&entry.id) {
                take_entry(&pack, &entry.id, &mut writer)?;
            }
        }
    }
    for id in loose_files::list(from).unwrap_or_default() {
        go_on()?;
        if let Ok((kind, content)) = loose_files::read(from, &id)
            && !to.holds(&id)
        {
            writer.rewrite(id, kind, &content)?;
        }
    }
    writer.finish()?;
    to.refresh()
}

/// Brings single objects that are wanted, as far as `from` has them; those that were found.
///
/// # Errors
/// The pack cannot be written.
pub fn take_some(from: &Objects, wanted: &[ObjectId], writer: &mut PackWriter<'_>) -> Result<Vec<ObjectId>> {
    let mut found = Vec::new();
    for id in wanted {
        if let Ok((kind, content)) = from.read_any(id) {
            writer.rewrite(*id, kind, &content)?;
            found.push(*id);
        }
    }
    Ok(found)
}

fn is_wholly_good(pack: &Pack, go_on: &dyn Fn() -> Result<()>) -> Result<bool> {
    let framed = pack.check_frame().is_ok()
        && pack.reader().and_then(pack_walk::check_trailer).is_ok_and(|(_, is_right)| is_right);
    let Some(index) = pack.index().ok().filter(|_| framed) else { return Ok(false) };
    for entry in index.entries() {
        go_on()?;
        if !pack.can_give(&entry.id) {
            return Ok(false);
        }
    }
    Ok(pack.reader().is_ok_and(|reader| u64::from(reader.declared_count()) == index.count() as u64))
}

/// Packs are never written to, so both stores can have the same file.
fn link_pack(pack: &Pack, pack_dir: &Path) -> Result<()> {
    // The index comes last: a pack without one is not looked at.
    for path in [&pack.pack_path, &pack.index_path] {
        let Some(name) = path.file_name() else { continue };
        atomic_file::link_or_copy(path, &pack_dir.join(name))?;
    }
    Ok(())
}

/// An entry that is damaged is left behind; its store is kept.
fn take_entry(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<()> {
    let copied = match (pack.header(id), pack.place_of(id), pack.reader()) {
        (
            Ok(Some(EntryHeader { kind: EntryKind::Object(_) | EntryKind::Tag, .. })),
            Ok(Some((entry, end))),
            Ok(reader),
        ) => {
            if pack.has_whole(id) {
                writer.copy_entry(reader, &entry, end)
            } else {
                Ok(())
            }
        }
        (Ok(Some(EntryHeader { kind: EntryKind::Delta, .. })), _, _) => match pack.read_resolved(id) {
            Ok(Some(found)) => writer.rewrite(*id, found.0, &found.1),
            _ => Ok(()),
        },
        _ => Ok(()),
    };
    match copied {
        // The entry is whole, but what follows it is not what the checksum was made of.
        Err(PackError::Source(_)) => take_whole(pack, id, writer),
        other => other.map_err(Error::from),
    }
}

fn take_whole(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<()> {
    match pack.read_resolved(id) {
        Ok(Some(found)) => writer.rewrite(*id, found.0, &found.1).map_err(Error::from),
        _ => Ok(()),
    }
}
