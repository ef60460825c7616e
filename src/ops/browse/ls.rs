//! `ls`: the files and directories that a checkpoint holds.

use crate::error::Result;
use crate::model::json::{JsonSchema, Serialize, published_as};
use crate::model::{Checkpoint, Kind, ObjectId, Octal, RelPath};
use crate::ops::browse::list::reader_warnings;
use crate::ops::restore::restore_paths::limits;
use crate::ops::{Context, DirFilter, Globs, LazySnapshot, Lookup, TypedWords, Warning};
use crate::store::Store;

#[derive(Clone, Debug, Default)]
pub struct LsOptions {
    pub words: TypedWords,
    pub globs: Globs,
    /// Whether everything below is listed too; implied by patterns.
    pub recursive: bool,
    /// Whether sizes are needed.
    pub sizes: bool,
}

/// Files and directories of a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LsOutcome {
    pub checkpoint: Checkpoint,
    /// What was asked for, or else the current directory; none for the top.
    pub paths: Vec<RelPath>,
    /// By path.
    pub entries: Vec<LsEntry>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LsEntry {
    #[serde(flatten)]
    pub path: RelPath,
    /// `file`, `symlink` or `directory`.
    pub kind: LsKind,
    /// Permission bits in octal digits.
    pub mode: Octal,
    /// Content of a file, or target of a symlink.
    #[serde(skip)]
    pub blob: Option<ObjectId>,
    /// Null for a directory, or if sizes were not asked for.
    pub size_bytes: Option<u64>,
}

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LsKind {
    Directory,
    Entry(Kind),
}

published_as! { LsKind, &'static str, |kind| match kind {
    LsKind::Directory => "directory",
    LsKind::Entry(kind) => kind.into_str(),
}; }

pub fn ls(context: &Context, options: &LsOptions) -> Result<(LsOutcome, Vec<Warning>)> {
    let filter = options.globs.parse(&context.root)?;
    let (store, inventory) = context.read()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let (checkpoint, mut paths) = lookup.read_one(&options.words)?;
    for path in &paths {
        if !lookup.holds(&checkpoint, path)? {
            return Err(lookup.missing_path(checkpoint.id, path));
        }
    }
    // Patterns may lead to another directory.
    if paths.is_empty() && filter.only.is_none() {
        paths.push(context.root.current().clone());
    }
    let listing = LsSelection {
        paths: limits(paths),
        is_deep: options.recursive || filter.only.is_some(),
    };
    let mut entries = entries(&store, &checkpoint, &listing)?;
    entries.retain(|entry| {
        listing.includes(entry)
            && match entry.kind {
                LsKind::Directory => filter.passes_dir(&entry.path),
                LsKind::Entry(_) => filter.passes(&entry.path),
            }
    });
    if options.sizes {
        for entry in &mut entries {
            let size = entry
                .blob
                .map(|blob| store.objects().size(&blob))
                .transpose();
            let damaged = |why| store.damage(checkpoint.id, format!("{}: {why}", entry.path));
            entry.size_bytes = size.map_err(damaged)?;
        }
    }
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(Warning::partial(&checkpoint));
    let outcome = LsOutcome {
        checkpoint,
        paths: listing.paths,
        entries,
    };
    Ok((outcome, warnings))
}

/// What is listed.
struct LsSelection {
    /// None for the root.
    paths: Vec<RelPath>,
    is_deep: bool,
}

impl LsSelection {
    /// A directory that was asked for stands for what is in it.
    fn includes(&self, entry: &LsEntry) -> bool {
        let path = &entry.path;
        let is_below = |dir: &RelPath| {
            let is_child = || path.parent().as_ref() == Some(dir);
            path != dir && path.is_at_or_below(dir) && (self.is_deep || is_child())
        };
        if self.paths.is_empty() {
            return is_below(&RelPath::root());
        }
        let is_asked_for = entry.kind != LsKind::Directory && self.paths.contains(path);
        is_asked_for || self.paths.iter().any(is_below)
    }

    /// Returns the directories to be read.
    fn filter(&self) -> DirFilter {
        if self.is_deep {
            return DirFilter::Everything;
        }
        let dirs = self.paths.iter().flat_map(RelPath::self_and_ancestors);
        DirFilter::Dirs(dirs.chain([RelPath::root()]).collect())
    }
}

fn entries(store: &Store, checkpoint: &Checkpoint, listed: &LsSelection) -> Result<Vec<LsEntry>> {
    let state = LazySnapshot::new(store, checkpoint.tree, store.meta(checkpoint)?);
    let mut snapshot = state
        .snapshot(&listed.filter())
        .map_err(|why| store.damage(checkpoint.id, why))?;
    // Directories without files are in no tree.
    for path in state.meta.bare_dirs() {
        let perm = state.meta.perm_of_dir(&path);
        snapshot.dirs.insert(path, perm);
    }
    let entry = |path, kind, perm, blob| LsEntry {
        path,
        kind,
        mode: Octal(perm),
        blob,
        size_bytes: None,
    };
    let dirs = snapshot.dirs.into_iter();
    let dirs = dirs.map(|(path, perm)| entry(path, LsKind::Directory, perm, None));
    let files = snapshot.files.into_iter().map(|(path, found)| {
        let kind = LsKind::Entry(found.kind);
        entry(path, kind, found.perm, Some(found.id))
    });
    let mut entries: Vec<LsEntry> = dirs.chain(files).collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}
