//! The working directory as one side of a diff: captured but not recorded, then read file by file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

use crate::error::{Error, Result};
use crate::model::state::entry::git_mode;
use crate::model::{
    Checkpoint, Entry, Kind, ListedFile, ObjectId, Octal, RelPath, Snapshot, Stat, WhyNot,
};
use crate::ops::capture::lazy_snapshot;
use crate::ops::capture::monitor::Reliance;
use crate::ops::capture::pipeline::{Sink, capture};
use crate::ops::{
    CaptureOptions, Captured, Context, FileVersion, LoadedVersion, SeenFile, ThreadSink, Warning,
};
use crate::store::Store;
use crate::worktree::rules::rule_set::Peek;
use crate::worktree::scan::read::read_file;
use crate::worktree::{
    BlobSink, ReadOutcome, RuleSources, RuleVerdict, Rules, SinkError, WorkTree,
};

pub struct WorktreeSide {
    worktree: WorkTree,
    secrets: MaybeSecret,
}

/// What a checkpoint holds and no rule captures now: secrets by name, and files that are secrets if
/// they begin with such bytes. Their content is compared, and never shown.
type MaybeSecret = BTreeMap<RelPath, Option<Peek>>;

/// A checkpoint and the present, as [`lazy_snapshot::compared`] has them, by today's rules; what the
/// checkpoint has and a rule now leaves out is there too.
pub struct Compared {
    pub captured: Captured,
    pub states: [Snapshot; 2],
    secrets: MaybeSecret,
}

impl Compared {
    /// # Errors
    /// The checkpoint is damaged, or the directory cannot be read.
    pub fn new(
        context: &Context,
        store: &Store,
        worktree: &WorkTree,
        (checkpoint, paths): (&Checkpoint, &[RelPath]),
        captured: Captured,
    ) -> Result<Self> {
        let compare =
            |captured: &_| lazy_snapshot::compared(context, store, checkpoint, captured, paths);
        let mut compared = Self {
            states: compare(&captured)?,
            captured,
            secrets: BTreeMap::new(),
        };
        let rules = secrets_alone(context);
        let [held, present] = &compared.states;
        let also = held_but_left_out(held, present);
        let is_missing = |path: &&RelPath| !present.files.contains_key(*path);
        for path in held.files.keys().filter(is_missing) {
            let peek = match rules.judge_at(path, false, &|_| None) {
                RuleVerdict::Secret(_) => None,
                RuleVerdict::Peek(peek) => Some(peek),
                RuleVerdict::Capture | RuleVerdict::LeaveOut(_) | RuleVerdict::OnlyTracked => {
                    Some(Peek::ANY_FILE)
                }
            };
            compared.secrets.insert(path.clone(), peek);
        }
        if !also.is_empty() {
            compared.captured = capture_side(context, store, worktree, &also)?;
            compared.states = compare(&compared.captured)?;
        }
        Ok(compared)
    }
}

impl WorktreeSide {
    /// Captures the present beside a checkpoint.
    pub fn capture(
        context: &Context,
        store: &Store,
        checkpoint: &Checkpoint,
        paths: &[RelPath],
    ) -> Result<(Self, [Snapshot; 2], Vec<Warning>)> {
        let worktree = WorkTree::open_root(&context.root)?;
        let captured = capture_side(context, store, &worktree, &[])?;
        let compared = Compared::new(context, store, &worktree, (checkpoint, paths), captured)?;
        let secrets = compared.secrets;
        let side = Self { worktree, secrets };
        Ok((side, compared.states, compared.captured.warnings))
    }

    /// Reads one file in its current state.
    pub fn load(
        &self,
        path: &RelPath,
        entry: &Entry,
        limit_bytes: u64,
        warnings: &mut Vec<Warning>,
    ) -> Result<LoadedVersion> {
        let fresh = |len| (len <= limit_bytes).then(Vec::new);
        let (read, bytes) = read_through(&self.worktree, path, entry.kind, &fresh)?;
        Ok(match read {
            ReadOutcome::Captured {
                id,
                stat,
                kind,
                racy,
            } => {
                if racy {
                    warnings.push(Warning::ChangedWhileRead { path: path.clone() });
                }
                let seen = SeenFile {
                    mode: Octal(git_mode(kind, stat.perm())),
                    id,
                    size_bytes: Some(stat.size_bytes),
                };
                LoadedVersion::Version(Box::new(FileVersion { seen, bytes }))
            }
            ReadOutcome::Vanished | ReadOutcome::NotAFile => LoadedVersion::Gone,
            ReadOutcome::Unreadable(why) => LoadedVersion::Unknown(WhyNot::Unreadable(why)),
            ReadOutcome::Refused(why) => LoadedVersion::Unknown(why),
        })
    }

    /// Whether a version of a file is a secret, now or in the checkpoint.
    pub fn is_secret(&self, path: &RelPath, version: &FileVersion) -> bool {
        let bytes = version.bytes.as_deref().unwrap_or_default();
        let found = self.secrets.get(path);
        found.is_some_and(|peek| peek.is_none_or(|peek| peek.is_secret(bytes)))
    }
}

fn capture_side(
    context: &Context,
    store: &Store,
    worktree: &WorkTree,
    also: &[RelPath],
) -> Result<Captured> {
    let options = CaptureOptions {
        also,
        reliance: Reliance::Listed,
        ..CaptureOptions::default()
    };
    capture(context, Some(store), worktree, &options, Sink::HashOnly)
}

/// Returns the rules for secrets by name alone: no scan applies them in a left-out directory.
fn secrets_alone(context: &Context) -> Rules {
    let sensitive_allow = context.settings.sensitive_allow.clone();
    Rules::new(RuleSources {
        sensitive_allow,
        ..RuleSources::default()
    })
}

