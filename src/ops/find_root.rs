//! Whose a directory is: the one answer of command line, hooks, status lines, server and `doctor`; and
//! where under the base the store of a root lies, which may be under another key than the root's.

use std::cell::LazyCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use crate::base::text::escape_path;
use crate::error::{Code, Error, More, Result};
use crate::model::RelPath;
use crate::ops::restore::restore_paths::with_slashes;
use crate::store::layout::{dir_hash, is_begun, store_dir};
use crate::store::{Description, Layout};
use crate::worktree::root::canonical;
use crate::worktree::sys::Dir;
use crate::worktree::{Repository, Root};

/// Where a caller acts: in the root that a directory belongs to.
#[derive(Clone, Debug)]
pub struct Place {
    pub dir: PathBuf,
    /// Whether it is this directory and no other.
    pub is_exact: bool,
}

impl Place {
    pub fn searched(dir: PathBuf) -> Self {
        let is_exact = false;
        Self { dir, is_exact }
    }

    /// Refuses the root that was found for a directory that is gone, if it is another one.
    ///
    /// # Errors
    /// The place is gone, and the root is above it.
    pub fn check(&self, root: &Root) -> Result<()> {
        let is_meant = root.current().is_root() || self.dir.is_dir();
        is_meant.then_some(()).ok_or_else(Error::current_dir_gone)
    }
}

/// What the answer depends on, beside the place.
#[derive(Clone, Copy, Debug)]
pub struct RootSearch<'s> {
    pub base: &'s Path,
    pub home: Option<&'s Path>,
}

impl RootSearch<'_> {
    /// Finds the root of a place: the nearest directory with a store, upwards from it, or else the
    /// place itself. A repository below such a directory is a root of its own.
    ///
    /// From within a `.git`, it begins above that.
    ///
    /// # Errors
    /// The place is a file, or it is gone, and its parent too; or just a `.git` is named.
    pub fn find(&self, place: &Place) -> Result<Root> {
        let found = canonical_or_gone(&place.dir);
        let above_git = above_git(found.as_deref().unwrap_or(&place.dir)).map(Path::to_path_buf);
        if place.is_exact && above_git.is_some() {
            let path = escape_path(&place.dir);
            return Err(Error::dot_git_path(&path));
        }
        let dir = above_git.as_deref().unwrap_or(&place.dir);
        let start = above_git.clone().or_else(|| found.clone());
        let start = start.filter(|_| !place.is_exact);
        let above = start.as_deref().and_then(|start| self.root_above(start));
        let Some(above) = above.or_else(|| above_git.clone()) else {
            return Root::resolve(dir, Some(dir));
        };
        let current = below(found.as_deref().unwrap_or(dir), &above);
        let depth = current.components().count();
        let logical = place.dir.ancestors().nth(depth);
        Ok(Root::at(above, logical)?.seen_from(current))
    }

    /// As [`Self::find`], for the directory in which a user types a command.
    ///
    /// # Errors
    /// The place is gone, and the root is above it.
    pub fn find_here(&self, place: &Place) -> Result<Root> {
        let root = self.find(place)?;
        place.check(&root)?;
        Ok(root)
    }

    /// Returns the nearest directories with a store from `start` on, upwards; `looks_elsewhere` says
    /// whether in the folders of other directories too, which takes a look at each of them.
    pub fn stores_above<'d>(
        &self,
        start: &'d Path,
        looks_elsewhere: bool,
    ) -> impl Iterator<Item = &'d Path> {
        let projects = LazyCell::new(|| projects(self.base).unwrap_or_default());
        let has_store = move |dir: &Path| {
            let elsewhere = || stores_of(&projects, dir, None).unwrap_or_default();
            let is_here = is_begun(&store_dir(self.base, dir));
            is_here || looks_elsewhere && elsewhere().iter().any(|store| is_begun(store))
        };
        self.reach(start).filter(move |dir| has_store(dir))
    }

    /// Returns the nearest root above another one whose checkpoints hold that one too; see
    /// [`Self::stores_above`].
    pub fn holder_of(&self, root: &Path, looks_elsewhere: bool) -> Option<PathBuf> {
        let mut above = self.stores_above(root, looks_elsewhere);
        let above = above.find(|dir| *dir != root)?;
        (!is_worktree_of(root, above)).then(|| above.to_path_buf())
    }

    /// Returns the nearest directory with a store, unless a repository on the way is a root of its own: then that.
    fn root_above(&self, start: &Path) -> Option<PathBuf> {
        let above = self.stores_above(start, true).next()?;
        let mut on_the_way = start.ancestors().take_while(|dir| *dir != above);
        let own = on_the_way.find(|dir| has_repository(dir));
        Some(own.unwrap_or(above).to_path_buf())
    }

    /// Returns the top of the repository in which a directory lies, if it is another directory.
    pub fn repository_top(&self, dir: &Path) -> Option<PathBuf> {
        let top = self.reach(dir).find(|dir| has_repository(dir))?;
        (top != dir).then(|| top.to_path_buf())
    }

    /// Returns the directories that a search looks at: up to the home directory, which takes over
    /// nothing below it, and to the border of a file system.
    fn reach<'d>(&self, start: &'d Path) -> impl Iterator<Item = &'d Path> {
        let home = LazyCell::new(|| Some(canonical(self.home?).unwrap_or(self.home?.into())));
        let own = LazyCell::new(|| start.ancestors().find_map(Dir::mount_of));
        let mut below = None;
        start.ancestors().take_while(move |dir| {
            let Some(below) = below.replace(*dir) else {
                return true;
            };
            let is_home = [Some(below), Some(*dir)].contains(&home.as_deref());
            let is_border = || Dir::mount_of(dir).is_some_and(|mount| Some(mount) != *own);
            !is_home && !is_border()
        })
    }
}

