//! Which pack holds which live objects: each is claimed by one pack, so copies elsewhere are dead.
//! Writes nothing.

use std::sync::Arc;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::gc::repack_plan::{PackFacts, is_low};
use crate::store::objects::id_set::{IdMap, ObjectIds};
use crate::store::objects::loose_files;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_delta::{self, Base};
use crate::store::objects::pack::pack_index::IndexEntry;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::EntryKind;

/// A pack and its live objects.
pub struct SurveyedPack {
    pub pack: Arc<Pack>,
    /// Figures of the pack, before a search for deltas.
    pub facts: PackFacts,
    /// Live objects claimed by this pack.
    pub claimed: Vec<IndexEntry>,
}

impl SurveyedPack {
    fn has_deltas(&self) -> bool {
        is_low(&self.facts)
            && self
                .claimed
                .iter()
                .any(|entry| is_delta(&self.pack, &entry.id))
    }
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
    /// The figures of all packs. Searches packs with a low live share for deltas, which reads each
    /// header there.
    pub fn facts(&self) -> Vec<PackFacts> {
        self.packs
            .iter()
            .map(|found| PackFacts {
                has_deltas: found.has_deltas(),
                ..found.facts.clone()
            })
            .collect()
    }

    /// The figures without a search for deltas, for which there is [`Self::has_deltas`].
    pub fn quick_facts(&self) -> Vec<PackFacts> {
        self.packs.iter().map(|found| found.facts.clone()).collect()
    }

    /// Whether the pack of that name has a low live share and holds deltas.
    pub fn has_deltas(&self, name: &str) -> bool {
        self.get(name).is_some_and(SurveyedPack::has_deltas)
    }

    pub fn get(&self, name: &str) -> Option<&SurveyedPack> {
        self.packs.iter().find(|pack| pack.facts.name == name)
    }
}

/// Reads the index of every pack.
///
/// # Errors
/// The directories cannot be listed.
pub fn survey(objects: &Objects, live: &ObjectIds) -> Result<PackUsage> {
    objects.refresh()?;
    let loose = loose_files::list(objects.objects_dir())?;
    let mut packs: Vec<SurveyedPack> = objects
        .pack_list()
        .into_iter()
        .map(|pack| survey_frame(pack, live))
        .collect();
    // Packs that will stay claim first, so that copies elsewhere are dead.
    packs.sort_by(|a, b| {
        let rank = |found: &SurveyedPack| {
            (
                is_low(&found.facts),
                std::cmp::Reverse(found.facts.total_bytes),
            )
        };
        rank(a)
            .cmp(&rank(b))
            .then_with(|| a.facts.name.cmp(&b.facts.name))
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

fn survey_frame(pack: Arc<Pack>, live: &ObjectIds) -> SurveyedPack {
    let damaged = pack.check_frame().is_err();
    let mut facts = PackFacts {
        name: pack.stamp.name.clone(),
        live_objects: 0,
        total_objects: 0,
        live_bytes: 0,
        total_bytes: pack.stamp.size_bytes,
        has_deltas: false,
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
    }
}

fn count_live(pack: &Pack, claimed: &[IndexEntry], facts: &mut PackFacts) {
    facts.live_objects = claimed.len() as u64;
    if let (Ok(index), Ok(reader)) = (pack.index(), pack.reader()) {
        let end = reader.entries_end();
        facts.live_bytes = claimed
            .iter()
            .map(|entry| index.end_of(entry.offset, end).saturating_sub(entry.offset))
            .sum();
    }
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

fn is_delta(pack: &Pack, id: &ObjectId) -> bool {
    matches!(pack.header(id), Ok(Some(header)) if header.kind == EntryKind::Delta)
}

/// The base of the delta at `offset`.
pub fn base_id(pack: &Pack, offset: u64) -> Option<ObjectId> {
    match pack_delta::base_of(pack.reader().ok()?, offset).ok()?.0 {
        Base::Object(id) => Some(id),
        Base::At(offset) => pack.index().ok()?.id_of_offset(offset),
    }
}
