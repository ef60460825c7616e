//! The listing after a restore: the listing before it with the plan applied, so that the next scan
//! reads nothing that was just written.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::model::default_rules::IGNORE_FILE;
use crate::model::stat_cache::cached_block::is_racy;
use crate::model::state::entry::{SYMLINK_BITS, TYPE_BITS};
use crate::model::{Kind, ListedDir, ListedFile, Listing, RelPath, RestorePlan, Stat};
use crate::ops::Verified;
use crate::ops::restore::verify_written::WrittenFile;
use crate::worktree::rules::rule_set::may_be_secret;

/// Applies a plan to the listing it was made from. `left` names directories that had to stay.
pub fn after(
    mut listing: Listing,
    plan: &RestorePlan,
    left: &[RelPath],
    verified: Verified,
) -> Listing {
    forget_unsure(&mut listing);
    let Verified { written, looked_ns } = verified;
    listing.started_ns = looked_ns;
    for (dir, names) in by_dir(plan.delete.keys().map(|path| (path, path.name()))) {
        remove_files(&mut listing, &dir, &names.into_iter().collect());
    }
    let left: HashSet<&RelPath> = left.iter().collect();
    let gone = plan.remove_dirs.iter().filter(|path| !left.contains(path));
    for (dir, names) in by_dir(gone.map(|path| (path, path.name()))) {
        remove_dirs(&mut listing, &dir, &names.into_iter().collect());
    }
    for (dir, names) in by_dir(plan.make_dirs.keys().map(|path| (path, path.name()))) {
        make_dirs(&mut listing, &dir, &names);
    }
    for (dir, files) in by_dir(written.iter().map(|file| (&file.path, file))) {
        if let Some(at) = change(&mut listing, &dir) {
            put_files(&mut listing.dirs[at], &files);
        }
    }
    unsettle_others(&mut listing, plan);
    listing
}

/// Marks what is racy now as racy for good, because the time it is compared with moves on.
fn forget_unsure(listing: &mut Listing) {
    let started_ns = listing.started_ns;
    for dir in listing.dirs.iter_mut().filter(|dir| !dir.unchanged) {
        dir.decided_by_names &= !is_racy(&dir.stat, started_ns);
        for file in dir.files.listed_mut() {
            file.racy |= is_racy(&file.stat, started_ns) || may_be_secret(&dir.name, &file.name);
        }
    }
}

/// Marks a directory whose names or files changed, so that the next scan lists it again.
fn change(listing: &mut Listing, path: &RelPath) -> Option<usize> {
    let at = listing.index_of(path)?;
    (
        listing.dirs[at].unchanged,
        listing.dirs[at].decided_by_names,
    ) = (false, false);
    Some(at)
}

/// Groups items by parent directory, so that each directory is processed once.
fn by_dir<'p, T>(told: impl Iterator<Item = (&'p RelPath, T)>) -> BTreeMap<RelPath, Vec<T>> {
    let mut dirs: BTreeMap<RelPath, Vec<T>> = BTreeMap::new();
    for (path, item) in told {
        dirs.entry(path.parent().unwrap_or_default())
            .or_default()
            .push(item);
    }
    dirs
}

fn remove_files(listing: &mut Listing, dir: &RelPath, names: &HashSet<&[u8]>) {
    let Some(at) = change(listing, dir) else {
        return;
    };
    let goes = |file: &ListedFile| *file.name != *IGNORE_FILE && names.contains(&*file.name);
    listing.dirs[at]
        .files
        .make_listed()
        .retain(|file| !goes(file));
}

fn remove_dirs(listing: &mut Listing, above: &RelPath, names: &HashSet<&[u8]>) {
    let Some(at) = change(listing, above) else {
        return;
    };
    let mut children = std::mem::take(&mut listing.dirs[at].dirs);
    children.retain(|child| !names.contains(&*listing.dirs[*child].name));
    listing.dirs[at].dirs = children;
}

fn make_dirs(listing: &mut Listing, above: &RelPath, names: &[&[u8]]) {
    let Some(at) = change(listing, above) else {
        return;
    };
    let first = listing.dirs.len();
    for name in names {
        if listing.child(at, name).is_none() {
            let made = ListedDir::empty(at, (*name).into(), Stat::default());
            listing.dirs.push(made);
        }
    }
    listing.add_children(at, first..listing.dirs.len());
}

fn put_files(dir: &mut ListedDir, written: &[&WrittenFile]) {
    let files = dir.files.make_listed();
    for WrittenFile {
        path,
        stat,
        id,
        is_key,
    } in written
    {
        let (name, stat) = (path.name(), *stat);
        // Rules may leave this file out by its content: let the next scan decide.
        if name == IGNORE_FILE || may_be_secret(&dir.name, name) {
            continue;
        }
        let kind = if stat.mode & TYPE_BITS == SYMLINK_BITS {
            Kind::Symlink
        } else {
            Kind::File
        };
        files.push(ListedFile {
            name: name.into(),
            kind,
            stat,
            id: Some(*id),
            racy: *is_key,
        });
    }
    // The sort is stable: the old entry stays before the written one.
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup_by(|later, kept| {
        let is_same = later.name == kept.name;
        if is_same {
            std::mem::swap(later, kept);
        }
        is_same
    });
}

/// Marks directories where only a mode changed, and the root, which held the stage.
fn unsettle_others(listing: &mut Listing, plan: &RestorePlan) {
    let holders = plan.chmod.keys().filter_map(RelPath::parent);
    let holders = holders.chain(plan.chmod_dirs.keys().cloned());
    let changed: BTreeSet<RelPath> = holders.chain([RelPath::root()]).collect();
    for path in &changed {
        change(listing, path);
    }
}
