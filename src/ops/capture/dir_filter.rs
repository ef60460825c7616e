//! The directories that a restore, a diff or a status compares in full. Equal subtrees are skipped.

use std::collections::{BTreeMap, HashSet};

use crate::error;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::entry::WhyNot;
use crate::model::state::listing::Listing;
use crate::model::state::meta::Meta;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::snapshot::Snapshot;
use crate::ops::capture::lazy_snapshot::{DirFilter, LazySnapshot};
use crate::ops::capture::pipeline::Captured;
use crate::ops::context::Context;
use crate::store::objects::object_error::ReadFailure;
use crate::store::repository::Store;

/// Returns where `present` differs from `target`, or `target` from its successor. The listing must
/// know its trees.
///
/// # Errors
/// A tree of the target cannot be read.
pub fn between<'s>(
    listing: &Listing,
    present: &Meta,
    target: &LazySnapshot<'s>,
    successor: Option<&LazySnapshot<'s>>,
) -> Result<DirFilter, ReadFailure> {
    if present.usual != target.meta.usual {
        return Ok(DirFilter::Everything);
    }
    let mut differing = HashSet::new();
    note_differences(present, &target.meta, &mut differing);
    if let Some(successor) = successor {
        note_differences(&successor.meta, &target.meta, &mut differing);
    }
    let mut walk = DiffWalk {
        listing,
        target,
        successor,
        differing,
        dirs: HashSet::new(),
    };
    walk.run()?;
    // Trees do not name directories without files.
    walk.dirs.extend(walk.differing);
    Ok(DirFilter::Dirs(walk.dirs))
}

/// Returns a checkpoint without the files of workflows, and the present; both as far as they
/// differ, and with the names of `paths`. A commit of plain git is compared as a whole.
pub fn compared(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    captured: &Captured,
    paths: &[RelPath],
) -> error::Result<[Snapshot; 2]> {
    let listing = &captured.listing;
    let [mut held, present] = if checkpoint.adopted {
        [store.snapshot(checkpoint)?, Snapshot::from(listing)]
    } else {
        let state = LazySnapshot::new(store, checkpoint.tree, store.meta(checkpoint)?);
        between(listing, &captured.meta, &state, None)
            .and_then(|mut filter| {
                if let DirFilter::Dirs(dirs) = &mut filter {
                    dirs.extend(paths.iter().flat_map(RelPath::ancestors));
                }
                Ok([state.snapshot(&filter)?, present(listing, &filter)])
            })
            .map_err(|why| store.damage(checkpoint.id, why))?
    };
    context.own_files(Some(store)).drop_from(&mut held);
    Ok([held, present])
}

/// Collects the paths at which two metas differ, and the directories above them.
fn note_differences(one: &Meta, other: &Meta, differing: &mut HashSet<RelPath>) {
    let mut note = |path: &RelPath| {
        differing.insert(path.clone());
        for above in path.ancestors() {
            if !differing.insert(above) {
                break;
            }
        }
    };
    one.empty_dirs
        .symmetric_difference(&other.empty_dirs)
        .for_each(&mut note);
    differing_keys(&one.unusual, &other.unusual)
        .chain(differing_keys(&one.uncaptured, &other.uncaptured))
        .for_each(note);
}

fn differing_keys<'m, V: PartialEq>(
    one: &'m BTreeMap<RelPath, V>,
    other: &'m BTreeMap<RelPath, V>,
) -> impl Iterator<Item = &'m RelPath> {
    let of_one = one
        .iter()
        .filter(|(path, value)| other.get(*path) != Some(*value));
    let of_other = other.iter().filter(|(path, _)| !one.contains_key(*path));
    of_one.chain(of_other).map(|(path, _)| path)
}

struct DiffWalk<'w, 's> {
    listing: &'w Listing,
    target: &'w LazySnapshot<'s>,
    successor: Option<&'w LazySnapshot<'s>>,
    differing: HashSet<RelPath>,
    dirs: HashSet<RelPath>,
}

