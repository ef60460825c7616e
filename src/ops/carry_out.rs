//! Carrying a plan out: stage, journal, apply, verify, close. Whatever fails, it is taken back or stays pending.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{Error, Result};
use crate::model::entry::Entry;
use crate::model::listing::{Listing, Stat};
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::restore_plan::RestorePlan;
use crate::model::snapshot::Snapshot;
use crate::ops::context::Context;
use crate::ops::target::Target;
use crate::ops::warning::Warning;
use crate::store::Store;
use crate::store::hash::{ObjectHasher, ObjectKind};
use crate::store::journal::{Journal, Stage as JournalStage};
use crate::store::locked::LockedStore;
use crate::store::object_error::ObjectError;
use crate::worktree::apply::{Applied, ApplyError, apply};
use crate::worktree::apply_plan::{ApplyPlan, Expect, Removal, Write};
use crate::worktree::stage::Stage;
use crate::worktree::tree_handle::WorkTree;
use crate::worktree::verify;

/// A plan with all that is needed to carry it out.
pub struct Errand<'e> {
    pub context: &'e Context,
    pub worktree: &'e WorkTree,
    pub plan: &'e RestorePlan,
    /// The present state that the plan was made from.
    pub present: &'e Listing,
    pub target: &'e Target,
    /// What the target is to look like here, see [`Target::wanted`].
    pub wanted: &'e Snapshot,
    pub special_bits: bool,
}

/// Changes the working directory.
///
/// `journal` is written once everything is staged. `was_pending`: an earlier restore is being finished or taken back,
/// so a failure leaves that one pending; otherwise a failure leaves nothing at all.
pub fn carry_out(
    locked: &mut LockedStore<'_>,
    errand: &Errand<'_>,
    journal: &Journal,
    was_pending: bool,
) -> Result<CarriedOut> {
    let (stage, apply_plan, sizes) = match stage(locked.store(), errand, &journal.staging) {
        Ok(staged) => staged,
        Err(e) => return Err(give_up(locked, errand, journal, was_pending, e)),
    };
    if let Err(e) = locked.write_journal(journal) {
        return Err(give_up(locked, errand, journal, was_pending, e));
    }
    let applied = match apply(errand.worktree, stage, &apply_plan, &errand.context.interrupt) {
        Ok(applied) => applied,
        Err(ApplyError::Changed(obstacles)) => {
            return Err(give_up(locked, errand, journal, was_pending, Error::ChangedMeanwhile { obstacles }));
        }
        Err(ApplyError::Failed { error, rolled_back: true, .. }) => {
            return Err(give_up(locked, errand, journal, was_pending, error));
        }
        Err(ApplyError::Failed { error, problems, .. }) => return Err(half_done(&error, &problems)),
    };
    verify_written(errand, &applied, &sizes)?;
    applied.sync()?;
    let left_alone = applied.left_alone().to_vec();
    let late = applied.written_late();
    if !late.is_empty() {
        locked.remove_journal()?;
        let warning = Some(Warning::LateWrites { paths: late, staging: journal.staging.clone() });
        return Ok(CarriedOut { left_alone, warning });
    }
    // What waits in the staging directory goes only after the journal says that nobody will ask for it. The restore is
    // done and durable by now: what fails here is said, and the next command that writes tries again.
    let closed = locked
        .write_journal(&Journal { stage: JournalStage::Finished, ..journal.clone() })
        .and_then(|()| applied.discard())
        .and_then(|()| locked.remove_journal());
    let warning = closed.err().map(Warning::bookkeeping("clearing the staging directory away"));
    Ok(CarriedOut { left_alone, warning })
}

/// What is to be said of a restore that was carried out.
pub struct CarriedOut {
    /// Directories that stayed after all.
    pub left_alone: Vec<RelPath>,
    pub warning: Option<Warning>,
}

/// Nothing of the user's is changed at this point, or all of it was taken back.
fn give_up(
    locked: &mut LockedStore<'_>,
    errand: &Errand<'_>,
    journal: &Journal,
    was_pending: bool,
    error: Error,
) -> Error {
    let cleared = Stage::remove_leftover(errand.worktree, &journal.staging).and_then(|()| {
        if was_pending {
            return Ok(());
        }
        // This safety checkpoint is of a restore that never was: `undo` must not find it.
        locked.drop_checkpoints(&[journal.safety])?;
        locked.remove_journal()
    });
    match cleared {
        Ok(()) => error,
        Err(later) => Error::unexpected(format!("{error}; and then: {later}")),
    }
}

fn half_done(error: &Error, problems: &[crate::error::Obstacle]) -> Error {
    let named: Vec<String> = problems.iter().map(|p| format!("{} ({})", p.path, p.why)).collect();
    Error::unexpected(format!(
        "{error}; it could not be taken back at {}; 'checkpoint restore --resume' finishes the restore, \
         'checkpoint undo' takes it back",
        named.join(", ")
    ))
}

type Staged = (Stage, ApplyPlan, BTreeMap<RelPath, u64>);

