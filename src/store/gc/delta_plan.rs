//! Which versions of large files become deltas, and which packs are rewritten for that: rules over
//! a survey.

use std::collections::HashSet;

use crate::model::state::object_id::ObjectId;
use crate::store::gc::pack_usage::{PackUsage, base_id};
use crate::store::gc::rejected_bases::Pair;
use crate::store::gc::repack_plan::{self, BlobVersion, PackFacts, RepackPlan};
use crate::store::objects::id_set::IdMap;
use crate::store::objects::pack::pack_index::IndexEntry;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::EntryKind;

/// Longest chain of deltas, as in git: reading its last version rebuilds all the others.
pub const LONGEST_CHAIN: usize = 50;

/// The plan of `prune` with known `lines` of versions, newest first.
///
/// A version can become a delta only if its pack is rewritten, and is useless as a base if its own
/// pack stays. So all candidates count as dead at first; those in packs that stay anyway are
/// removed, repeatedly, until none is left.
pub fn plan(
    survey: &PackUsage,
    lines: &[Vec<ObjectId>],
    rejected_bases: &HashSet<Pair>,
) -> RepackPlan {
    let mut runs = runs(survey, lines, rejected_bases);
    loop {
        runs.retain(|run| run.windows(2).any(|pair| pair[1].base.is_none()));
        let plan = repack_plan::plan(&facts_without(survey, &runs));
        let count = |runs: &[Vec<BlobVersion>]| runs.iter().map(Vec::len).sum::<usize>();
        let before = count(&runs);
        let kept: HashSet<&String> = plan.keep.iter().collect();
        for run in &mut runs {
            run.retain(|version| !kept.contains(&version.pack));
        }
        if count(&runs) == before {
            return RepackPlan { runs, ..plan };
        }
    }
}

/// Splits lines of versions into runs: at rejected bases and at the longest chain. Versions in no
/// pack are left out.
fn runs(
    survey: &PackUsage,
    lines: &[Vec<ObjectId>],
    rejected_bases: &HashSet<Pair>,
) -> Vec<Vec<BlobVersion>> {
    if lines.is_empty() {
        return Vec::new();
    }
    let mut wanted: IdMap<Option<BlobVersion>> =
        lines.iter().flatten().map(|id| (*id, None)).collect();
    for found in &survey.packs {
        for entry in &found.claimed {
            if let Some(place) = wanted.get_mut(&entry.id) {
                *place = version(&found.pack, entry);
            }
        }
    }
    let mut runs: Vec<Vec<BlobVersion>> = Vec::new();
    for line in lines {
        let mut run: Vec<BlobVersion> = Vec::new();
        let mut depth = 0;
        for version in line.iter().filter_map(|id| wanted.get_mut(id)?.take()) {
            let is_useless =
                |newer: &BlobVersion| rejected_bases.contains(&(newer.entry.id, version.entry.id));
            if version.base.is_none()
                && (depth == LONGEST_CHAIN || run.last().is_some_and(is_useless))
            {
                runs.push(std::mem::take(&mut run));
            }
            let is_its_delta = |newer: &BlobVersion| version.base == Some(newer.entry.id);
            depth = if run.last().is_some_and(is_its_delta) {
                depth + 1
            } else {
                0
            };
            run.push(version);
        }
        runs.push(run);
    }
    runs
}

/// Finds a version in its pack; `None` if it is unreadable: then it stays as it is.
fn version(pack: &Pack, entry: &IndexEntry) -> Option<BlobVersion> {
    let (index, reader) = (pack.index().ok()?, pack.reader().ok()?);
    let end = index.end_of(entry.offset, reader.entries_end());
    let base = match reader.header(entry.offset, end).ok()?.kind {
        EntryKind::Delta => Some(base_id(pack, entry.offset)?),
        EntryKind::Object(_) => None,
    };
    Some(BlobVersion {
        entry: *entry,
        end,
        pack: pack.stamp.name.clone(),
        base,
    })
}

fn facts_without(survey: &PackUsage, runs: &[Vec<BlobVersion>]) -> Vec<PackFacts> {
    let mut facts = survey.facts();
    for version in runs.iter().flatten() {
        if let Some(pack) = facts.iter_mut().find(|pack| pack.name == version.pack) {
            pack.live_bytes = pack.live_bytes.saturating_sub(version.room());
        }
    }
    facts
}
