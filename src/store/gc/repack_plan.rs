//! Which pack holds which live objects, each claimed by one pack, so that copies elsewhere are dead;
//! and from these figures which packs stay, which go and which are merged. No file is touched.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::objects::loose_files;
use crate::store::{EntryKind, IdMap, IndexEntry, ObjectIds, Objects, Pack};

/// Upper bound on live bytes copied after a `create`, so that it is not noticed.
const COPIED_CHEAPLY_BYTES: u64 = 8 << 20;
/// Size in bytes above which a pack stays separate.
const SMALL_BYTES: u64 = 2 << 20;
/// Approximate size of a merged pack, in bytes, so that a merge needs little free space at once.
const MERGED_UPTO_BYTES: u64 = 32 << 20;
/// Percentage of live bytes from which a pack stays as it is.
const LIVE_PERCENT: u64 = 80;
/// The same for a pack with deltas: rewriting unpacks them, which can cost more than it frees.
const LIVE_PERCENT_OF_DELTAS: u64 = 50;

/// How much work may be done to free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// What is not noticed after a `create`.
    Cheap,
    /// That of `prune`.
    Usual,
    /// No dead byte is left in a pack of any size.
    Tight,
}

/// Figures of one pack. A live object in several packs counts in one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackFacts {
    pub name: String,
    pub live_objects: u64,
    pub total_objects: u64,
    /// Compressed bytes of live entries.
    pub live_bytes: u64,
    /// Size of the pack file in bytes.
    pub total_bytes: u64,
    /// Some of its objects are deltas.
    pub has_deltas: bool,
    /// The pack cannot be read whole; none of its objects may be lost.
    pub damaged: bool,
}

/// The fate of each pack, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepackPlan {
    pub keep: Vec<String>,
    /// Packs that hold the only copy of no live object.
    pub drop: Vec<String>,
    /// Groups of packs, each merged into one new pack, one after the other.
    pub merge: Vec<Vec<String>>,
    /// Whether loose objects are packed (live) or removed (dead).
    pub loose: bool,
}

impl RepackPlan {
    /// Whether all packs stay as they are; loose objects may still need work.
    pub fn keeps_all_packs(&self) -> bool {
        self.drop.is_empty() && self.merge.is_empty()
    }
}

/// Drops dead packs, rewrites mostly dead ones and merges small ones, those with the fewest live
/// bytes first.
pub fn plan(facts: &[PackFacts], effort: Effort) -> RepackPlan {
    let mut plan = RepackPlan {
        loose: effort != Effort::Cheap,
        ..RepackPlan::default()
    };
    let mut rewritten: Vec<&PackFacts> = Vec::new();
    for pack in facts {
        let is_full = pack.live_objects == pack.total_objects && pack.total_bytes > SMALL_BYTES;
        let stays = match effort {
            Effort::Cheap | Effort::Usual => stays(pack),
            Effort::Tight => is_full,
        };
        if pack.damaged || (pack.live_objects > 0 && stays) {
            plan.keep.push(pack.name.clone());
        } else if pack.live_objects == 0 {
            plan.drop.push(pack.name.clone());
        } else {
            rewritten.push(pack);
        }
    }
    rewritten.sort_by_key(|pack| (pack.live_bytes, &pack.name));
    let mut left = match effort {
        Effort::Cheap => COPIED_CHEAPLY_BYTES,
        Effort::Usual | Effort::Tight => u64::MAX,
    };
    for group in in_groups(&rewritten, left.min(MERGED_UPTO_BYTES)) {
        let names = group.iter().map(|pack| pack.name.clone());
        let bytes: u64 = group.iter().map(|pack| pack.live_bytes).sum();
        if is_worth_it(group) && bytes <= left {
            left -= bytes;
            plan.merge.push(names.collect());
        } else {
            plan.keep.extend(names);
        }
    }
    plan
}

