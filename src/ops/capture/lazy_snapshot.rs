//! The content of a checkpoint, read only as far as needed: the directories that a restore, a diff or a
//! status compares in full. Equal subtrees are skipped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::error;
use crate::model::{Checkpoint, Listing, Meta, ObjectId, RelPath, Snapshot, WhyNot};
use crate::ops::{Captured, Context};
use crate::store::trees::convert::put_entry;
use crate::store::trees::tree_codec::MODE_GITLINK;
use crate::store::trees::tree_walk::walk_together;
use crate::store::{ReadFailure, Store, TreeEntry, TreeMemo, TreeWalk};

/// A state of which only the meta has been read.
pub struct LazySnapshot<'s> {
    pub tree: ObjectId,
    pub meta: Meta,
    /// Directories without files below them.
    bare_dirs: BTreeSet<RelPath>,
    memo: RefCell<TreeMemo<'s>>,
}

impl<'s> LazySnapshot<'s> {
    pub fn new(store: &'s Store, tree: ObjectId, meta: Meta) -> Self {
        let bare_dirs = meta.bare_dirs();
        Self {
            tree,
            meta,
            bare_dirs,
            memo: RefCell::new(TreeMemo::new(store.objects())),
        }
    }

    /// # Errors
    /// The tree cannot be read.
    pub fn entries(&self, tree: ObjectId) -> Result<Arc<[TreeEntry]>, ReadFailure> {
        self.memo.borrow_mut().tree(tree)
    }

    /// Returns the tree entry at a path; trees do not name directories without files.
    ///
    /// # Errors
    /// A tree on the way cannot be read.
    pub fn entry_at(&self, path: &RelPath) -> Result<Option<TreeEntry>, ReadFailure> {
        self.memo.borrow_mut().entry_at(self.tree, path)
    }

    /// # Errors
    /// As [`Self::entry_at`].
    pub fn has_file(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        let found = self.entry_at(path)?;
        Ok(found.is_some_and(|entry| !entry.is_directory() && entry.mode != MODE_GITLINK))
    }

    /// # Errors
    /// As [`Self::entry_at`].
    pub fn has_dir(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        if path.is_root() || self.bare_dirs.contains(path) {
            return Ok(true);
        }
        Ok(self
            .entry_at(path)?
            .is_some_and(|entry| entry.is_directory()))
    }

    /// Whether a file or a directory is there.
    ///
    /// # Errors
    /// As [`Self::entry_at`].
    pub fn holds(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        Ok(self.has_dir(path)? || self.has_file(path)?)
    }

    /// Returns everything in the directories in focus, and the bare names of their subdirectories.
    ///
    /// # Errors
    /// A tree cannot be read, or holds a name that must not be written to a disk.
    pub fn snapshot(&self, filter: &DirFilter) -> Result<Snapshot, ReadFailure> {
        let mut snapshot = Snapshot::default();
        let mut dirs = Vec::new();
        let mut walk = TreeWalk::of(self.tree);
        while let Some((dir, tree)) = walk.next_tree() {
            if filter.contains(&dir) {
                let entries = self.entries(tree).map_err(|why| format!("{dir}: {why}"))?;
                walk.enter(&dir, &entries)
                    .into_iter()
                    .for_each(|(path, entry)| put_entry(&mut snapshot, path, entry));
            }
            dirs.push(dir);
        }
        self.meta_in(filter).complete(&mut snapshot)?;
        for path in dirs {
            let perm = self.meta.perm_of_dir(&path);
            snapshot.dirs.insert(path, perm);
        }
        Ok(snapshot)
    }

    fn meta_in(&self, filter: &DirFilter) -> Meta {
        let mut meta = self.meta.clone();
        if let DirFilter::Dirs(_) = filter {
            let is_in =
                |path: &RelPath| path.parent().is_none_or(|parent| filter.contains(&parent));
            meta.empty_dirs.retain(is_in);
            meta.uncaptured.retain(|path, _| is_in(path));
        }
        meta
    }
}

/// The directories in focus; of all others only the name counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirFilter {
    Everything,
    /// Includes all parents of each directory.
    Dirs(HashSet<RelPath>),
}

impl DirFilter {
    pub fn contains(&self, dir: &RelPath) -> bool {
        match self {
            Self::Everything => true,
            Self::Dirs(dirs) => dirs.contains(dir),
        }
    }
}

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
    let mut dirs = HashSet::new();
    let tree = |side: DirSide| match side {
        DirSide::Listed(index) => listing.dirs[index].tree,
        DirSide::Tree(id) => Some(id),
    };
    let after = successor.map(|state| DirSide::Tree(state.tree));
    walk_together(
        [
            Some(DirSide::Listed(0)),
            Some(DirSide::Tree(target.tree)),
            after,
        ],
        |path, sides| {
            let [now, then, after] = sides.map(|side| side.and_then(tree));
            let is_same = now == then && (successor.is_none() || after == then);
            // Without a tree, the metas and the listing decide.
            let is_equal = is_same && now.is_some() && !differing.contains(path);
            let enters = !is_equal || path.is_root();
            if enters {
                dirs.insert(path.clone());
            }
            enters
        },
        |_, number, side, add| {
            let entries = match (side, successor) {
                (DirSide::Listed(index), _) => {
                    for child in &listing.dirs[index].dirs {
                        add(&listing.dirs[*child].name, DirSide::Listed(*child));
                    }
                    return Ok(());
                }
                // An unreadable part of it counts as absent.
                (DirSide::Tree(id), Some(after)) if number == 2 => {
                    after.entries(id).unwrap_or_default()
                }
                (DirSide::Tree(id), _) => target.entries(id)?,
            };
            for entry in entries.iter().filter(|entry| entry.is_directory()) {
                add(&entry.name, DirSide::Tree(entry.id));
            }
            Ok::<_, ReadFailure>(())
        },
    )?;
    // Trees do not name directories without files.
    dirs.extend(differing);
    Ok(DirFilter::Dirs(dirs))
}

/// A directory as the listing or a state has it.
#[derive(Clone, Copy)]
enum DirSide {
    Listed(usize),
    Tree(ObjectId),
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
    let left_out = listing.uncaptured(|why| matches!(why, WhyNot::LeftOut(_)));
    let left_out = left_out.map(|(path, item)| (path, item.into()));
    snapshot.uncaptured.extend(left_out);
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
