//! Restores objects that a store lacks from the working directory: files whose bytes match a
//! missing blob, and trees.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::{Kind, ListedFile, Listing, Meta, ObjectId, RelPath, Stat};
use crate::ops::capture::pipeline::{Sink, capture};
use crate::ops::{CaptureOptions, Context, ThreadSink};
use crate::store::damage::salvage;
use crate::store::objects::object_hash::hash_object;
use crate::store::trees::{convert, meta_tree};
use crate::store::{CheckReport, ObjectKind, PackWriter, Store};
use crate::worktree::scan::read::read_file;
use crate::worktree::sys::{ItemKind, kind_of};
use crate::worktree::{ReadOutcome, WorkTree};

type Missing = BTreeMap<ObjectId, Vec<RelPath>>;

/// Restores missing objects until nothing more can be found; a restored tree may reveal further
/// missing blobs. `check` reports what is missing; its last report is returned.
pub fn heal_from_worktree(
    context: &Context,
    store: &Store,
    check: &dyn Fn() -> Result<CheckReport>,
) -> Result<CheckReport> {
    let mut report = check()?;
    let mut present = None;
    loop {
        let missing = report.missing();
        if missing.is_empty() {
            return Ok(report);
        }
        let wanted: Vec<ObjectId> = missing.keys().copied().collect();
        salvage::take_from_damaged_copies(&context.store_dir()?, store, &wanted)?;
        from_worktree(context, store, &missing, &mut present)?;
        store.objects().forget_damage()?;
        report = check()?;
        if report.missing() == missing {
            return Ok(report);
        }
    }
}

/// Searches the paths where checkpoints hold the missing objects, then all that a capture holds.
fn from_worktree(
    context: &Context,
    store: &Store,
    missing: &Missing,
    present: &mut Option<CurrentFiles>,
) -> Result<()> {
    if !context.root.path().is_dir() {
        return Ok(());
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let mut writer = PackWriter::begin(&store.layout().objects(), store.objects())?;
    let mut left = missing.clone();
    for (id, paths) in missing {
        for path in paths {
            if take_file(&worktree, path, *id, &mut writer)? {
                left.remove(id);
                break;
            }
        }
    }
    if !left.is_empty() {
        let present = match present {
            Some(present) => present,
            None => present.insert(CurrentFiles::capture(context, &worktree)?),
        };
        present.add_from_directory(&worktree, &left, &mut writer)?;
    }
    writer.finish()?;
    store.objects().refresh()
}

/// The working directory as a capture sees it, with every id.
struct CurrentFiles {
    listing: Listing,
    meta: Meta,
}

impl CurrentFiles {
    fn capture(context: &Context, worktree: &WorkTree) -> Result<Self> {
        let options = CaptureOptions::default();
        // Without a store no stat cache is trusted: every file is read.
        let captured = capture(context, None, worktree, &options, Sink::HashOnly)?;
        Ok(Self {
            meta: captured.meta,
            listing: captured.listing,
        })
    }

    fn add_from_directory(
        &mut self,
        worktree: &WorkTree,
        missing: &Missing,
        writer: &mut PackWriter<'_>,
    ) -> Result<()> {
        let paths = self.listing.paths();
        for (dir, path) in self.listing.dirs.iter().zip(&paths) {
            for file in dir.files.iter() {
                if let Some(id) = file.id.filter(|id| missing.contains_key(id)) {
                    take_file(worktree, &path.join(file.name), id, writer)?;
                }
            }
        }
        convert::build(&mut self.listing, &mut |bytes| {
            add_missing(writer, missing, ObjectKind::Tree, bytes)
        })?;
        add_missing(
            writer,
            missing,
            ObjectKind::Blob,
            &meta_tree::blob(&self.meta),
        )?;
        Ok(())
    }
}

fn add_missing(
    writer: &mut PackWriter<'_>,
    missing: &Missing,
    kind: ObjectKind,
    bytes: &[u8],
) -> Result<ObjectId> {
    let id =
        hash_object(kind, bytes).map_err(|e| crate::error::Error::unexpected(e.to_string()))?;
    if missing.contains_key(&id) {
        Ok(writer.add(kind, bytes)?)
    } else {
        Ok(id)
    }
}

/// Adds the file at a path if it is the wanted blob; otherwise it is only hashed.
fn take_file(
    worktree: &WorkTree,
    path: &RelPath,
    wanted: ObjectId,
    writer: &mut PackWriter<'_>,
) -> Result<bool> {
    let (Some(dir), Ok(Some(stat))) = (path.parent(), worktree.stat(path)) else {
        return Ok(false);
    };
    let kind = match kind_of(&stat) {
        ItemKind::File => Kind::File,
        ItemKind::Symlink => Kind::Symlink,
        _ => return Ok(false),
    };
    let is_it = |sink: &mut ThreadSink<'_, '_>| -> Result<bool> {
        let file = listed(path, kind, stat);
        let read = read_file(worktree, &dir, path.name(), &file, sink)?;
        Ok(matches!(read, ReadOutcome::Captured { id, .. } if id == wanted))
    };
    Ok(is_it(&mut ThreadSink::HashOnly)? && is_it(&mut ThreadSink::Pack(writer))?)
}

fn listed(path: &RelPath, kind: Kind, stat: Stat) -> ListedFile {
    ListedFile {
        name: path.name().into(),
        kind,
        stat,
        id: None,
        racy: false,
    }
}
