//! The two things that a diff compares: a checkpoint, or the working directory as it stands.

use std::collections::BTreeSet;
use std::io::Read;

use crate::error::{Error, Result};
use crate::model::checkpoint::Checkpoint;
use crate::model::entry::{Entry, WhyNot, git_mode};
use crate::model::listing::{ListedFile, Stat};
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::snapshot::{Snapshot, Standing};
use crate::ops::capture::{CaptureOptions, CaptureOutcome, Captured, Sink, capture};
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::Store;
use crate::store::hash::ObjectKind;
use crate::worktree::read::{BlobSink, ReadOutcome, SinkError, read_file};
use crate::worktree::rules::{RuleSources, Rules, Tracked};
use crate::worktree::tree_handle::WorkTree;

/// Contents above this are taken as binary and never held in memory: git's `core.bigFileThreshold`.
pub const LARGEST_TEXT_BYTES: u64 = 512 << 20;

/// One state, and the way to its contents.
pub struct Side<'s> {
    pub snapshot: Snapshot,
    /// `None` for the working directory.
    pub checkpoint: Option<Checkpoint>,
    source: Source<'s>,
}

enum Source<'s> {
    Store(&'s Store),
    WorkTree(WorkTree),
}

/// One file as a side has it, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub seen: Seen,
    /// `None` above [`LARGEST_TEXT_BYTES`].
    pub bytes: Option<Vec<u8>>,
}

/// What a patch says of one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// As git writes it.
    pub mode: u32,
    pub id: ObjectId,
    pub size_bytes: u64,
}

/// What came of reading one file.
pub enum Loaded {
    Version(Box<Version>),
    /// It went away since it was captured.
    Gone,
    Unknown(WhyNot),
    Damaged(String),
}

impl<'s> Side<'s> {
    pub fn of_checkpoint(store: &'s Store, checkpoint: &Checkpoint) -> Result<Self> {
        let snapshot = store.snapshot(checkpoint)?;
        Ok(Self { snapshot, checkpoint: Some(checkpoint.clone()), source: Source::Store(store) })
    }

    /// The working directory by the rules of today, and whatever `held` has that a rule leaves out by now. Secrets are
    /// not read in spite of the rules: what is in them shows up nowhere.
    pub fn of_present(context: &Context, store: &Store, held: &Snapshot) -> Result<(Self, Vec<Warning>)> {
        let worktree = WorkTree::open(context.root.path())?;
        let mut captured = look(context, store, &worktree, &[])?;
        let mut snapshot = Snapshot::from(&captured.listing);
        let no_secrets = secrets_alone(context);
        let (also, secrets): (Vec<RelPath>, Vec<RelPath>) = held_but_left_out(held, &snapshot)
            .into_iter()
            .partition(|path| no_secrets.would_capture(path, false, 0, &|_| None));
        if !also.is_empty() {
            captured = look(context, store, &worktree, &also)?;
            snapshot = Snapshot::from(&captured.listing);
        }
        let standing = Standing { why: WhyNot::Secret(String::new()), is_dir: false };
        snapshot.uncaptured.extend(secrets.into_iter().map(|path| (path, standing.clone())));
        let side = Self { snapshot, checkpoint: None, source: Source::WorkTree(worktree) };
        Ok((side, captured.warnings))
    }

    pub fn holds(&self, path: &RelPath) -> bool {
        self.snapshot.files.contains_key(path) || self.snapshot.dirs.contains_key(path)
    }

    /// Reads one file. Content of the working directory is taken as it is read, also where it changed since the capture.
    pub fn load(&self, path: &RelPath, entry: &Entry, warnings: &mut Vec<Warning>) -> Result<Loaded> {
        match &self.source {
            Source::Store(store) => self.load_blob(store, entry),
            Source::WorkTree(worktree) => load_file(worktree, path, entry, warnings),
        }
    }

    fn load_blob(&self, store: &Store, entry: &Entry) -> Result<Loaded> {
        let read = || {
            let size_bytes = store.objects().size(&entry.id).map_err(|e| e.to_string())?;
            let seen = Seen { mode: entry.git_mode(), id: entry.id, size_bytes };
            if size_bytes > LARGEST_TEXT_BYTES {
                return Ok(Version { seen, bytes: None });
            }
            match store.objects().read(&entry.id).map_err(|e| e.to_string())? {
                (ObjectKind::Blob, bytes) => Ok(Version { seen, bytes: Some(bytes) }),
                (kind, _) => Err(format!("object {} is a {}, not a blob", entry.id, kind.name())),
            }
        };
        match (read(), &self.checkpoint) {
            (Ok(version), _) => Ok(Loaded::Version(Box::new(version))),
            (Err(why), None) => Ok(Loaded::Damaged(why)),
            (Err(why), Some(checkpoint)) => match store.damage(checkpoint.id, why) {
                Error::Damaged { why, .. } => Ok(Loaded::Damaged(why)),
                evicted => Err(evicted),
            },
        }
    }
}

fn look(context: &Context, store: &Store, worktree: &WorkTree, also: &[RelPath]) -> Result<Captured> {
    let options = CaptureOptions { also, make_room: &[], limit_files: None, include_sensitive: &[] };
    match capture(context, Some(store), worktree, &options, Sink::HashOnly)? {
        CaptureOutcome::Done(captured) => Ok(*captured),
        CaptureOutcome::OverLimit { .. } => Err(Error::unexpected("a limit was met that was not set".to_owned())),
    }
}

/// The rules for secrets by name and nothing else: where a whole directory is left out, no scan has asked them.
fn secrets_alone(context: &Context) -> Rules {
    let (store_list, excludes) = (Vec::new(), Vec::new());
    let sensitive_allow = context.settings.sensitive_allow.clone();
    Rules::new(RuleSources {
        store_list,
        excludes,
        sensitive_allow,
        max_file_size_bytes: None,
        tracked: Tracked::none(),
    })
}

