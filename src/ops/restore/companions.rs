//! SQLite databases as files: the log beside one belongs to it, and neither is whole alone.

use std::collections::BTreeSet;
use std::io::Read as _;

use crate::model::stat_cache::summary::is_log;
use crate::model::state::database::{base_of_log, logs_of};
use crate::model::{Blocker, Listing, RelPath, RestorePlan, Snapshot};
use crate::ops::Warning;
use crate::store::Store;
use crate::worktree::sys::Access;
use crate::worktree::{Root, StatReader, WorkTree};

const MAGIC: &[u8] = b"SQLite format 3\0";
/// A database is whole pages, of which this is the smallest.
const PAGE_BYTES: u64 = 512;

/// Returns what a plan changes of a database while a log, or the database of a log, would be another
/// than in the target.
pub fn parted(
    work: &WorkTree,
    store: &Store,
    (present, wanted): (&Snapshot, &Snapshot),
    plan: &RestorePlan,
) -> Vec<(RelPath, Blocker)> {
    let is_changed =
        |path: &RelPath| plan.write.contains_key(path) || plan.delete.contains_key(path);
    let may_be_one = |path: &RelPath| {
        let mut states = [present, wanted].into_iter();
        let is_paged = |state: &Snapshot| {
            let size = state.files.get(path).map_or(0, |entry| entry.size_bytes);
            size.is_multiple_of(PAGE_BYTES)
        };
        states.any(is_paged)
    };
    let mut bases = BTreeSet::new();
    for path in plan.write.keys().chain(plan.delete.keys()) {
        match base_of_log(path) {
            Some(base) => bases.insert(base),
            None => may_be_one(path) && bases.insert(path.clone()),
        };
    }
    let mut reader = StatReader::new(work);
    let mut found = Vec::new();
    for base in bases {
        let files = [vec![base.clone()], logs_of(&base)].concat();
        let mut other_log = None;
        for file in files.iter().filter(|file| !is_changed(file)) {
            let then = wanted.files.get(file).map(|entry| entry.id);
            let now = present.files.get(file).map(|entry| entry.id);
            let stat = reader.stat(file).unwrap_or_default();
            let is_there = stat.is_some_and(|stat| stat.size_bytes > 0);
            if (is_there || then.is_some()) && (now.is_none() || now != then) {
                other_log = Some(file);
            }
        }
        if let Some(other) = other_log
            && is_database(work, store, &base, wanted)
        {
            let concerned = files.iter().filter(|file| is_changed(file));
            found.extend(concerned.map(|file| (file.clone(), Blocker::Parted(other.clone()))));
        }
    }
    found
}

fn is_database(work: &WorkTree, store: &Store, path: &RelPath, wanted: &Snapshot) -> bool {
    let held = || {
        let entry = wanted.files.get(path)?;
        store.objects().read(&entry.id).ok().map(|(_, bytes)| bytes)
    };
    begins_as_database(work, path) || held().is_some_and(|bytes| bytes.starts_with(MAGIC))
}

fn begins_as_database(work: &WorkTree, path: &RelPath) -> bool {
    let mut head = [0; MAGIC.len()];
    let dir = work
        .root()
        .open_below(&path.parent().unwrap_or_default(), Access::Search);
    let opened = dir.and_then(|dir| dir.open_file(path.name()));
    opened
        .and_then(|(mut file, _)| file.read_exact(&mut head))
        .is_ok()
        && head == *MAGIC
}

/// Begins a line of what was noted on what was left out, for a database that was recorded in use.
pub const IN_USE: &str = "in-use ";

/// Warns of databases to be written that were recorded in use, and whose log the checkpoint lacks.
pub fn without_log(store: &Store, wanted: &Snapshot, plan: &RestorePlan) -> Vec<Warning> {
    let noted = store.left_out().unwrap_or_default();
    let names = noted.lines().filter_map(|line| line.strip_prefix(IN_USE));
    let names: BTreeSet<&str> = names.collect();
    let was_in_use = |path: &&RelPath| !names.is_empty() && names.contains(&*path.to_string());
    let has_log = |path: &RelPath| {
        logs_of(path)
            .iter()
            .any(|log| wanted.files.contains_key(log))
    };
    let written = plan.write.keys().filter(|path| !has_log(path));
    let found = written.filter(was_in_use).cloned();
    found.map(|path| Warning::LogNotHeld { path }).collect()
}

/// Returns the captured databases beside which a log with content lies: a program has them open.
pub fn in_use(root: &Root, listing: &Listing) -> Vec<RelPath> {
    let mut logs = Vec::new();
    for (index, dir) in listing.dirs.iter().enumerate() {
        let files = dir.files.iter().map(|file| file.name);
        let names = files.chain(dir.uncaptured.iter().map(|item| &*item.name));
        logs.extend(
            names
                .filter(|name| is_log(name))
                .map(|name| listing.path_of(index).join(name)),
        );
    }
    if logs.is_empty() {
        return Vec::new();
    }
    let Ok(work) = WorkTree::open_root(root) else {
        return Vec::new();
    };
    let has_content = |log: &RelPath| {
        let stat = work.stat(log).unwrap_or_default();
        stat.is_some_and(|stat| stat.size_bytes > 0)
    };
    let bases = logs.iter().filter(|log| has_content(log));
    let bases: BTreeSet<RelPath> = bases.filter_map(base_of_log).collect();
    let is_one = |base: &RelPath| listing.file(base).is_some() && begins_as_database(&work, base);
    bases.into_iter().filter(is_one).collect()
}