/// Makes all new content complete on the file system where it goes. Sizes are told by path.
fn stage(store: &Store, errand: &Errand<'_>, name: &str) -> Result<Staged> {
    let mut stage = Stage::create(errand.worktree, name)?;
    if errand.special_bits {
        stage.keep_special_bits();
    }
    let mut apply_plan = steps_without_content(errand);
    let mut sizes = BTreeMap::new();
    for (index, (path, entry)) in content_needed(errand).into_iter().enumerate() {
        errand.context.interrupt.check().map_err(|signal| Error::Interrupted { signal })?;
        let mut write = |out: &mut dyn std::io::Write| fetch(store, errand, path, entry.id, out);
        let stat = stage.add(errand.worktree, index, entry.kind, entry.perm, &mut write)?;
        sizes.insert(path.clone(), stat.size_bytes);
        let expect = errand.stat_of(path).map_or(Expect::Absent, |stat| {
            // What stands here goes away first, with the directory or file that is in the way.
            if errand.plan.delete.contains_key(path) { Expect::Absent } else { Expect::Present(stat) }
        });
        apply_plan.writes.push(Write { path: path.clone(), staged: index, expect });
    }
    stage.sync(errand.worktree)?;
    Ok((stage, apply_plan, sizes))
}

fn fetch(
    store: &Store,
    errand: &Errand<'_>,
    path: &RelPath,
    blob: ObjectId,
    out: &mut dyn std::io::Write,
) -> Result<u64> {
    store.objects().stream_blob(&blob, out).map_err(|e| match e {
        ObjectError::Io(e) => e,
        ObjectError::Sink(e) => Error::io("write", &errand.worktree.shown(path))(e),
        damage => store.damage(errand.target.id(), format!("{path}: {damage}")),
    })
}

/// Files whose bytes must be fetched: those that are written, and those whose mode changes while other names in or
/// outside the tree lead to the same file, which must keep theirs.
fn content_needed<'e>(errand: &'e Errand<'_>) -> Vec<(&'e RelPath, Entry)> {
    let written = errand.plan.write.iter().map(|(path, write)| (path, write.after));
    let linked = errand.plan.chmod.keys().filter(|path| errand.is_linked(path));
    let linked = linked.filter_map(|path| Some((path, *errand.wanted.files.get(path)?)));
    written.chain(linked).collect()
}

/// Everything that needs no content, in the order in which it is to be done.
fn steps_without_content(errand: &Errand<'_>) -> ApplyPlan {
    let plan = errand.plan;
    let in_the_way = |path: &RelPath| {
        plan.make_dirs.contains_key(path) || path.ancestors().any(|above| plan.write.contains_key(&above))
    };
    let dir_in_the_way = |path: &RelPath| plan.write.contains_key(path) || in_the_way(path);
    let removals = |wanted: bool| {
        let paths = plan.delete.keys().filter(move |path| in_the_way(path) == wanted);
        paths.filter_map(|path| Some(Removal { path: path.clone(), expect: errand.stat_of(path)? })).collect()
    };
    let dirs = |wanted: bool| plan.remove_dirs.iter().rev().filter(move |path| dir_in_the_way(path) == wanted).cloned();
    let chmods = plan.chmod.iter().filter(|(path, _)| !errand.is_linked(path));
    let made = plan.make_dirs.iter().chain(&plan.chmod_dirs).rev();
    ApplyPlan {
        displaced: removals(true),
        displaced_dirs: dirs(true).collect(),
        make_dirs: plan.make_dirs.iter().map(|(path, perm)| (path.clone(), *perm)).collect(),
        writes: Vec::new(),
        chmods: chmods.filter_map(|(path, perm)| Some((path.clone(), *perm, errand.stat_of(path)?))).collect(),
        deletes: removals(false),
        remove_dirs: dirs(false).collect(),
        dir_modes: made.map(|(path, perm)| (path.clone(), *perm)).collect(),
        special_bits: errand.special_bits,
    }
}

impl Errand<'_> {
    fn stat_of(&self, path: &RelPath) -> Option<Stat> {
        self.present.file(path).map(|file| file.stat)
    }

    fn is_linked(&self, path: &RelPath) -> bool {
        self.stat_of(path).is_some_and(|stat| stat.links > 1)
    }
}

/// Reads every written file back. A difference leaves the restore pending: there is a way on and a way back.
fn verify_written(errand: &Errand<'_>, applied: &Applied<'_>, sizes: &BTreeMap<RelPath, u64>) -> Result<()> {
    for (path, _) in applied.stats() {
        let Some(entry) = errand.wanted.files.get(path) else { continue };
        let Some(size_bytes) = sizes.get(path).copied() else { continue };
        let expected = Entry { size_bytes, ..*entry };
        if !verify::check(errand.worktree, path, &expected, &hash_of)? {
            return Err(Error::unexpected(format!(
                "{path} is not what was written; 'checkpoint restore --resume' finishes the restore, \
                 'checkpoint undo' takes it back"
            )));
        }
    }
    Ok(())
}

/// The blob id of what a reader yields.
pub fn hash_of(reader: &mut dyn Read, len: u64) -> Result<ObjectId> {
    let mut hasher = ObjectHasher::new(ObjectKind::Blob, len);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return hasher.finish().map_err(|e| Error::unexpected(e.to_string())),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::unexpected(format!("cannot read a restored file back: {e}"))),
        }
    }
}