/// One directory as each state has it.
#[derive(Clone, Copy, Default)]
struct Sides {
    present: Option<usize>,
    target: Option<ObjectId>,
    successor: Option<ObjectId>,
}

impl DiffWalk<'_, '_> {
    fn run(&mut self) -> Result<(), ReadFailure> {
        let successor = self.successor.map(|state| state.tree);
        let root = Sides {
            present: Some(0),
            target: Some(self.target.tree),
            successor,
        };
        let mut pending = vec![(RelPath::root(), root)];
        while let Some((path, sides)) = pending.pop() {
            if !path.is_root() && self.is_equal(&path, &sides) {
                continue;
            }
            for (name, sides) in self.children(&sides)? {
                pending.push((path.join(&name), sides));
            }
            self.dirs.insert(path);
        }
        Ok(())
    }

    fn is_equal(&self, path: &RelPath, sides: &Sides) -> bool {
        let present = sides
            .present
            .and_then(|index| self.listing.dirs[index].tree);
        let same_trees = present == sides.target
            && (self.successor.is_none() || sides.successor == sides.target);
        // Without a tree, the metas and the listing decide.
        same_trees && present.is_some() && !self.differing.contains(path)
    }

    fn children(&self, sides: &Sides) -> Result<BTreeMap<Box<[u8]>, Sides>, ReadFailure> {
        let mut children: BTreeMap<Box<[u8]>, Sides> = BTreeMap::new();
        for child in sides
            .present
            .map(|index| &self.listing.dirs[index].dirs)
            .into_iter()
            .flatten()
        {
            children
                .entry(self.listing.dirs[*child].name.clone())
                .or_default()
                .present = Some(*child);
        }
        if let Some(tree) = sides.target {
            for entry in self
                .target
                .entries(tree)?
                .iter()
                .filter(|entry| entry.is_directory())
            {
                children.entry(entry.name.clone()).or_default().target = Some(entry.id);
            }
        }
        // An unreadable part of the successor counts as absent.
        let successor = self
            .successor
            .zip(sides.successor)
            .and_then(|(state, tree)| state.entries(tree).ok());
        for entry in successor
            .iter()
            .flat_map(|entries| entries.iter())
            .filter(|entry| entry.is_directory())
        {
            children.entry(entry.name.clone()).or_default().successor = Some(entry.id);
        }
        Ok(children)
    }
}

/// Returns the listing's content of the directories in focus, and their subdirectories' names.
pub fn present(listing: &Listing, filter: &DirFilter) -> Snapshot {
    if *filter == DirFilter::Everything {
        return Snapshot::from(listing);
    }
    let mut snapshot = Snapshot::default();
    let mut pending = vec![(RelPath::root(), 0)];
    while let Some((path, index)) = pending.pop() {
        let dir = &listing.dirs[index];
        snapshot.dirs.insert(path.clone(), dir.stat.perm());
        if !filter.contains(&path) {
            continue;
        }
        snapshot.add_content(&path, dir);
        pending.extend(
            dir.dirs
                .iter()
                .map(|child| (path.join(&listing.dirs[*child].name), *child)),
        );
    }
    snapshot
}

/// Adds to a snapshot what rules left out anywhere in a listing, in focus or not.
pub fn add_left_out(listing: &Listing, snapshot: &mut Snapshot) {
    for (dir, path) in listing.dirs.iter().zip(&listing.paths()) {
        let left_out = dir
            .uncaptured
            .iter()
            .filter(|item| matches!(item.why, WhyNot::LeftOut(_)));
        snapshot
            .uncaptured
            .extend(left_out.map(|item| (path.join(&item.name), item.into())));
    }
}

/// Whether a path missing from the listing may still exist, because it or a directory above it was
/// left out.
pub fn may_exist_unlisted(listing: &Listing, path: &RelPath) -> bool {
    let mut above = 0;
    for name in path.components() {
        let Some(index) = listing.child(above, name) else {
            return listing.dirs[above]
                .uncaptured
                .binary_search_by(|item| (*item.name).cmp(name))
                .is_ok();
        };
        above = index;
    }
    false
}
