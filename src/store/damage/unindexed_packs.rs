//! Makes packs with a damaged index or frame readable: in memory, or under the lock on disk.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::store::files::atomic_file;
use crate::store::objects::loose_files::names_in;
use crate::store::objects::pack::pack_index;
use crate::store::objects::pack::pack_list::PackDamage;
use crate::store::objects::pack::pack_walk::{self, PackWalk};
use crate::store::{Objects, Pack, PackIndex, PackReader, ReadError};

/// Packs, made as readable as possible.
#[derive(Debug, Default)]
pub struct ReadablePacks {
    pub packs: Vec<Arc<Pack>>,
    /// The failure to read a pack completely.
    pub unread: Option<Error>,
}

/// The packs of a directory; damaged and unindexed ones are made as readable as possible.
///
/// # Errors
/// The directory cannot be listed.
pub fn make_readable(pack_dir: &Path, listed: &[Arc<Pack>]) -> Result<ReadablePacks> {
    let mut done = ReadablePacks::default();
    for pack in listed {
        let rebuilt = rebuilt(pack, &mut done.unread);
        done.packs.push(rebuilt.map_or(Arc::clone(pack), Arc::new));
    }
    for name in without_index(pack_dir)? {
        if done.packs.iter().all(|pack| pack.stamp.name != name) {
            let found =
                Pack::stat(pack_dir, &name).and_then(|pack| rebuilt(&pack, &mut done.unread));
            done.packs.extend(found.map(Arc::new));
        }
    }
    Ok(done)
}

/// Names of packs without an index.
///
/// # Errors
/// The directory cannot be listed.
pub fn without_index(pack_dir: &Path) -> Result<Vec<String>> {
    let files = names_in(pack_dir)?;
    let orphan = |file: &String| {
        let name = file.strip_suffix(".pack")?;
        let index = format!("{name}.idx");
        (!files.contains(&index)).then(|| name.to_owned())
    };
    Ok(files.iter().filter_map(orphan).collect())
}

/// Rebuilds the index of a damaged pack, in memory; `None` if it is intact or entirely unreadable.
fn rebuilt(pack: &Pack, unread: &mut Option<Error>) -> Option<Pack> {
    let mut unreadable = |cause| {
        unread.get_or_insert(Error::io("read", &pack.pack_path)(cause));
    };
    if pack.damage().is_some() {
        return None;
    }
    let broken = pack.check_frame().err()?.to_string();
    let why = if pack.index_path.symlink_metadata().is_ok() {
        broken
    } else {
        "it is missing".to_owned()
    };
    let mut open = || match PackReader::open_damaged(&pack.pack_path) {
        Ok(reader) => Some(reader),
        Err(ReadError::Io(cause)) if cause.kind() != ErrorKind::NotFound => {
            unreadable(cause);
            None
        }
        Err(_) => None,
    };
    let reader = open()?;
    if let Some(index) = own_index(pack, &reader) {
        let (why, is_whole) = (why.clone(), false);
        let candidate = pack.with_rebuilt_index(index, reader, PackDamage { why, is_whole });
        if candidate.has_any_intact() {
            return Some(candidate);
        }
    }
    let reader = open()?;
    let PackWalk {
        mut entries,
        is_whole,
        trailer,
        unread,
        ..
    } = pack_walk::walk(&reader);
    unread.into_iter().for_each(unreadable);
    let index = PackIndex::parse(pack_index::encode(&mut entries, trailer)).ok()?;
    Some(pack.with_rebuilt_index(index, reader, PackDamage { why, is_whole }))
}

/// The index of a pack if its checksum is right and it is not the index of another pack. An intact
/// pack whose trailer the index does not name has a foreign one.
fn own_index(pack: &Pack, reader: &PackReader) -> Option<PackIndex> {
    let index = pack
        .index()
        .ok()
        .filter(|index| index.checksum_is_right())?;
    let is_own = reader.trailer().ok()? == index.pack_trailer()
        || !pack_walk::check_trailer(reader).is_ok_and(|(_, is_right)| is_right);
    PackIndex::parse(index.bytes().to_vec())
        .ok()
        .filter(|_| is_own)
}

/// Writes the index of every intact pack. The caller holds the lock. Returns how many it wrote.
///
/// # Errors
/// A file cannot be written.
pub fn write_indexes(objects: &Objects) -> Result<usize> {
    objects.make_packs_readable();
    let mut written = 0;
    for pack in objects.pack_list() {
        let (Some(PackDamage { is_whole: true, .. }), Ok(index)) = (pack.damage(), pack.index())
        else {
            continue;
        };
        atomic_file::replace(&pack.index_path, index.bytes())?;
        written += 1;
    }
    if written > 0 {
        objects.forget_damage()?;
    }
    Ok(written)
}
