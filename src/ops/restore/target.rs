//! The checkpoint that a restore leads to, and whether paths that it lacks may be deleted.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::base::Interrupt;
use crate::error::{Error, Result};
use crate::model::default_rules::{IGNORE_FILE, RECIPE_LIST};
use crate::model::state::snapshot::below;
use crate::model::{
    Checkpoint, Database, Databases, Entry, Held, Kind, Listing, Meta, ObjectId, RelPath,
    RestorePlan, RestoreScope, RuleRecord, Snapshot, WhyNot,
};
use crate::ops::capture::lazy_snapshot;
use crate::ops::{DirFilter, LazySnapshot, OwnFiles};
use crate::store::trees::tree_codec::{MODE_EXECUTABLE, MODE_FILE};
use crate::store::{CheckpointExtras, ReadFailure, Store};
use crate::worktree::{RuleSources, RuleVerdict, Rules};

pub struct Target<'s> {
    pub checkpoint: Checkpoint,
    databases: Databases,
    store: &'s Store,
    state: LazySnapshot<'s>,
    /// Ignore files outside its scope that affect it.
    outer_rules: Option<LazySnapshot<'s>>,
    /// The state that followed this one, if this is a safety checkpoint. Each of its paths was
    /// looked at then, so a path missing here did not exist. `None` if it is gone.
    successor: Option<LazySnapshot<'s>>,
    /// Whether permission bits of the following state are known: plain git records none.
    pub knows_modes_after: bool,
    rules: Rules,
    /// Files that no restore touches, whatever this state holds there.
    spared: OwnFiles,
    /// Cached `.gitignore` of each directory that was queried.
    ignore_files: RefCell<HashMap<RelPath, Option<Vec<u8>>>>,
    /// The first read failure while a plan was made.
    trouble: RefCell<Option<ReadFailure>>,
}

impl<'s> Target<'s> {
    /// Reads what is recorded beside the trees; the trees are read and checked when needed.
    pub fn load(store: &'s Store, checkpoint: &Checkpoint) -> Result<Self> {
        let CheckpointExtras { meta, extras } = store.meta_and_extras(checkpoint)?;
        let record = if checkpoint.adopted {
            rules_of_plain_git(store)
        } else {
            meta.rules.clone()
        };
        let (successor, knows_modes_after) = successor(store, checkpoint).unzip();
        Ok(Self {
            checkpoint: checkpoint.clone(),
            databases: store.databases(checkpoint)?,
            store,
            state: LazySnapshot::new(store, checkpoint.tree, meta),
            outer_rules: extras
                .rules
                .map(|tree| LazySnapshot::new(store, tree, Meta::default())),
            successor,
            knows_modes_after: knows_modes_after.unwrap_or_default(),
            rules: Rules::new(RuleSources::of(record)),
            spared: OwnFiles::default(),
            ignore_files: RefCell::default(),
            trouble: RefCell::default(),
        })
    }

    /// Returns this state without the files that are written for workflows today.
    #[must_use]
    pub fn sparing(self, spared: OwnFiles) -> Self {
        Self { spared, ..self }
    }

    pub fn spares(&self, path: &RelPath) -> bool {
        self.spared.covers(path)
    }

    /// Returns the directories that a restore has to look into, given the present `listing`, whose
    /// trees must be known, and its meta. Of a plain git commit only the trees are known, so that
    /// is everything.
    pub fn filter(&self, listing: &Listing, present: &Meta) -> Result<DirFilter> {
        if self.checkpoint.adopted {
            return Ok(DirFilter::Everything);
        }
        lazy_snapshot::between(listing, present, &self.state, self.successor.as_ref())
            .map_err(|why| self.damage(why))
    }

    /// Returns this state, limited to `filter`.
    pub fn snapshot(&self, filter: &DirFilter) -> Result<Snapshot> {
        let mut state = self
            .state
            .snapshot(filter)
            .map_err(|why| self.damage(why))?;
        self.spared.drop_from(&mut state);
        Ok(state)
    }

    /// Returns the state that followed this one; empty if there is none or it cannot be read.
    pub fn successor(&self, filter: &DirFilter) -> Snapshot {
        let read = self
            .successor
            .as_ref()
            .and_then(|state| state.snapshot(filter).ok());
        let mut state = read.unwrap_or_default();
        self.spared.drop_from(&mut state);
        state
    }

