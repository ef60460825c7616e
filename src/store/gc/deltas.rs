//! Deltas between the versions of a large file. libgit2 makes them of contents in memory: it opens
//! no file of the store, and what it makes is read back like any other pack.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufWriter, Write as _};
use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::{atomic_file, read_regular};
use crate::store::gc::repack_plan::stays;
use crate::store::objects::pack::pack_list::{bytes_arrived, check_new};
use crate::store::objects::pack::{pack_publish, pack_walk};
use crate::store::{
    IdMap, Layout, ObjectKind, Objects, PackReader, PackUsage, Reach, Store, TemporaryFile,
};

/// Size in bytes of a file for which deltas are worthwhile; making one takes several times its
/// memory.
const FILE_BYTES: RangeInclusive<u64> = 1 << 20..=128 << 20;
/// Smallest compressed size, in bytes, of an object that is looked at.
const WORTH_A_LOOK_BYTES: u64 = 64 << 10;
/// Bytes of content in memory at once, unless two versions are more.
const AT_ONCE_BYTES: u64 = 128 << 20;
/// Versions of fewer bytes are packed anew as soon as there is another one.
const PACKED_ANEW_BYTES: u64 = 64 << 20;
/// Otherwise one version of this number has to be new.
const ONE_NEW_OF: usize = 4;

/// A version of a file.
struct Version {
    id: ObjectId,
    size: u64,
    /// That of its file.
    name: u64,
    /// Whether it is in a pack of deltas that stays.
    is_settled: bool,
}

/// The names of the packs that were made here. Without them they are made again.
pub fn packs(layout: &Layout) -> HashSet<String> {
    let text = read_regular::read_text(&layout.delta_packs()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Packs the versions of each large file anew, and the states of each run, where there are new
/// ones; returns whether there were. The old copies stay where they are.
///
/// # Errors
/// A pack cannot be written; those before it are complete.
pub fn write(store: &Store, survey: &PackUsage, live: &Reach<'_>) -> Result<bool> {
    let families = families(survey, live, &store.workflow_states()?);
    let mut batch: Vec<Version> = Vec::new();
    let mut bytes = 0;
    let is_new = !families.is_empty();
    for version in families.into_iter().flatten() {
        if batch.len() > 1 && bytes + version.size > AT_ONCE_BYTES {
            write_pack(store, &std::mem::take(&mut batch))?;
            bytes = 0;
        }
        bytes += version.size;
        batch.push(version);
    }
    if is_new {
        write_pack(store, &batch)?;
    }
    Ok(is_new)
}

/// The versions of each file, found by its name, that are to be packed anew; the largest first.
fn families(survey: &PackUsage, live: &Reach<'_>, states: &[Vec<ObjectId>]) -> Vec<Vec<Version>> {
    let of_runs: IdMap<u64> = (0..)
        .zip(states)
        .flat_map(|(run, ids)| ids.iter().map(move |id| (*id, run)))
        .collect();
    let mut families: BTreeMap<(bool, u64), Vec<Version>> = BTreeMap::new();
    for found in survey.packs.iter().filter(|found| !found.facts.damaged) {
        let is_settled = found.is_of_deltas && stays(&found.facts);
        for entry in &found.claimed {
            let run = of_runs.get(&entry.id);
            let Some(name) = run.or_else(|| live.names.get(&entry.id)) else {
                continue;
            };
            let is_looked_at = run.is_some()
                || found.is_of_deltas
                || found.pack.room_of(entry) >= WORTH_A_LOOK_BYTES;
            if is_looked_at
                && let Ok(Some((ObjectKind::Blob, size))) = found.pack.kind_and_size(&entry.id)
                && (run.is_some() || FILE_BYTES.contains(&size))
            {
                let family = families.entry((run.is_some(), *name)).or_default();
                family.push(Version {
                    id: entry.id,
                    size,
                    name: *name,
                    is_settled,
                });
            }
        }
    }
    let mut families: Vec<Vec<Version>> = families
        .into_values()
        .filter(|family| is_due(family))
        .collect();
    for family in &mut families {
        family.sort_by_key(|version| (std::cmp::Reverse(version.size), version.id));
    }
    families
}

fn is_due(family: &[Version]) -> bool {
    let new = family.iter().filter(|version| !version.is_settled).count();
    let bytes: u64 = family.iter().map(|version| version.size).sum();
    family.len() > 1 && new > 0 && (bytes <= PACKED_ANEW_BYTES || new * ONE_NEW_OF >= family.len())
}

/// Writes one pack, makes it durable and reads it back. Versions that cannot be read stay out.
fn write_pack(store: &Store, versions: &[Version]) -> Result<()> {
    let (layout, dir) = (store.layout(), store.layout().packs());
    let temporary = TemporaryFile::create(&dir, "tmp_pack_", "_")?;
    let ids = deltify(store.objects(), versions, &temporary)?;
    let reader = PackReader::open_damaged(temporary.path());
    let mut walk = pack_walk::walk(&reader.map_err(|why| Error::damaged("a new pack", why))?);
    let found: HashSet<ObjectId> = walk.entries.iter().map(|entry| entry.id).collect();
    if !walk.is_whole || found != ids {
        return Err(Error::damaged("a new pack of deltas", "it is not whole"));
    }
    let made = pack_publish::complete(&dir, temporary, walk.trailer, &mut walk.entries)?;
    for stamp in pack_publish::publish(&dir, vec![made], None)? {
        check_new(&dir, &stamp, bytes_arrived)?;
        let mut names = packs(layout);
        names.retain(|name| dir.join(format!("{name}.pack")).exists());
        names.insert(stamp.name);
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        let text: String = names.iter().flat_map(|name| [name, "\n"]).collect();
        atomic_file::replace(&layout.delta_packs(), text.as_bytes())?;
    }
    Ok(())
}

/// Writes a pack of the versions that can be read; returns their ids.
fn deltify(
    objects: &Objects,
    versions: &[Version],
    temporary: &TemporaryFile,
) -> Result<HashSet<ObjectId>> {
    let failed = |cause: git2::Error| Error::unexpected(format!("cannot make deltas: {cause}"));
    let odb = git2::Odb::new().map_err(failed)?;
    odb.add_new_mempack_backend(1).map_err(failed)?;
    let mut ids = HashSet::new();
    for version in versions {
        if let Ok((ObjectKind::Blob, content)) = objects.read(&version.id) {
            odb.write(git2::ObjectType::Blob, &content)
                .map_err(failed)?;
            ids.insert(version.id);
        }
    }
    let repository = git2::Repository::from_odb(odb).map_err(failed)?;
    // Without a configuration of its own it would look for that of the user.
    repository
        .set_config(&git2::Config::new().map_err(failed)?)
        .map_err(failed)?;
    let mut builder = repository.packbuilder().map_err(failed)?;
    builder.set_threads(1);
    for version in versions.iter().filter(|version| ids.contains(&version.id)) {
        let id = git2::Oid::from_bytes(version.id.as_bytes()).map_err(failed)?;
        let name = format!("{:x}", version.name);
        builder.insert_object(id, Some(&name)).map_err(failed)?;
    }
    let mut out = BufWriter::new(temporary.file());
    let mut written: io::Result<()> = Ok(());
    let done = builder.foreach(|bytes| {
        written = out.write_all(bytes);
        written.is_ok()
    });
    written
        .and_then(|()| out.flush())
        .map_err(Error::io("write", temporary.path()))?;
    done.map_err(failed)?;
    Ok(ids)
}