/// Whether a prune leaves a pack with live objects as it is.
pub fn stays(pack: &PackFacts) -> bool {
    let percent = if pack.has_deltas {
        LIVE_PERCENT_OF_DELTAS
    } else {
        LIVE_PERCENT
    };
    let is_mostly_live =
        u128::from(pack.live_bytes) * 100 >= u128::from(pack.total_bytes) * u128::from(percent);
    is_mostly_live && (pack.total_bytes > SMALL_BYTES || pack.has_deltas)
}

fn in_groups<'a, 'f>(packs: &'a [&'f PackFacts], most_bytes: u64) -> Vec<&'a [&'f PackFacts]> {
    let (mut groups, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, pack) in packs.iter().enumerate() {
        if at > start && bytes + pack.live_bytes > most_bytes {
            groups.push(&packs[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += pack.live_bytes;
    }
    if start < packs.len() {
        groups.push(&packs[start..]);
    }
    groups
}

/// Whether a merge reduces the packs or drops dead objects.
fn is_worth_it(group: &[&PackFacts]) -> bool {
    group.len() > 1
        || group
            .iter()
            .any(|pack| pack.live_objects < pack.total_objects)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::properties;
    use proptest::prelude::*;

    fn pack(name: &str, live_percent: u64, total_bytes: u64) -> PackFacts {
        PackFacts {
            name: name.into(),
            live_objects: live_percent,
            total_objects: 100,
            live_bytes: total_bytes / 100 * live_percent,
            total_bytes,
            has_deltas: false,
            damaged: false,
        }
    }

    const LARGE: u64 = 100 << 20;

    #[test]
    fn each_pack_gets_what_its_figures_ask_for() {
        let deltas = PackFacts {
            has_deltas: true,
            ..pack("deltas", 60, LARGE)
        };
        let damaged = PackFacts {
            damaged: true,
            ..pack("damaged", 0, LARGE)
        };
        let facts = [
            pack("live", 80, LARGE),
            pack("dead", 0, LARGE),
            pack("half", 50, LARGE),
            pack("third", 30, LARGE),
            pack("s1", 100, 1000),
            pack("s2", 50, 1000),
            pack("rest", 1, LARGE),
            deltas,
            damaged,
        ];
        let usual = plan(&facts, Effort::Usual);
        assert_eq!(usual.keep, ["live", "deltas", "damaged"]);
        assert_eq!(usual.drop, ["dead"]);
        let small = vec!["s2", "s1", "rest", "third"];
        assert_eq!(usual.merge, [small, vec!["half"]]);
        let cheap = plan(&facts, Effort::Cheap);
        assert_eq!(cheap.drop, ["dead"]);
        assert_eq!(cheap.merge, [["s2", "s1", "rest"]]);
        assert!(usual.loose && !cheap.loose);
        let tight = plan(&facts, Effort::Tight);
        assert_eq!(tight.keep, ["damaged"]);
    }

    #[test]
    fn one_small_pack_is_rewritten_only_if_that_frees_something() {
        assert!(plan(&[pack("a", 100, 1000)], Effort::Usual).keeps_all_packs());
        assert_eq!(plan(&[pack("a", 99, 1000)], Effort::Usual).merge, [["a"]]);
        assert!(plan(&[], Effort::Usual).keeps_all_packs());
    }

    proptest! {
        #![proptest_config(properties(256))]

        #[test]
        fn every_pack_stands_in_the_plan_once(shares in proptest::collection::vec((0_u64..=100, 0_u64..1 << 24), 0..80)) {
            let facts: Vec<_> =
                shares.iter().enumerate().map(|(at, (share, bytes))| pack(&at.to_string(), *share, *bytes)).collect();
            for effort in [Effort::Cheap, Effort::Usual, Effort::Tight] {
                let plan = plan(&facts, effort);
                let mut named: Vec<usize> = plan.keep.iter().chain(&plan.drop).chain(plan.merge.iter().flatten())
                    .map(|name| name.parse().unwrap()).collect();
                named.sort_unstable();
                prop_assert!(named.into_iter().eq(0..facts.len()));
            }
        }
    }
}