    /// Whether the following state is known.
    pub fn has_successor(&self) -> bool {
        self.successor.is_some()
    }

    /// Returns paths unreadable both when this state was recorded and today, so that any change to
    /// them is unknown.
    pub fn unreadable_then_too(
        &self,
        today: &Meta,
        scope: &RestoreScope,
    ) -> Vec<(RelPath, WhyNot)> {
        let both = today.uncaptured.iter().filter(|(path, entry)| {
            let then = &self.state.meta.uncaptured;
            !scope.overlay
                && scope.covers(path)
                && !entry.why.stays_by_rule()
                && then.contains_key(*path)
        });
        both.map(|(path, entry)| (path.clone(), entry.why.clone()))
            .collect()
    }

    pub fn root_perm(&self) -> u32 {
        self.state.meta.perm_of_dir(&RelPath::root())
    }

    /// Whether the state that followed this one holds a path.
    fn is_held_after(&self, path: &RelPath, is_dir: bool) -> bool {
        self.successor.as_ref().is_some_and(|state| {
            let found = if is_dir {
                state.has_dir(path)
            } else {
                state.has_file(path)
            };
            found.unwrap_or(false)
        })
    }

    /// Whether this state would hold a path that it lacks, had the path existed.
    fn would_hold(&self, path: &RelPath, is_dir: bool, size_bytes: u64) -> bool {
        self.is_held_after(path, is_dir)
            || self
                .rules
                .would_capture(path, is_dir, size_bytes, &|dir| self.ignore_file_of(dir))
    }

    fn ignore_file_of(&self, dir: &RelPath) -> Option<Vec<u8>> {
        if let Some(known) = self.ignore_files.borrow().get(dir) {
            return known.clone();
        }
        let read = self.read_ignore_file(dir).unwrap_or_else(|why| {
            self.trouble.borrow_mut().get_or_insert(why);
            None
        });
        self.ignore_files
            .borrow_mut()
            .insert(dir.clone(), read.clone());
        read
    }

    fn read_ignore_file(&self, dir: &RelPath) -> Result<Option<Vec<u8>>, ReadFailure> {
        let path = dir.join(IGNORE_FILE);
        let outer_entry = |state: &LazySnapshot<'s>| state.entry_at(&path).transpose();
        let found = match self.state.entry_at(&path)? {
            None => self
                .outer_rules
                .as_ref()
                .and_then(outer_entry)
                .transpose()?,
            found => found,
        };
        let Some(entry) = found.filter(|entry| matches!(entry.mode, MODE_FILE | MODE_EXECUTABLE))
        else {
            return Ok(None);
        };
        Ok(Some(self.store.objects().read(&entry.id)?.1))
    }

    /// Returns the first failure of [`Self::may_delete`], if any: a plan that rests on it must not
    /// be carried out.
    pub fn check_all_was_known(&self) -> Result<()> {
        match self.trouble.take() {
            Some(why) => Err(self.damage(why)),
            None => Ok(()),
        }
    }

    /// Adapts `wanted` to the present state. Plain git records only the executable bit, so files
    /// that agree in it keep their permission bits.
    pub fn adapted(&self, mut wanted: Snapshot, present: &Snapshot) -> Snapshot {
        if !self.checkpoint.adopted {
            return wanted;
        }
        for (path, entry) in &mut wanted.files {
            let same =
                |found: &&Entry| found.kind == entry.kind && found.git_mode() == entry.git_mode();
            if let Some(found) = present.files.get(path).filter(same) {
                entry.perm = found.perm;
            }
        }
        for (path, perm) in &mut wanted.dirs {
            *perm = present.dirs.get(path).copied().unwrap_or(*perm);
        }
        wanted
    }

    /// Whether the ignore rules of this state differ from today's, as far as `present` and `held`
    /// tell: it may then hold what is left out today.
    pub fn ignores_otherwise(&self, today: &Meta, present: &Snapshot, held: &Snapshot) -> bool {
        let of = |state: &Snapshot| {
            let lists = state
                .files
                .iter()
                .filter(|(path, _)| path.name() == IGNORE_FILE);
            lists
                .map(|(path, entry)| (path.clone(), entry.id))
                .collect::<Vec<_>>()
        };
        (!self.checkpoint.adopted && today.rules != self.state.meta.rules)
            || of(present) != of(held)
    }