/// Files of a checkpoint that today's rules leave out, or that lie below a directory that they leave out.
fn held_but_left_out(held: &Snapshot, present: &Snapshot) -> Vec<RelPath> {
    let is_out = |path: &RelPath| {
        let standing = present.uncaptured.get(path);
        standing.is_some_and(|standing| matches!(standing.why, WhyNot::LeftOut(_)))
    };
    let dirs_out: BTreeSet<RelPath> = held.dirs.keys().filter(|dir| is_out(dir)).cloned().collect();
    let below_one = |path: &RelPath| !dirs_out.is_empty() && path.ancestors().any(|above| dirs_out.contains(&above));
    let wanted = |path: &&RelPath| !present.files.contains_key(*path) && (is_out(path) || below_one(path));
    held.files.keys().filter(wanted).cloned().collect()
}

fn load_file(worktree: &WorkTree, path: &RelPath, entry: &Entry, warnings: &mut Vec<Warning>) -> Result<Loaded> {
    let stat = Stat::default();
    let listed = ListedFile { name: path.name().into(), kind: entry.kind, stat, id: None, unsteady: false };
    let mut keeper = Keeper { limit_bytes: LARGEST_TEXT_BYTES, bytes: None };
    let read = read_file(worktree, &path.parent().unwrap_or_default(), path.name(), &listed, &mut keeper)?;
    Ok(match read {
        ReadOutcome::Captured { id, stat, kind, unsteady } => {
            if unsteady {
                warnings.push(Warning::ChangedWhileRead { path: path.clone() });
            }
            let seen = Seen { mode: git_mode(kind, stat.perm()), id, size_bytes: stat.size_bytes };
            Loaded::Version(Box::new(Version { seen, bytes: keeper.bytes }))
        }
        ReadOutcome::Vanished | ReadOutcome::NotAFile => Loaded::Gone,
        ReadOutcome::Unreadable(why) => Loaded::Unknown(WhyNot::Unreadable(why)),
        ReadOutcome::Collision => Loaded::Unknown(WhyNot::Collision),
    })
}

/// Keeps what is read, up to the limit, besides hashing it.
struct Keeper {
    limit_bytes: u64,
    bytes: Option<Vec<u8>>,
}

impl BlobSink for Keeper {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        self.bytes = Some(bytes.to_vec());
        Sink::HashOnly.blob(bytes)
    }

    fn blob_stream(&mut self, len: u64, reader: &mut dyn Read) -> std::result::Result<ObjectId, SinkError> {
        self.bytes = None;
        if len > self.limit_bytes {
            return Sink::HashOnly.blob_stream(len, reader);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        let cut = |why: String| SinkError::Failed(Error::unexpected(format!("cannot read to the end: {why}")));
        reader.read_to_end(&mut bytes).map_err(|e| cut(e.to_string()))?;
        if bytes.len() as u64 != len {
            return Err(cut("it is shorter than it was".to_owned()));
        }
        let id = Sink::HashOnly.blob(&bytes)?;
        self.bytes = Some(bytes);
        Ok(id)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entry::Kind;

    /// What is read at a path of which the capture knew something else.
    fn read(dir: &std::path::Path, path: &str) -> Loaded {
        let work = WorkTree::open(dir).unwrap();
        let stale = Entry { kind: Kind::File, perm: 0o644, id: ObjectId::from_bytes([7; 20]), size_bytes: 9 };
        load_file(&work, &RelPath::new(path.as_bytes()).unwrap(), &stale, &mut Vec::new()).unwrap()
    }

    #[test]
    fn what_changed_since_the_capture_is_taken_as_it_is_read() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("f"), "hello\n").unwrap();
        let Loaded::Version(version) = read(temp.path(), "f") else { panic!("nothing was read") };
        assert_eq!(version.seen.id.to_hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!((version.bytes.as_deref(), version.seen.mode), (Some(&b"hello\n"[..]), 0o100_644));
        std::fs::remove_file(temp.path().join("f")).unwrap();
        std::os::unix::fs::symlink("elsewhere", temp.path().join("f")).unwrap();
        let Loaded::Version(version) = read(temp.path(), "f") else { panic!("nothing was read") };
        assert_eq!((version.bytes.as_deref(), version.seen.mode), (Some(&b"elsewhere"[..]), 0o120_000));
        std::fs::remove_file(temp.path().join("f")).unwrap();
        std::fs::create_dir(temp.path().join("f")).unwrap();
        assert!(matches!(read(temp.path(), "f"), Loaded::Gone));
        assert!(matches!(read(temp.path(), "none"), Loaded::Gone));
    }

    #[test]
    fn no_link_on_the_way_is_followed() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("real")).unwrap();
        std::fs::write(temp.path().join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", temp.path().join("link")).unwrap();
        assert!(matches!(read(temp.path(), "real/f"), Loaded::Version(_)));
        assert!(!matches!(read(temp.path(), "link/f"), Loaded::Version(_)));
    }

    #[test]
    fn what_is_too_large_is_hashed_and_not_held() {
        let mut keeper = Keeper { limit_bytes: 6, bytes: None };
        let id = keeper.blob_stream(6, &mut &b"hello\n"[..]).unwrap().to_hex();
        assert_eq!(id, "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(keeper.bytes.as_deref(), Some(&b"hello\n"[..]));
        assert!(keeper.blob_stream(5 + 1, &mut &b"short"[..]).is_err(), "it ended too early");
        keeper.blob_stream(7, &mut &b"hello!\n"[..]).unwrap();
        assert_eq!(keeper.bytes, None);
    }
}
