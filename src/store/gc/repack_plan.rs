//! Which packs stay, which go and which are merged: rules over figures, no file is touched.

use crate::model::state::object_id::ObjectId;
use crate::store::objects::pack::pack_index::IndexEntry;

/// Upper bound on live bytes merged by the gc after a `create`, so that it is not noticed.
const MERGED_CHEAPLY_BYTES: u64 = 512 << 10;
/// Small packs merged per gc whatever they hold: more than are made between two, so that their
/// number stays bounded.
const MERGED_ANYHOW: usize = 10;
/// Size in bytes above which a pack stays separate.
const SMALL_BYTES: u64 = 2 << 20;
/// Approximate size of a merged pack, in bytes, so that a merge needs little free space at once.
const MERGED_UPTO_BYTES: u64 = 32 << 20;
/// Percentage of live bytes from which a pack stays as it is.
const LIVE_PERCENT: u64 = 80;
/// The same for a pack with deltas: rewriting unpacks them, which can cost more than it frees.
const LIVE_PERCENT_OF_DELTAS: u64 = 50;

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
    /// Made by plain git and with deltas. Only determined for packs with a low live share.
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
    /// Versions of large files, newest first, that become deltas before their packs are merged.
    pub runs: Vec<Vec<BlobVersion>>,
    /// Whether loose objects are packed (live) or removed (dead).
    pub loose: bool,
}

impl RepackPlan {
    /// Whether all packs stay as they are; loose objects may still need work.
    pub fn keeps_all_packs(&self) -> bool {
        self.drop.is_empty() && self.merge.is_empty()
    }
}

/// The plan of `prune`: drop dead packs, rewrite mostly dead ones one at a time, merge small ones.
pub fn plan(facts: &[PackFacts]) -> RepackPlan {
    RepackPlan {
        loose: true,
        ..make_plan(facts, is_worth_keeping)
    }
}

/// The plan of a tight prune: no dead byte is left in a pack of any size.
pub fn plan_tight(facts: &[PackFacts]) -> RepackPlan {
    let is_full = |pack: &PackFacts| {
        pack.live_objects == pack.total_objects && pack.total_bytes > SMALL_BYTES
    };
    RepackPlan {
        loose: true,
        ..make_plan(facts, is_full)
    }
}

/// The plan of the gc after a `create`, which cheaply brings the packs down to `at_most`. It drops
/// all large dead packs, and as many small dead ones as needed; if that is not enough, it merges
/// the small packs with the fewest live bytes. No large pack is rewritten. `has_deltas` is asked
/// only for packs about to be merged, overriding their figures.
pub fn plan_cheap(
    facts: &[PackFacts],
    at_most: usize,
    has_deltas: &dyn Fn(&PackFacts) -> bool,
) -> RepackPlan {
    let mut plan = RepackPlan::default();
    let (mut dead, mut small) = (Vec::new(), Vec::new());
    for pack in facts {
        if !pack.damaged && pack.live_objects == 0 {
            dead.push(pack);
        } else if pack.damaged || pack.total_bytes > SMALL_BYTES {
            plan.keep.push(pack.name.clone());
        } else {
            small.push(pack);
        }
    }
    dead.sort_by(|a, b| {
        b.total_bytes
            .cmp(&a.total_bytes)
            .then_with(|| a.name.cmp(&b.name))
    });
    small.sort_by(|a, b| {
        a.live_bytes
            .cmp(&b.live_bytes)
            .then_with(|| a.name.cmp(&b.name))
    });
    let over = facts.len().saturating_sub(at_most);
    let large = dead.partition_point(|pack| pack.total_bytes > SMALL_BYTES);
    let (gone, spared) = dead.split_at(large.max(over).min(dead.len()));
    let (merged, left) = cheap_to_merge(small, over.saturating_sub(gone.len()), has_deltas);
    plan.drop = names_of(gone);
    plan.merge
        .extend((!merged.is_empty()).then(|| names_of(&merged)));
    plan.keep
        .extend([names_of(spared), names_of(&left)].concat());
    plan
}