    /// Whether something at `path` that this state lacks may be deleted.
    pub fn may_delete(&self, present: &Snapshot, path: &RelPath, is_dir: bool) -> bool {
        // Plain git records no empty directory, so one that is empty now may have existed then.
        let unknowable =
            self.checkpoint.adopted && is_dir && below(&present.files, path).next().is_none();
        let found = present.files.get(path);
        let size_bytes = found.map_or(0, |entry| entry.size_bytes);
        // A directory that was left out may have become a link since.
        let is_link = found.is_some_and(|entry| entry.kind == Kind::Symlink);
        !unknowable
            && !self.spares(path)
            && self.would_hold(path, is_dir, size_bytes)
            && (!is_link || !self.leaves_out_dir(path))
    }

    /// Whether this state leaves out a directory at the place of a file that it would hold.
    pub fn leaves_out_dir(&self, path: &RelPath) -> bool {
        !self.is_held_after(path, false) && !self.would_hold(path, true, 0)
    }

    /// Whether a file may have stood here in this state too, and been left out for what it held.
    pub fn may_have_been_secret(&self, path: &RelPath) -> bool {
        let rules = |dir: &RelPath| self.ignore_file_of(dir);
        !self.is_held_after(path, false)
            && matches!(
                self.rules.judge_at(path, false, &rules),
                RuleVerdict::Peek(_)
            )
    }

    /// Checks that everything a plan would write is there and whole, so that only feasible plans
    /// are shown.
    pub fn check_contents(
        &self,
        plan: &RestorePlan,
        scope: &RestoreScope,
        interrupt: &Interrupt,
    ) -> Result<()> {
        for (database, held) in self.databases_within(scope) {
            interrupt.check()?;
            if let Held::Content(id) = held
                && !self.store.has_intact_object(*id)
            {
                let why = format!("database {database}: its content is missing or damaged");
                return Err(self.damage(why.into()));
            }
        }
        let mut seen = HashSet::new();
        for (path, write) in plan
            .write
            .iter()
            .filter(|(_, write)| seen.insert(write.after.id))
        {
            interrupt.check()?;
            if !self.store.has_intact_object(write.after.id) {
                let why = format!("{path}: its content is missing or damaged");
                return Err(self.damage(why.into()));
            }
        }
        Ok(())
    }

    /// Returns the databases within the scope of a restore.
    pub fn databases_within<'t>(
        &'t self,
        scope: &'t RestoreScope,
    ) -> impl Iterator<Item = (&'t Database, &'t Held)> {
        self.databases
            .iter()
            .filter(|(database, _)| database.is_within(scope))
    }

    /// Returns the files of all its databases, which are not captured as files.
    pub fn files_of_databases(&self) -> Vec<RelPath> {
        self.databases.keys().flat_map(Database::files).collect()
    }

    /// Whether this state has something at or below a path.
    pub fn holds(&self, path: &RelPath) -> Result<bool> {
        let mut files = self.databases.keys().filter_map(Database::path);
        if files.any(|file| file.is_at_or_below(path)) {
            return Ok(true);
        }
        self.state.holds(path).map_err(|why| self.damage(why))
    }

    fn damage(&self, why: ReadFailure) -> Error {
        self.store.damage(self.id(), why)
    }

    pub fn id(&self) -> ObjectId {
        self.checkpoint.id
    }
}

/// Rules for a commit of plain git, which does not record what it left out: everything that git's
/// recipe or the store's list leaves out today counts, so that none of it is deleted.
fn rules_of_plain_git(store: &Store) -> RuleRecord {
    let list = [&store.exclusion_list(), RECIPE_LIST.as_bytes()].join(&b'\n');
    RuleRecord {
        store_list: Some(list),
        ..RuleRecord::default()
    }
}

fn successor<'s>(store: &'s Store, checkpoint: &Checkpoint) -> Option<(LazySnapshot<'s>, bool)> {
    let operation = checkpoint.record.operation.as_ref()?;
    let followed =
        crate::store::refs::commit_reader::read_checkpoint(store.objects(), operation.target)
            .ok()?;
    let meta = store.meta(&followed).ok()?;
    let state = LazySnapshot::new(store, followed.tree, meta);
    Some((state, !followed.adopted))
}
