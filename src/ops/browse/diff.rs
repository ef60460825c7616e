//! `diff`: its two sides, each a checkpoint or the working directory, and what differs between them.

use std::ops::ControlFlow;

use crate::base::cut_list::one_of;
use crate::error::{Code, Error, Result};
use crate::model::difference::between;
use crate::model::json::{JsonSchema, Serialize, reasons};
use crate::model::{
    Checkpoint, Entry, ObjectId, OtherDifferences, Pair, PathFilter, PathReason, RelPath, Snapshot,
    WhyNot,
};
use crate::ops::browse::diff::file_diff::compare;
use crate::ops::browse::list::reader_warnings;
use crate::ops::restore::restore_paths;
use crate::ops::select::checkpoint::current;
use crate::ops::select::words::Named;
use crate::ops::{
    Body, Context, Detail, FileDiff, FileVersion, Globs, LoadedVersion, Lookup, PatchOptions,
    SeenFile, TypedWords, Warning, WorktreeSide,
};
use crate::store::{ObjectError, Store};

pub mod file_diff;

/// What differs between two states.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DiffOutcome {
    pub from: Checkpoint,
    /// Null is the directory as it is now.
    pub to: Option<Checkpoint>,
    // In the order of their paths, without the pieces of a patch: those were handed on one by one.
    #[serde(rename = "changes")]
    pub files: Vec<FileDiff>,
    pub other: OtherDifferences,
    /// Paths that one side holds and of which the other side's state is unknown.
    #[serde(serialize_with = "reasons")]
    #[schemars(with = "Vec<PathReason>")]
    pub not_compared: Vec<(RelPath, WhyNot)>,
    /// Paths that differ, and whose content is a secret and shown nowhere.
    pub secrets: Vec<RelPath>,
    /// Binary contents too large for the patch.
    pub too_large: Vec<RelPath>,
    /// Paths whose content in a checkpoint cannot be read; the warnings say why.
    pub damaged: Vec<RelPath>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl DiffOutcome {
    pub fn is_different(&self) -> bool {
        !self.files.is_empty() || !self.other.is_same() || !self.damaged.is_empty()
    }

    /// Whether something was left out because it could not be read rather than by a rule.
    pub fn is_partial(&self) -> bool {
        self.not_compared.iter().any(|(_, why)| why.makes_partial()) || !self.too_large.is_empty()
    }

    /// Returns the error to end with after everything else was shown.
    pub fn failure(&self) -> Option<Error> {
        let what = one_of(self.damaged.first()?, self.damaged.len());
        Some(Error::damaged(
            what,
            "its content in a checkpoint cannot be read",
        ))
    }
}

/// Receives one path at a time, and says whether to go on.
pub type Receiver<'r> = dyn FnMut(&FileDiff) -> ControlFlow<()> + 'r;

/// Compares where the directory stands with the directory, if `words` name no checkpoint; one that
/// they name with the directory; or the first of two with the second.
pub fn diff(
    context: &Context,
    words: &TypedWords,
    globs: &Globs,
    patch: PatchOptions,
    receiver: &mut Receiver<'_>,
) -> Result<DiffOutcome> {
    let filter = globs.parse(&context.root)?;
    let (store, inventory) = context.read()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let Named { checkpoints, paths } = lookup.read(words, 2)?;
    let mut checkpoints = checkpoints.into_iter();
    let from = checkpoints.next();
    let from = from.map_or_else(|| current(context, &inventory), Ok)?;
    let to = checkpoints.next();
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    let both = [Some(&from), to.as_ref()].into_iter().flatten();
    warnings.extend(both.filter_map(Warning::partial));
    let sides = sides(context, &store, &from, to.as_ref(), &paths, &mut warnings)?;
    if let Some(path) = paths
        .iter()
        .find(|path| !sides.iter().any(|side| side.holds(path)))
    {
        return Err(lookup.missing_path(from.id, path));
    }
    let mut outcome = DiffOutcome {
        from,
        to,
        warnings,
        ..DiffOutcome::default()
    };
    compare_sides(
        context,
        &sides,
        (paths, &filter),
        patch,
        &mut outcome,
        receiver,
    )?;
    Ok(outcome)
}

/// Compares a checkpoint with the one before it, or, if that is `None`, with an empty directory.
pub fn changes_of(
    context: &Context,
    before: Option<&Checkpoint>,
    checkpoint: &Checkpoint,
    paths: &[RelPath],
    patch: PatchOptions,
    receiver: &mut Receiver<'_>,
) -> Result<DiffOutcome> {
    let store = context.require_store()?;
    let (from, mut warnings) = (before.unwrap_or(checkpoint), Vec::new());
    let to = Some(checkpoint);
    let mut sides = sides(context, &store, from, to, &[], &mut warnings)?;
    if before.is_none() {
        sides[0].snapshot = Snapshot::default();
    }
    let mut outcome = DiffOutcome {
        from: from.clone(),
        to: to.cloned(),
        warnings,
        ..DiffOutcome::default()
    };
    let within = (paths.to_vec(), &PathFilter::default());
    compare_sides(context, &sides, within, patch, &mut outcome, receiver)?;
    Ok(outcome)
}

