//! The two sides of a diff, each a checkpoint or the working directory.

use crate::error::{Code, Result};
use crate::model::{Checkpoint, Entry, ObjectId, RelPath, Snapshot};
use crate::ops::{Context, FileVersion, LoadedVersion, SeenFile, Warning, WorktreeSide};
use crate::store::{ObjectError, Store};

/// A state and the source of its contents.
pub struct Side<'s> {
    pub snapshot: Snapshot,
    source: Source<'s>,
}

enum Source<'s> {
    Checkpoint(&'s Store, ObjectId),
    Present(WorktreeSide),
}

impl<'s> Side<'s> {
    pub fn of_checkpoint(store: &'s Store, checkpoint: &Checkpoint) -> Result<Self> {
        Ok(Self {
            snapshot: store.snapshot(checkpoint)?,
            source: Source::Checkpoint(store, checkpoint.id),
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
        let (present, [held, now], warnings) =
            WorktreeSide::capture(context, store, checkpoint, paths)?;
        let before = Self {
            snapshot: held,
            source: Source::Checkpoint(store, checkpoint.id),
        };
        let after = Self {
            snapshot: now,
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
        let (store, id) = match &self.source {
            Source::Checkpoint(store, id) => (store, *id),
            Source::Present(present) => return present.load(path, entry, limit_bytes, warnings),
        };
        let read = || -> Result<FileVersion, ObjectError> {
            let (mut bytes, size_bytes) = (None, store.objects().size(&entry.id)?);
            if size_bytes <= limit_bytes {
                store
                    .objects()
                    .stream_blob(&entry.id, bytes.insert(Vec::new()))?;
            }
            let seen = SeenFile::of(entry, Some(size_bytes));
            Ok(FileVersion { seen, bytes })
        };
        let error = match read() {
            Ok(version) => return Ok(LoadedVersion::Version(Box::new(version))),
            Err(why) => store.damage(id, why),
        };
        match error.why().filter(|_| error.code == Code::DAMAGED) {
            Some(why) => Ok(LoadedVersion::Damaged(why.to_owned())),
            None => Err(error),
        }
    }
}