/// Returns a directory as a root, without a search.
///
/// # Errors
/// As [`Root::resolve`].
pub fn exactly(dir: &Path) -> Result<Root> {
    Root::resolve(dir, None)
}

fn has_repository(dir: &Path) -> bool {
    dir.join(".git").symlink_metadata().is_ok()
}

/// Returns the directory in which the outermost `.git` around a directory lies.
fn above_git(dir: &Path) -> Option<&Path> {
    let is_git = |dir: &&Path| dir.file_name().is_some_and(|name| name == ".git");
    dir.ancestors().filter(is_git).last()?.parent()
}

/// Whether a directory is a linked worktree of the repository in which another directory lies.
pub fn is_worktree_of(dir: &Path, other: &Path) -> bool {
    let own = || Repository::containing(other).ok().flatten();
    dir.join(".git").is_file() && own().is_some_and(|own| own.has_worktree(dir))
}

/// Returns the canonical path of a directory; what is gone of it is added as it was named.
pub fn canonical_or_gone(dir: &Path) -> Option<PathBuf> {
    let (there, found) = dir
        .ancestors()
        .find_map(|above| Some((above, canonical(above).ok()?)))?;
    let gone = dir.strip_prefix(there).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    let whole = || found.components().chain(gone.components()).collect();
    gone.components().all(is_plain).then(whole)
}

/// Returns the path from a directory above to one below it.
fn below(dir: &Path, above: &Path) -> RelPath {
    let inside = dir.strip_prefix(above).unwrap_or(Path::new(""));
    let inside = with_slashes(inside.as_os_str().as_encoded_bytes());
    RelPath::new(&inside).unwrap_or_default()
}

/// Returns where the store of this root lies, or would lie.
///
/// # Errors
/// Several stores match this root.
pub fn locate_store(base: &Path, at: &Root) -> Result<PathBuf> {
    let place = store_dir(base, at.path());
    if place.is_dir() {
        return Ok(place);
    }
    let projects = projects(base)?;
    let mut found = stores_of(&projects, at.path(), None)?;
    if let Some(logical) = at.logical() {
        found.extend(stores_of(&projects, logical, Some(at.path()))?);
    }
    found.sort();
    found.dedup();
    match found.as_slice() {
        [] => Ok(place),
        [one] => Ok(one.clone()),
        _ => {
            let shown = found.iter().map(|path| path.display().to_string());
            let shown = shown.collect::<Vec<_>>().join(", ");
            let what = format!("several stores belong to this directory: {shown}");
            Err(Error::new(Code::AMBIGUOUS_STORE, what)
                .advise("move all but one of them away")
                .more(More::Stores(found)))
        }
    }
}

/// Stores of any project folder named by the hash of `root`, whose description, if any, names it
/// (or `also`).
pub fn stores_of(projects: &[PathBuf], root: &Path, also: Option<&Path>) -> Result<Vec<PathBuf>> {
    let hash = dir_hash(root);
    let mut found = Vec::new();
    for project in projects {
        let dir = project.join("checkpoints").join(&hash);
        if !dir.is_dir() {
            continue;
        }
        let description = Description::read(&Layout::new(dir.clone()))?;
        let names = |d: &Description| d.names(root) || also.is_some_and(|also| d.names(also));
        if description.as_ref().is_none_or(names) {
            found.push(dir);
        }
    }
    Ok(found)
}

pub fn projects(base: &Path) -> Result<Vec<PathBuf>> {
    subdirectories(&base.join("projects"))
}

pub fn subdirectories(dir: &Path) -> Result<Vec<PathBuf>> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", dir)(e)),
    };
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<std::io::Result<_>>()
        .map_err(Error::io("read", dir))?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

/// Returns the position of the store of a root. What only makes later commands faster does not count.
pub fn store_position(base: &Path, root: &Path) -> String {
    let store = exactly(root).and_then(|root| locate_store(base, &root));
    let Ok(store) = store.map(Layout::new) else {
        return String::new();
    };
    let refs = store.refs();
    // A file that is replaced changes its directory too.
    let directories = ["checkpoints", "pins", "workflows", "archive/workflows"];
    let directories = directories.map(|name| refs.join(name));
    let files = [
        store.packed_refs(),
        store.journal(),
        store.holds(),
        store.rewords(),
    ];
    let mut sum = DefaultHasher::new();
    for path in directories.iter().chain(&files) {
        let found = path.symlink_metadata().ok();
        let stamp = found.map(|found| {
            (
                found.len(),
                found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            )
        });
        stamp.hash(&mut sum);
    }
    format!("{:016x}", sum.finish())
}
