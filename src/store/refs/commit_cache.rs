//! A cache of checkpoint commits, so that listing opens no pack.
//!
//! A commit is trusted while its pack and that pack's index keep their size and time. A check reads
//! the commits themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::UNIX_EPOCH;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::files::{atomic_file, read_regular};
use crate::store::small_files::stat_cache_head::{SUM_BYTES, put, sum_at_end};
use crate::store::{Input, Layout, Objects, Pack, PackStamp};

const COMMITS_MAGIC: &[u8; 8] = b"CKPTCM01";
/// Fewest commits read from packs for which the file is rewritten.
const WORTH_WRITING: usize = 8;

/// Stamps that tell whether a pack and its index are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    pack: PackStamp,
    index: (u64, i64),
}

impl Holder {
    fn of(pack: &Pack) -> Option<Self> {
        Some(Self {
            pack: pack.stamp.clone(),
            index: stamp_of(&pack.index_path)?,
        })
    }

    /// The packs as last listed.
    pub fn all(objects: &Objects) -> BTreeSet<Self> {
        let packs = objects.pack_list();
        packs.iter().filter_map(|pack| Self::of(pack)).collect()
    }

    pub fn render(&self, out: &mut Vec<u8>) {
        self.pack.render(out);
        put(out, self.index.0);
        put(out, self.index.1.cast_unsigned());
    }

    pub fn parse(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            pack: input.pack()?,
            index: (input.number()?, input.number()?.cast_signed()),
        })
    }
}

/// A pack and its commits.
type Held = (Holder, Vec<(ObjectId, Vec<u8>)>);

/// Contents of commits by id.
#[derive(Debug, Default)]
pub struct CachedCommits {
    held: BTreeMap<Holder, Vec<(ObjectId, Vec<u8>)>>,
    /// The position of each commit in `held`.
    places: HashMap<ObjectId, (Holder, usize)>,
}

impl CachedCommits {
    pub fn get(&self, id: ObjectId) -> Option<&[u8]> {
        let (holder, at) = self.places.get(&id)?;
        Some(&self.held.get(holder)?.get(*at)?.1)
    }

    fn put(&mut self, holder: Holder, id: ObjectId, content: Vec<u8>) {
        let commits = self.held.entry(holder.clone()).or_default();
        commits.push((id, content));
        self.places.insert(id, (holder, commits.len() - 1));
    }
}

/// Whether the file is valid; `None` if there is none.
pub fn is_sound(layout: &Layout) -> Option<bool> {
    let bytes = read_regular::read(&layout.commits()).ok()?;
    Some(parse(&bytes).is_some())
}

/// Reads the commits that can be trusted; none if the file is invalid.
pub fn read(layout: &Layout, packs: &BTreeSet<Holder>) -> CachedCommits {
    let found = read_regular::read(&layout.commits())
        .ok()
        .and_then(|bytes| parse(&bytes))
        .unwrap_or_default();
    let mut cached = CachedCommits::default();
    for (holder, commits) in found {
        if packs.contains(&holder) {
            for (id, content) in commits {
                cached.put(holder.clone(), id, content);
            }
        }
    }
    cached
}

/// Rewrites the file if many commits had to be `read` from packs, or if most of those in it are not
/// `wanted` again.
///
/// # Errors
/// The file cannot be written; it is as before.
pub fn save(
    layout: &Layout,
    objects: &Objects,
    cached: &CachedCommits,
    read: Vec<(ObjectId, Vec<u8>)>,
    wanted: &dyn Fn(&ObjectId) -> bool,
) -> Result<()> {
    let unwanted = cached.places.keys().filter(|id| !wanted(id)).count();
    if read.len() < WORTH_WRITING && unwanted * 2 <= cached.places.len() {
        return Ok(());
    }
    let mut held = cached.held.clone();
    let packs = objects.pack_list();
    for (id, content) in read {
        let has_it = |pack: &&std::sync::Arc<Pack>| {
            pack.index().is_ok_and(|index| index.find(&id).is_some())
        };
        let Some(pack) = packs
            .iter()
            .find(has_it)
            .filter(|pack| pack.damage().is_none())
        else {
            continue;
        };
        if let Some(holder) = Holder::of(pack) {
            held.entry(holder).or_default().push((id, content));
        }
    }
    for commits in held.values_mut() {
        commits.retain(|(id, _)| wanted(id));
    }
    held.retain(|_, commits| !commits.is_empty());
    atomic_file::replace_derived(&layout.own(), &layout.commits(), &render(&held))
}

/// Size and time of a regular file.
fn stamp_of(path: &Path) -> Option<(u64, i64)> {
    let meta = std::fs::symlink_metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    let age = meta
        .modified()
        .ok()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Some((
        meta.len(),
        i64::try_from(age.as_nanos()).unwrap_or(i64::MAX),
    ))
}

fn render(held: &BTreeMap<Holder, Vec<(ObjectId, Vec<u8>)>>) -> Vec<u8> {
    let mut out = COMMITS_MAGIC.to_vec();
    put(&mut out, held.len() as u64);
    for (holder, commits) in held {
        holder.render(&mut out);
        put(&mut out, commits.len() as u64);
        for (id, content) in commits {
            out.extend(id.as_bytes());
            put(&mut out, content.len() as u64);
            out.extend(content);
        }
    }
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    out
}

fn parse(bytes: &[u8]) -> Option<Vec<Held>> {
    sum_at_end(bytes)?;
    let mut input = Input(bytes.get(..bytes.len() - SUM_BYTES)?);
    if input.take(COMMITS_MAGIC.len())? != COMMITS_MAGIC {
        return None;
    }
    let holders = input.number()?;
    (0..holders).map(|_| parse_holder(&mut input)).collect()
}

fn parse_holder(input: &mut Input<'_>) -> Option<Held> {
    let holder = Holder::parse(input)?;
    let count = input.number()?;
    let mut commit = || {
        let id = ObjectId::from_slice(input.take(20)?)?;
        let length = usize::try_from(input.number()?).ok()?;
        Some((id, input.take(length)?.to_vec()))
    };
    Some((holder, (0..count).map(|_| commit()).collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_the_same_and_a_flipped_byte_is_noticed() {
        let id = ObjectId::from_hex("4b825dc642cb6eb9a060e54bf8d69288fbee4904").unwrap();
        let pack = PackStamp {
            name: "pack-x".into(),
            size_bytes: 7,
            mtime_ns: -5,
        };
        let held = BTreeMap::from([(
            Holder {
                pack,
                index: (3, 4),
            },
            vec![(id, b"tree".to_vec()), (id, Vec::new())],
        )]);
        let bytes = render(&held);
        assert_eq!(parse(&bytes), Some(held.into_iter().collect()));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert_eq!(parse(&flipped), None, "byte {at}");
            assert_eq!(parse(&bytes[..at]), None, "cut at {at}");
        }
    }
}
