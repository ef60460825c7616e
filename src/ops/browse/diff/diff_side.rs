//! The two sides of a diff, each a checkpoint or the working directory.

use crate::error::{Code, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::json::Octal;
use crate::model::state::entry::Entry;
use crate::model::state::rel_path::RelPath;
use crate::model::state::snapshot::Snapshot;
use crate::ops::browse::diff::version::{FileVersion, LoadedVersion, SeenFile};
use crate::ops::capture::present::WorktreeSide;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::repository::Store;

/// A state and the source of its contents.
pub struct Side<'s> {
    pub snapshot: Snapshot,
    /// `None` for the working directory.
    pub checkpoint: Option<Checkpoint>,
    source: Source<'s>,
}

enum Source<'s> {
    Store(&'s Store),
    Present(WorktreeSide),
}

impl<'s> Side<'s> {
    pub fn of_checkpoint(store: &'s Store, checkpoint: &Checkpoint) -> Result<Self> {
        let snapshot = store.snapshot(checkpoint)?;
        Ok(Self {
            snapshot,
            checkpoint: Some(checkpoint.clone()),
            source: Source::Store(store),
        })
    }

    /// Returns a checkpoint and the working directory, including what rules leave out by now; each
    /// as far as they differ, and with the names of `paths`.
    pub fn of_present(
        context: &Context,
        store: &'s Store,
        checkpoint: &Checkpoint,
        paths: &[RelPath],
    ) -> Result<([Self; 2], Vec<Warning>)> {
        let (present, [held, snapshot], warnings) =
            WorktreeSide::capture(context, store, checkpoint, paths)?;
        let before = Self {
            snapshot: held,
            checkpoint: Some(checkpoint.clone()),
            source: Source::Store(store),
        };
        let after = Self {
            snapshot,
            checkpoint: None,
            source: Source::Present(present),
        };
        Ok(([before, after], warnings))
    }

    pub fn holds(&self, path: &RelPath) -> bool {
        self.snapshot.files.contains_key(path) || self.snapshot.dirs.contains_key(path)
    }

    /// Whether a version of a file is a secret that is not shown.
    pub fn is_secret(&self, path: &RelPath, version: &FileVersion) -> bool {
        matches!(&self.source, Source::Present(present) if present.is_secret(path, version))
    }

    /// Reads one file. Content of the working directory is taken as read, even if it changed since
    /// the capture.
    pub fn load(
        &self,
        path: &RelPath,
        entry: &Entry,
        limit_bytes: u64,
        warnings: &mut Vec<Warning>,
    ) -> Result<LoadedVersion> {
        match &self.source {
            Source::Store(store) => self.load_blob(store, entry, limit_bytes),
            Source::Present(present) => present.load(path, entry, limit_bytes, warnings),
        }
    }

    fn load_blob(&self, store: &Store, entry: &Entry, limit_bytes: u64) -> Result<LoadedVersion> {
        let read = || -> Result<FileVersion, ReadFailure> {
            let size_bytes = store.objects().size(&entry.id)?;
            let seen = SeenFile {
                mode: Octal(entry.git_mode()),
                id: entry.id,
                size_bytes: Some(size_bytes),
            };
            if size_bytes > limit_bytes {
                return Ok(FileVersion { seen, bytes: None });
            }
            match store.objects().read(&entry.id)? {
                (ObjectKind::Blob, bytes) => Ok(FileVersion {
                    seen,
                    bytes: Some(bytes),
                }),
                (kind, _) => {
                    Err(format!("object {} is a {}, not a blob", entry.id, kind.into_str()).into())
                }
            }
        };
        match (read(), &self.checkpoint) {
            (Ok(version), _) => Ok(LoadedVersion::Version(Box::new(version))),
            (Err(why), None) => Ok(LoadedVersion::Damaged(why.to_string())),
            (Err(why), Some(checkpoint)) => {
                let error = store.damage(checkpoint.id, why);
                match error.why().filter(|_| error.code == Code::DAMAGED) {
                    Some(why) => Ok(LoadedVersion::Damaged(why.to_owned())),
                    None => Err(error),
                }
            }
        }
    }
}