/// Files of a checkpoint that today's rules leave out, directly or with a directory above.
fn held_but_left_out(held: &Snapshot, present: &Snapshot) -> Vec<RelPath> {
    let is_out = |path: &RelPath| {
        let entry = present.uncaptured.get(path);
        entry.is_some_and(|entry| {
            matches!(
                entry.why,
                WhyNot::LeftOut(_) | WhyNot::Cache | WhyNot::Secret(_)
            )
        })
    };
    let dirs_out = held.dirs.keys().filter(|dir| is_out(dir));
    let dirs_out: BTreeSet<RelPath> = dirs_out.cloned().collect();
    let below_one = |path: &RelPath| {
        !dirs_out.is_empty() && path.ancestors().any(|above| dirs_out.contains(&above))
    };
    let wanted =
        |path: &&RelPath| !present.files.contains_key(*path) && (is_out(path) || below_one(path));
    held.files.keys().filter(wanted).cloned().collect()
}

/// Reads a file of the directory, also into a writer that `fresh` makes for each number of
/// bytes.
///
/// # Errors
/// As [`read_file`].
pub fn read_through<W: Write>(
    worktree: &WorkTree,
    path: &RelPath,
    kind: Kind,
    fresh: &dyn Fn(u64) -> Option<W>,
) -> Result<(ReadOutcome, Option<W>)> {
    let listed = ListedFile {
        name: path.name().into(),
        kind,
        stat: Stat::default(),
        id: None,
        racy: false,
    };
    let mut sink = TeeSink { fresh, to: None };
    let dir = path.parent().unwrap_or_default();
    let read = read_file(worktree, &dir, path.name(), &listed, &mut sink)?;
    Ok((read, sink.to))
}

/// Hashes what it hands on.
struct TeeSink<'f, W> {
    fresh: &'f dyn Fn(u64) -> Option<W>,
    to: Option<W>,
}

impl<W: Write> BlobSink for TeeSink<'_, W> {
    fn blob(&mut self, bytes: &[u8]) -> std::result::Result<ObjectId, SinkError> {
        self.to = (self.fresh)(bytes.len() as u64);
        if let Some(to) = &mut self.to {
            to.write_all(bytes).map_err(Error::unexpected)?;
        }
        ThreadSink::HashOnly.blob(bytes)
    }

    fn blob_stream(
        &mut self,
        len: u64,
        reader: &mut dyn Read,
    ) -> std::result::Result<ObjectId, SinkError> {
        self.to = (self.fresh)(len);
        let (to, left) = (self.to.as_mut(), len);
        let mut tee = Tee { reader, to, left };
        let id = ThreadSink::HashOnly.blob_stream(len, &mut tee)?;
        if tee.left > 0 {
            let why = "cannot read to the end: it is shorter than it was";
            return Err(Error::unexpected(why).into());
        }
        Ok(id)
    }
}

struct Tee<'r, W> {
    reader: &'r mut dyn Read,
    to: Option<&'r mut W>,
    /// Bytes that are still to come.
    left: u64,
}

impl<W: Write> Read for Tee<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = self.reader.read(buffer)?;
        self.left = self.left.saturating_sub(len as u64);
        if let Some(to) = &mut self.to {
            to.write_all(&buffer[..len])?;
        }
        Ok(len)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::{file, path};

    /// Reads a path whose entry is out of date.
    fn read(dir: &std::path::Path, at: &str) -> LoadedVersion {
        let side = WorktreeSide {
            worktree: WorkTree::open(dir).unwrap(),
            secrets: BTreeMap::new(),
        };
        let (path, stale) = (path(at), file(7, 0o644));
        side.load(&path, &stale, 1 << 20, &mut Vec::new()).unwrap()
    }

    #[test]
    fn what_changed_since_the_capture_is_taken_as_it_is_read() {
        let version_of = |words: &str| match read(place(words).path(), "f") {
            LoadedVersion::Version(version) => version,
            _ => panic!("nothing was read"),
        };
        let file = version_of("f=hello");
        assert_eq!(
            file.seen.id.to_hex(),
            "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"
        );
        let both = [file, version_of("f@elsewhere")].map(|one| (one.bytes, one.seen.mode));
        let expected = [("hello", 0o100_644), ("elsewhere", 0o120_000)];
        let expected = expected.map(|(text, mode)| (Some(text.into()), Octal(mode)));
        assert_eq!(both, expected);
        let dir = place("f/");
        assert!(matches!(read(dir.path(), "f"), LoadedVersion::Gone));
        assert!(matches!(read(dir.path(), "none"), LoadedVersion::Gone));
    }

    #[test]
    fn no_link_on_the_way_is_followed() {
        let temp = place("real/f=x link@real");
        let is_read = |at: &str| matches!(read(temp.path(), at), LoadedVersion::Version(_));
        assert!(is_read("real/f") && !is_read("link/f"));
    }

    #[test]
    fn what_is_too_large_is_hashed_and_not_held() {
        let fresh = |len| (len <= 6).then(Vec::new);
        let mut sink = TeeSink {
            fresh: &fresh,
            to: None,
        };
        let id = sink.blob_stream(6, &mut &b"hello\n"[..]).unwrap().to_hex();
        assert_eq!(id, "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(sink.to.as_deref(), Some(&b"hello\n"[..]));
        assert!(
            sink.blob_stream(5 + 1, &mut &b"short"[..]).is_err(),
            "it ended too early"
        );
        sink.blob_stream(7, &mut &b"hello!\n"[..]).unwrap();
        assert_eq!(sink.to, None);
    }
}
