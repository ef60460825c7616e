//! Builds git trees from a listing, and reads a snapshot from git trees.

use crate::model::state::entry::git_mode;
use crate::model::{Entry, Kind, Listing, ObjectId, RelPath, Snapshot, UncapturedEntry, WhyNot};
use crate::store::trees::tree_codec::{
    self, MODE_DIRECTORY, MODE_EXECUTABLE, MODE_GITLINK, MODE_SYMLINK,
};
use crate::store::{ObjectKind, Objects, ReadFailure, TreeEntry, TreeWalk};

/// Computes the tree of every directory, children first, and passes each to `put`, which returns
/// its id; unchanged directories keep their tree. Every file's blob must be known. Directories
/// without a file below them get no tree, except the root.
pub fn build<E>(
    listing: &mut Listing,
    put: &mut dyn FnMut(&[u8]) -> Result<ObjectId, E>,
) -> Result<ObjectId, E> {
    let mut same = vec![false; listing.dirs.len()];
    // Parents have smaller indexes than their children: go backwards.
    for index in (0..listing.dirs.len()).rev() {
        let dir = &mut listing.dirs[index];
        if dir.is_folded || dir.has_cached_dirs(&same) {
            same[index] = true;
            dir.tree = dir.cached.as_ref().and_then(|before| before.tree);
            continue;
        }
        listing.dirs[index].tree = match entries_of(listing, index) {
            entries if entries.is_empty() => None,
            mut entries => Some(put(&tree_codec::encode(&mut entries))?),
        };
    }
    match listing.dirs[0].tree {
        Some(root) => Ok(root),
        None => put(&[]),
    }
}

fn entries_of(listing: &Listing, index: usize) -> Vec<TreeEntry> {
    let dir = &listing.dirs[index];
    let files = dir.files.iter().filter_map(|file| {
        Some(TreeEntry {
            mode: git_mode(file.kind, file.stat.perm()),
            name: file.name.into(),
            id: file.id?,
        })
    });
    let dirs = dir.dirs.iter().filter_map(|child| {
        let child = &listing.dirs[*child];
        Some(TreeEntry {
            mode: MODE_DIRECTORY,
            name: child.name.clone(),
            id: child.tree?,
        })
    });
    files.chain(dirs).collect()
}

/// Reads every tree below `root`. Permissions are those that git knows, sizes are zero (unknown);
/// the meta adds the directories. A gitlink, which plain git may have recorded for a nested
/// repository, counts as uncaptured.
///
/// # Errors
/// A tree is missing, damaged, or holds a name that must not be written to a disk.
pub fn read_snapshot(objects: &Objects, root: ObjectId) -> Result<Snapshot, ReadFailure> {
    let mut snapshot = Snapshot::default();
    let mut walk = TreeWalk::of(root);
    while let Some((dir, id)) = walk.next_tree() {
        let entries = read_tree(objects, id).map_err(|why| format!("{dir}: {why}"))?;
        walk.enter(&dir, &entries)
            .into_iter()
            .for_each(|(path, entry)| put_entry(&mut snapshot, path, entry));
    }
    Ok(snapshot)
}

/// Adds an entry of a tree, but a directory, to a snapshot.
pub fn put_entry(snapshot: &mut Snapshot, path: RelPath, entry: &TreeEntry) {
    let (kind, perm) = match entry.mode {
        MODE_GITLINK => {
            snapshot.uncaptured.insert(
                path,
                UncapturedEntry {
                    why: WhyNot::Gitlink,
                    is_dir: true,
                },
            );
            return;
        }
        MODE_SYMLINK => (Kind::Symlink, 0o777),
        MODE_EXECUTABLE => (Kind::File, 0o755),
        _ => (Kind::File, 0o644),
    };
    snapshot.files.insert(
        path,
        Entry {
            kind,
            perm,
            id: entry.id,
            size_bytes: 0,
        },
    );
}

/// Reads and checks one tree.
pub fn read_tree(objects: &Objects, id: ObjectId) -> Result<Vec<TreeEntry>, ReadFailure> {
    let (kind, bytes) = objects.read(&id)?;
    if kind != ObjectKind::Tree {
        return Err(format!("{} is not a tree", id.short()).into());
    }
    Ok(tree_codec::parse(&bytes)?)
}
