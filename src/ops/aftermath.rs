//! The listing of a directory after a restore: what was found before, with what the restore made of it. The next scan
//! goes by it and reads nothing that was just written.

use std::collections::BTreeSet;

use crate::model::default_rules::IGNORE_FILE;
use crate::model::entry::Kind;
use crate::model::listing::{ListedDir, ListedFile, Listing, SYMLINK_BITS, Stat, TYPE_BITS, is_racy};
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::restore_plan::RestorePlan;
use crate::ops::confirmation::Confirmed;
use crate::worktree::rules::may_be_secret;

/// Carries a plan over to the listing that it was made from. `left` names directories that could not go after all.
pub fn after(mut listing: Listing, plan: &RestorePlan, left: &[RelPath], confirmed: Confirmed) -> Listing {
    forget_unsure(&mut listing);
    let Confirmed { written, looked_ns } = confirmed;
    listing.started_ns = looked_ns;
    for path in plan.delete.keys() {
        remove_file(&mut listing, path);
    }
    for path in plan.remove_dirs.iter().rev().filter(|path| !left.contains(path)) {
        remove_dir(&mut listing, path);
    }
    for path in plan.make_dirs.keys() {
        make_dir(&mut listing, path);
    }
    let mut dir = None;
    for (path, stat, id) in written {
        let parent = path.parent().unwrap_or_default();
        let at = match dir.take() {
            Some((known, at)) if known == parent => Some(at),
            _ => change(&mut listing, &parent),
        };
        dir = at.map(|at| (parent, at));
        if let Some(at) = at {
            put_file(&mut listing.dirs[at], &path, stat, id);
        }
    }
    unsettle_others(&mut listing, plan);
    listing
}

/// What could have changed unseen since it was listed stays so, although the clock that is compared with goes on.
fn forget_unsure(listing: &mut Listing) {
    let started_ns = listing.started_ns;
    for dir in listing.dirs.iter_mut().filter(|dir| !dir.untouched) {
        dir.settled &= !is_racy(&dir.stat, started_ns);
        for file in dir.files.listed_mut() {
            file.unsteady |= is_racy(&file.stat, started_ns) || may_be_secret(&dir.name, &file.name);
        }
    }
}

fn index_of(listing: &Listing, path: &RelPath) -> Option<usize> {
    let mut at = 0;
    for name in path.components() {
        at = listing.dirs[at].dirs[place_of(listing, at, name).ok()?];
    }
    Some(at)
}

/// Where a name stands among the directories of one, or would stand.
fn place_of(listing: &Listing, at: usize, name: &[u8]) -> Result<usize, usize> {
    listing.dirs[at].dirs.binary_search_by(|child| (*listing.dirs[*child].name).cmp(name))
}

/// A directory whose names or files changed: the next scan lists it again.
fn change(listing: &mut Listing, path: &RelPath) -> Option<usize> {
    let at = index_of(listing, path)?;
    (listing.dirs[at].untouched, listing.dirs[at].settled) = (false, false);
    Some(at)
}

fn remove_file(listing: &mut Listing, path: &RelPath) {
    let Some(at) = change(listing, &path.parent().unwrap_or_default()) else { return };
    if path.name() == IGNORE_FILE {
        return;
    }
    let files = listing.dirs[at].files.make_listed();
    if let Ok(found) = files.binary_search_by(|file| (*file.name).cmp(path.name())) {
        files.remove(found);
    }
}

fn remove_dir(listing: &mut Listing, path: &RelPath) {
    let Some(at) = change(listing, &path.parent().unwrap_or_default()) else { return };
    if let Ok(found) = place_of(listing, at, path.name()) {
        listing.dirs[at].dirs.remove(found);
        came_or_went(listing);
    }
}

fn make_dir(listing: &mut Listing, path: &RelPath) {
    let Some(at) = change(listing, &path.parent().unwrap_or_default()) else { return };
    if let Err(place) = place_of(listing, at, path.name()) {
        let index = listing.dirs.len();
        listing.dirs.push(ListedDir::empty(at, path.name().into(), Stat::default()));
        listing.dirs[at].dirs.insert(place, index);
        came_or_went(listing);
    }
}

/// A cache of the same directories is patched; this one has others.
fn came_or_went(listing: &mut Listing) {
    (listing.dirs[0].kept, listing.dirs[0].untouched) = (None, false);
}

fn put_file(dir: &mut ListedDir, path: &RelPath, stat: Stat, id: ObjectId) {
    // By its content this one may be left out: the next scan is to look at it.
    if path.name() == IGNORE_FILE || may_be_secret(&dir.name, path.name()) {
        return;
    }
    let kind = if stat.mode & TYPE_BITS == SYMLINK_BITS { Kind::Symlink } else { Kind::File };
    let file = ListedFile { name: path.name().into(), kind, stat, id: Some(id), unsteady: false };
    let files = dir.files.make_listed();
    match files.binary_search_by(|held| held.name.cmp(&file.name)) {
        Ok(at) => files[at] = file,
        Err(at) => files.insert(at, file),
    }
}

/// Directories of which only the mode changed, and the root, which held the stage.
fn unsettle_others(listing: &mut Listing, plan: &RestorePlan) {
    let holders = plan.chmod.keys().filter_map(RelPath::parent).chain(plan.chmod_dirs.keys().cloned());
    let changed: BTreeSet<RelPath> = holders.chain([RelPath::root()]).collect();
    for path in &changed {
        change(listing, path);
    }
}