/// Reads and compares what differs path by path, and hands it on.
fn compare_sides(
    context: &Context,
    sides: &[Side<'_>; 2],
    (paths, filter): (Vec<RelPath>, &PathFilter),
    patch: PatchOptions,
    outcome: &mut DiffOutcome,
    receiver: &mut Receiver<'_>,
) -> Result<()> {
    let [one, other] = sides;
    let mut found = between(
        &one.snapshot,
        &other.snapshot,
        &restore_paths::limits(paths),
    );
    found.retain(&|file| filter.passes(file), &|dir| filter.passes_dir(dir));
    (outcome.other, outcome.not_compared) = (found.other, found.not_compared);
    for pair in found.files {
        context.interrupt.check()?;
        let Some(mut file) = read_pair(context, pair, sides, patch, outcome)? else {
            continue;
        };
        let flow = receiver(&file);
        file.pieces.clear();
        outcome.files.push(file);
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

fn sides<'s>(
    context: &Context,
    store: &'s Store,
    from: &Checkpoint,
    to: Option<&Checkpoint>,
    paths: &[RelPath],
    warnings: &mut Vec<Warning>,
) -> Result<[Side<'s>; 2]> {
    let mut sides = if let Some(to) = to {
        [from, to].map(|end| Side::of_checkpoint(store, end))
    } else {
        let (sides, met) = Side::of_present(context, store, from, paths)?;
        warnings.extend(met);
        sides.map(Ok)
    };
    // A scoped checkpoint says nothing about paths outside its scope.
    let ends = [Some(from), to].into_iter().flatten();
    for checkpoint in ends.filter(|end| end.is_scoped()) {
        for side in sides.iter_mut().flatten() {
            side.snapshot.retain(&|path| checkpoint.covers(path));
        }
    }
    let [one, other] = sides;
    Ok([one?, other?])
}

/// Reads and compares one path; `None` if there is nothing to show.
fn read_pair(
    context: &Context,
    pair: Pair,
    sides: &[Side<'_>; 2],
    options: PatchOptions,
    outcome: &mut DiffOutcome,
) -> Result<Option<FileDiff>> {
    if options.detail == Detail::Names {
        let unread = |entry: &Entry| FileVersion {
            seen: SeenFile::of(entry, None),
            bytes: None,
        };
        let [before, after] = [pair.before, pair.after].map(|side| side.as_ref().map(unread));
        return compare(pair.path, before.as_ref(), after.as_ref(), options).map(Some);
    }
    let path = pair.path.clone();
    let Some(mut versions) = read_versions(context, pair, sides, outcome)? else {
        return Ok(None);
    };
    let seen = |version: &Option<FileVersion>| version.as_ref().map(|v| (v.seen.mode, v.seen.id));
    if seen(&versions[0]) == seen(&versions[1]) {
        return Ok(None);
    }
    let mut both = versions.iter().flatten();
    let is_secret = both.any(|version| sides[1].is_secret(&path, version));
    if is_secret {
        outcome.secrets.push(path.clone());
        let both = versions.iter_mut().flatten();
        both.for_each(|version| version.bytes = None);
    }
    let [before, after] = &versions;
    let file = compare(path, before.as_ref(), after.as_ref(), options)?;
    let mut pieces = file.pieces.iter();
    let is_cut = pieces.any(|piece| piece.body == Body::Binary(None));
    if options.binary && !is_secret && is_cut {
        outcome.too_large.push(file.path.clone());
    }
    Ok(Some(file))
}

/// Reads both versions of a path; `None` if one cannot be read, which is noted.
fn read_versions(
    context: &Context,
    pair: Pair,
    sides: &[Side<'_>; 2],
    outcome: &mut DiffOutcome,
) -> Result<Option<[Option<FileVersion>; 2]>> {
    let (mut versions, path) = ([None, None], pair.path);
    let entries = [pair.before, pair.after];
    for ((version, side), entry) in versions.iter_mut().zip(sides).zip(entries) {
        let Some(entry) = entry else { continue };
        let (limit, warnings) = (context.largest_text_bytes, &mut outcome.warnings);
        match side.load(&path, &entry, limit, warnings)? {
            LoadedVersion::Version(read) => *version = Some(*read),
            LoadedVersion::Gone => warnings.push(Warning::ChangedWhileRead { path: path.clone() }),
            LoadedVersion::Unknown(why) => {
                outcome.not_compared.push((path, why));
                return Ok(None);
            }
            LoadedVersion::Damaged(why) => {
                outcome.damaged.push(path.clone());
                warnings.push(Warning::DamagedFile { path, why });
                return Ok(None);
            }
        }
    }
    Ok(Some(versions))
}

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