/// Splits packs into those to merge into one, so that there are `over` fewer, and the rest.
fn cheap_to_merge<'p>(
    small: Vec<&'p PackFacts>,
    over: usize,
    has_deltas: &dyn Fn(&PackFacts) -> bool,
) -> (Vec<&'p PackFacts>, Vec<&'p PackFacts>) {
    let wanted = if over == 0 { 0 } else { over.saturating_add(1) };
    let (mut merged, mut left, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
    for pack in small {
        let with_it = bytes.saturating_add(pack.live_bytes);
        let is_cheap = with_it <= MERGED_CHEAPLY_BYTES || merged.len() < MERGED_ANYHOW;
        if merged.len() < wanted && is_cheap && !has_deltas(pack) {
            bytes = with_it;
            merged.push(pack);
        } else {
            left.push(pack);
        }
    }
    if merged.len() == 1 {
        left.append(&mut merged);
    }
    (merged, left)
}

fn names_of(packs: &[&PackFacts]) -> Vec<String> {
    packs.iter().map(|pack| pack.name.clone()).collect()
}

fn is_worth_keeping(pack: &PackFacts) -> bool {
    let percent = if pack.has_deltas {
        LIVE_PERCENT_OF_DELTAS
    } else {
        LIVE_PERCENT
    };
    // Merged deltas have to be unpacked to be read back.
    is_mostly_live(pack, percent) && (pack.total_bytes > SMALL_BYTES || pack.has_deltas)
}

fn is_mostly_live(pack: &PackFacts, percent: u64) -> bool {
    u128::from(pack.live_bytes) * 100 >= u128::from(pack.total_bytes) * u128::from(percent)
}

/// Whether a pack is searched for deltas before the plan is made.
pub fn is_low(pack: &PackFacts) -> bool {
    pack.live_objects > 0
        && (pack.total_bytes <= SMALL_BYTES || !is_mostly_live(pack, LIVE_PERCENT))
}

fn make_plan(facts: &[PackFacts], is_worth_keeping: impl Fn(&PackFacts) -> bool) -> RepackPlan {
    let mut plan = RepackPlan::default();
    let mut small: Vec<&PackFacts> = Vec::new();
    for pack in facts {
        if pack.damaged {
            plan.keep.push(pack.name.clone());
        } else if pack.live_objects == 0 {
            plan.drop.push(pack.name.clone());
        } else if is_worth_keeping(pack) {
            plan.keep.push(pack.name.clone());
        } else if pack.live_bytes <= SMALL_BYTES {
            small.push(pack);
        } else {
            plan.merge.push(vec![pack.name.clone()]);
        }
    }
    small.sort_by(|a, b| {
        a.live_bytes
            .cmp(&b.live_bytes)
            .then_with(|| a.name.cmp(&b.name))
    });
    for group in in_groups(&small) {
        let names = group.iter().map(|pack| pack.name.clone());
        if is_worth_it(group) {
            plan.merge.push(names.collect());
        } else {
            plan.keep.extend(names);
        }
    }
    plan
}

fn in_groups<'a, 'f>(small: &'a [&'f PackFacts]) -> Vec<&'a [&'f PackFacts]> {
    let (mut groups, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, pack) in small.iter().enumerate() {
        if at > start && bytes + pack.live_bytes > MERGED_UPTO_BYTES {
            groups.push(&small[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += pack.live_bytes;
    }
    if start < small.len() {
        groups.push(&small[start..]);
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

/// A version of a large file and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobVersion {
    pub entry: IndexEntry,
    /// End offset of its entry.
    pub end: u64,
    /// Name of its pack.
    pub pack: String,
    /// Its base, if it is a delta.
    pub base: Option<ObjectId>,
}

impl BlobVersion {
    pub(super) fn room(&self) -> u64 {
        self.end - self.entry.offset
    }
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

    fn as_told(facts: &PackFacts) -> bool {
        facts.has_deltas
    }

    #[test]
    fn housekeeping_looks_for_deltas_where_it_would_merge_and_passes_them_over() {
        let facts: Vec<_> = (0..40)
            .map(|at| pack(&format!("{at:02}"), 100, 1000 + 100 * at))
            .collect();
        let asked = std::cell::Cell::new(0);
        let plan = plan_cheap(&facts, 37, &|pack| {
            asked.set(asked.get() + 1);
            ["01", "02"].contains(&pack.name.as_str())
        });
        assert_eq!(
            (plan.merge, asked.get()),
            (vec![["00", "03", "04", "05"].map(String::from).to_vec()], 6)
        );
        assert_eq!(plan.keep.len(), 36);
    }

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
        let plan = plan(&facts);
        assert_eq!(plan.keep, ["live", "deltas", "damaged"]);
        assert_eq!(plan.drop, ["dead"]);
        assert_eq!(
            plan.merge,
            [vec!["half"], vec!["third"], vec!["s2", "s1", "rest"]]
        );
        let cheap = plan_cheap(&facts, 1, &as_told);
        assert_eq!(
            (cheap.drop, cheap.merge),
            (vec!["dead".into()], vec![vec!["s2".into(), "s1".into()]])
        );
        assert!(!cheap.loose);
    }

    #[test]
    fn housekeeping_drops_what_is_large_and_dead_and_of_small_packs_as_many_as_needed() {
        let facts = [
            pack("live", 100, 1000),
            pack("d1", 0, 1000),
            pack("d2", 0, 3000),
            pack("d3", 0, 2000),
            pack("huge", 0, LARGE),
        ];
        let drop = |at_most| plan_cheap(&facts, at_most, &as_told).drop;
        assert_eq!(drop(5), ["huge"]);
        assert_eq!(drop(3), ["huge", "d2"]);
        assert_eq!(drop(0), ["huge", "d2", "d3", "d1"]);
        assert_eq!(
            plan_cheap(&facts, 0, &as_told).merge,
            Vec::<Vec<String>>::new(),
            "one pack is no merge"
        );
    }

    #[test]
    fn housekeeping_merges_down_to_the_number_and_the_smallest_only() {
        let merged_of = |unit: u64, at_most: usize| {
            let facts: Vec<_> = (0..60)
                .map(|at| pack(&at.to_string(), 100, unit * (10 + at)))
                .collect();
            let merged = plan_cheap(&facts, at_most, &as_told).merge;
            assert!(merged.len() <= 1);
            merged.concat()
        };
        let smallest = |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>();
        assert_eq!(merged_of(100, 60), smallest(0));
        assert_eq!(merged_of(100, 59), smallest(2));
        assert_eq!(merged_of(100, 34), smallest(27));
        assert_eq!(
            merged_of(3000, 34),
            smallest(11),
            "what is copied at once has a limit"
        );
        assert_eq!(merged_of(30_000, 34), smallest(10), "but a few are");
        assert_eq!(merged_of(300_000, 34), smallest(0), "unless they are large");
    }

    #[test]
    fn one_small_pack_is_rewritten_only_if_that_frees_something() {
        assert!(plan(&[pack("a", 100, 1000)]).keeps_all_packs());
        assert_eq!(plan(&[pack("a", 99, 1000)]).merge, [["a"]]);
        assert!(plan(&[]).keeps_all_packs());
    }

    proptest! {
        #![proptest_config(properties(256))]

        #[test]
        fn every_pack_stands_in_the_plan_once(shares in proptest::collection::vec((0_u64..=100, 0_u64..1 << 24), 0..80)) {
            let facts: Vec<_> =
                shares.iter().enumerate().map(|(at, (share, bytes))| pack(&at.to_string(), *share, *bytes)).collect();
            for plan in [plan(&facts), plan_cheap(&facts, 3, &as_told)] {
                let mut named: Vec<usize> = plan.keep.iter().chain(&plan.drop).chain(plan.merge.iter().flatten())
                    .map(|name| name.parse().unwrap()).collect();
                named.sort_unstable();
                prop_assert!(named.into_iter().eq(0..facts.len()));
            }
        }
    }
}
