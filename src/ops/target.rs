//! The checkpoint that a restore leads to, read whole, with all that it knows about paths that it does not hold.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::error::{Error, Result};
use crate::model::checkpoint::Checkpoint;
use crate::model::default_rules::{DEFAULT_STORE_LIST, RECIPE_LIST};
use crate::model::entry::Entry;
use crate::model::interrupt::Interrupt;
use crate::model::meta::RuleRecord;
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::restore_plan::RestorePlan;
use crate::model::snapshot::{Snapshot, below};
use crate::store::Store;
use crate::worktree::rules::{RuleSources, Rules};

pub struct Target {
    pub checkpoint: Checkpoint,
    pub snapshot: Snapshot,
    /// Paths of the state that followed this one, if this is a safety checkpoint: it looked at each of them, so one
    /// that it does not hold was not there.
    pub successor: Snapshot,
    rules: Rules,
    ignore_files: BTreeMap<RelPath, Vec<u8>>,
}

impl Target {
    /// Reads and checks everything but the contents that a restore will not need.
    pub fn load(store: &Store, checkpoint: &Checkpoint) -> Result<Self> {
        let snapshot = store.snapshot(checkpoint)?;
        let record = if checkpoint.adopted { rules_of_plain_git(store) } else { store.meta(checkpoint)?.rules };
        let ignore_files = ignore_files(store, checkpoint, &snapshot)?;
        let successor = successor(store, checkpoint);
        Ok(Self { checkpoint: checkpoint.clone(), snapshot, successor, rules: rules_of(record), ignore_files })
    }

    /// Whether a path that this state lacks would be in it, had it been there.
    fn would_hold(&self, path: &RelPath, is_dir: bool, size_bytes: u64) -> bool {
        let seen =
            if is_dir { self.successor.dirs.contains_key(path) } else { self.successor.files.contains_key(path) };
        let ignore_file_of = |dir: &RelPath| self.ignore_files.get(dir).cloned();
        seen || self.rules.would_capture(path, is_dir, size_bytes, &ignore_file_of)
    }

    /// This state as it is wanted where `present` stands. Plain git knows nothing of permission bits but whether a file
    /// may be run, so what agrees in that keeps the bits that it has.
    pub fn wanted(&self, present: &Snapshot) -> Cow<'_, Snapshot> {
        if !self.checkpoint.adopted {
            return Cow::Borrowed(&self.snapshot);
        }
        let mut wanted = self.snapshot.clone();
        for (path, entry) in &mut wanted.files {
            let same = |found: &&Entry| found.kind == entry.kind && found.git_mode() == entry.git_mode();
            if let Some(found) = present.files.get(path).filter(same) {
                entry.perm = found.perm;
            }
        }
        for (path, perm) in &mut wanted.dirs {
            *perm = present.dirs.get(path).copied().unwrap_or(*perm);
        }
        Cow::Owned(wanted)
    }

    /// Whether something at `path` that this state lacks may go, with what stands there now.
    pub fn may_delete(&self, present: &Snapshot, path: &RelPath, is_dir: bool) -> bool {
        // Plain git records no empty directory, so one that is empty now may have been there then.
        let unknowable = self.checkpoint.adopted && is_dir && below(&present.files, path).next().is_none();
        let size_bytes = present.files.get(path).map_or(0, |entry| entry.size_bytes);
        !unknowable && self.would_hold(path, is_dir, size_bytes)
    }

    /// Files that must be looked at on disk although a rule of today may leave them out.
    pub fn files_to_look_at(&self) -> BTreeSet<RelPath> {
        self.snapshot.files.keys().chain(self.successor.files.keys()).cloned().collect()
    }

    /// The same for directories; a file that stands in the place of one is looked at too.
    pub fn dirs_to_look_at(&self) -> Vec<RelPath> {
        self.snapshot.dirs.keys().chain(self.successor.dirs.keys()).cloned().collect()
    }

    /// Whether all that a plan would write is there and whole: what cannot be done is not to be shown.
    pub fn check_contents(&self, store: &Store, plan: &RestorePlan, interrupt: &Interrupt) -> Result<()> {
        let mut seen = HashSet::new();
        for (path, write) in plan.write.iter().filter(|(_, write)| seen.insert(write.after.id)) {
            interrupt.check().map_err(|signal| Error::Interrupted { signal })?;
            if !store.has_whole(write.after.id) {
                return Err(store.damage(self.id(), format!("{path}: its content is missing or damaged")));
            }
        }
        Ok(())
    }

    /// Whether this state has something at a path, or below it.
    pub fn holds(&self, path: &RelPath) -> bool {
        self.snapshot.files.contains_key(path) || self.snapshot.dirs.contains_key(path)
    }

    pub fn id(&self) -> ObjectId {
        self.checkpoint.id
    }
}

/// What a commit of plain git left out is not recorded with it: all that its recipe leaves out or the store's list
/// names today counts as left out, so that none of it is deleted.
fn rules_of_plain_git(store: &Store) -> RuleRecord {
    let list = [&store.exclusion_list(), RECIPE_LIST.as_bytes()].join(&b'\n');
    RuleRecord { store_list: Some(list), ..RuleRecord::default() }
}

fn rules_of(record: RuleRecord) -> Rules {
    Rules::new(RuleSources {
        store_list: record.store_list.unwrap_or_else(|| DEFAULT_STORE_LIST.as_bytes().to_vec()),
        excludes: record.excludes,
        sensitive_allow: record.sensitive_allow,
        max_file_size_bytes: record.max_file_size_bytes,
        tracked: std::sync::Arc::default(),
    })
}

fn ignore_files(store: &Store, checkpoint: &Checkpoint, snapshot: &Snapshot) -> Result<BTreeMap<RelPath, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for (path, entry) in snapshot.files.iter().filter(|(path, _)| path.name() == b".gitignore") {
        let is_file = entry.kind == crate::model::entry::Kind::File;
        let Some(dir) = path.parent().filter(|_| is_file) else { continue };
        let (_, bytes) = store.objects().read(&entry.id).map_err(|e| store.damage(checkpoint.id, e.to_string()))?;
        found.insert(dir, bytes);
    }
    Ok(found)
}

/// The state to which the restore led that this safety checkpoint was taken before. One that is gone tells nothing.
fn successor(store: &Store, checkpoint: &Checkpoint) -> Snapshot {
    let Some(operation) = &checkpoint.record.operation else { return Snapshot::default() };
    let Ok(followed) = crate::store::commit_reader::read_checkpoint(store.objects(), operation.target) else {
        return Snapshot::default();
    };
    store.snapshot(&followed).unwrap_or_default()
}
