//! Which pack holds which live objects: each is claimed by one pack, so copies elsewhere are dead.
//! Writes nothing.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::gc::repack_plan::{PackFacts, stays};
use crate::store::objects::loose_files;
use crate::store::{EntryKind, IdMap, IndexEntry, ObjectIds, Objects, Pack};

/// Objects of a pack that are looked at to tell whether it has deltas.
const LOOKED_AT: usize = 16;

/// A pack and its live objects.
pub struct SurveyedPack {
    pub pack: Arc<Pack>,
    pub facts: PackFacts,
    /// Live objects claimed by this pack.
    pub claimed: Vec<IndexEntry>,
    /// Whether it was made of versions of large files.
    pub is_of_deltas: bool,
}

/// All packs and loose objects of a store, compared with the live objects.
pub struct PackUsage {
    pub packs: Vec<SurveyedPack>,
    /// Live objects that exist but that no readable pack can give.
    pub unclaimed: Vec<ObjectId>,
    /// All loose objects, live or dead.
    pub loose: Vec<ObjectId>,
}

impl PackUsage {
    /// The figures of all packs.
    pub fn facts(&self) -> Vec<PackFacts> {
        self.packs.iter().map(|found| found.facts.clone()).collect()
    }

    pub fn get(&self, name: &str) -> Option<&SurveyedPack> {
        self.packs.iter().find(|pack| pack.facts.name == name)
    }
}

/// Reads the index of every pack, of which those named `of_deltas` were made of large files.
///
/// # Errors
/// The directories cannot be listed.
pub fn survey(
    objects: &Objects,
    live: &ObjectIds,
    of_deltas: &HashSet<String>,
) -> Result<PackUsage> {
    objects.refresh()?;
    let loose = loose_files::list(objects.objects_dir())?;
    let mut packs: Vec<SurveyedPack> = objects
        .pack_list()
        .into_iter()
        .map(|pack| survey_frame(pack, live, of_deltas))
        .collect();
    // Packs that will stay claim first, so that copies elsewhere are dead; of those of deltas the
    // newest, which was made of the others.
    packs.sort_by_cached_key(|found| {
        let newest = if found.is_of_deltas {
            found.pack.stamp.mtime_ns
        } else {
            0
        };
        (
            !found.is_of_deltas,
            !stays(&found.facts),
            Reverse(newest),
            Reverse(found.facts.total_bytes),
            found.facts.name.clone(),
        )
    });
    let copies = count_copies(&packs, &loose);
    let mut taken = ObjectIds::default();
    taken.reserve(live.len());
    for found in &mut packs {
        claim(found, &copies, &mut taken);
    }
    // Missing objects are left out: no removal can harm them. They can only be blobs, on which
    // nothing depends.
    let mut unclaimed: Vec<ObjectId> = live
        .difference(&taken)
        .filter(|id| objects.holds(id))
        .copied()
        .collect();
    unclaimed.sort_unstable();
    Ok(PackUsage {
        packs,
        unclaimed,
        loose,
    })
}

fn survey_frame(pack: Arc<Pack>, live: &ObjectIds, of_deltas: &HashSet<String>) -> SurveyedPack {
    let damaged = pack.check_frame().is_err();
    let is_of_deltas = of_deltas.contains(&pack.stamp.name);
    let mut facts = PackFacts {
        name: pack.stamp.name.clone(),
        live_objects: 0,
        total_objects: 0,
        live_bytes: 0,
        total_bytes: pack.stamp.size_bytes,
        has_deltas: is_of_deltas || has_deltas(&pack),
        damaged,
    };
    let mut claimed = Vec::new();
    if let (Ok(index), Ok(_)) = (pack.index(), pack.reader()) {
        facts.total_objects = index.count() as u64;
        claimed.extend(index.entries().filter(|entry| live.contains(&entry.id)));
    }
    count_live(&pack, &claimed, &mut facts);
    SurveyedPack {
        pack,
        facts,
        claimed,
        is_of_deltas,
    }
}

fn count_live(pack: &Pack, claimed: &[IndexEntry], facts: &mut PackFacts) {
    facts.live_objects = claimed.len() as u64;
    facts.live_bytes = claimed.iter().map(|entry| pack.room_of(entry)).sum();
}

/// The number of copies of each object that has more than one.
fn count_copies(packs: &[SurveyedPack], loose: &[ObjectId]) -> IdMap<u32> {
    let mut copies: IdMap<u32> = IdMap::default();
    for id in packs
        .iter()
        .flat_map(|found| &found.claimed)
        .map(|entry| &entry.id)
        .chain(loose)
    {
        *copies.entry(*id).or_default() += 1;
    }
    copies.retain(|_, count| *count > 1);
    copies
}

fn claim(found: &mut SurveyedPack, copies: &IdMap<u32>, taken: &mut ObjectIds) {
    let pack = Arc::clone(&found.pack);
    // Other copies of an object will be removed, so this one must be intact. A single copy stays.
    let damaged = found.facts.damaged;
    let before = found.claimed.len();
    found.claimed.retain(|IndexEntry { id, .. }| {
        if taken.contains(id) || (copies.contains_key(id) && (damaged || !pack.has_intact(id))) {
            return false;
        }
        taken.insert(*id)
    });
    if found.claimed.len() < before {
        count_live(&pack, &found.claimed, &mut found.facts);
    }
}

/// Whether there is a delta among a few objects, whose ids make them a random choice.
fn has_deltas(pack: &Pack) -> bool {
    let is_delta = |entry: IndexEntry| matches!(pack.header(&entry.id), Ok(Some(header)) if header.kind == EntryKind::Delta);
    let index = pack.index();
    index.is_ok_and(|index| index.entries().take(LOOKED_AT).any(is_delta))
}
