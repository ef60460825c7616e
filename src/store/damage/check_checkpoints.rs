//! Checks checkpoints: commit, meta, every tree and blob, and the parents of each.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::checkpoint::limits::{self, LONGEST_LINK_BYTES, MOST_ENTRIES, MOST_LEVELS};
use crate::model::state::meta::contradiction;
use crate::model::{Checkpoint, Meta, ObjectId, RelPath, StateDocument};
use crate::store::refs::commit_codec;
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK, MODE_SYMLINK};
use crate::store::trees::tree_extent::TreeExtents;
use crate::store::trees::{convert, meta_tree};
use crate::store::{
    CheckOptions, CheckReport, CheckpointExtras, Fault, FaultyCheckpoint, IdMap, ObjectIds,
    ObjectKind, Objects, ReadFailure, TreeEntry, TreeMemo, TreeWalk,
};

/// Checks checkpoints one after the other; shared objects are checked once.
pub struct CheckpointChecker<'c> {
    objects: &'c Objects,
    options: &'c CheckOptions<'c>,
    /// Trees without a fault in them.
    clean: ObjectIds,
    extents: TreeExtents,
    /// Whether trees must be walked by path: after the first fault in one.
    walks: bool,
    blobs: IdMap<Option<String>>,
    counted: ObjectIds,
}

impl<'c> CheckpointChecker<'c> {
    pub fn new(objects: &'c Objects, options: &'c CheckOptions<'c>) -> Self {
        Self {
            objects,
            options,
            clean: ObjectIds::default(),
            extents: TreeExtents::default(),
            walks: false,
            blobs: IdMap::default(),
            counted: ObjectIds::default(),
        }
    }

    /// Takes all in a tree for sound that was checked before, if the trees in it can be read.
    ///
    /// # Errors
    /// The caller asked to stop.
    pub fn trust(&mut self, root: ObjectId) -> Result<()> {
        let (mut extents, mut trees, mut blobs) = (TreeExtents::default(), vec![root], Vec::new());
        let mut is_read = true;
        let stop = self.options.check_interrupt;
        let is_within = extents.is_within(root, stop, &mut |id| {
            let Ok((_, bytes)) = self.objects.read(&id) else {
                is_read = false;
                return Default::default();
            };
            let (mut count, mut below) = (0, Vec::new());
            for line in tree_codec::lines(&bytes).map_while(Result::ok) {
                count += 1;
                match line.mode {
                    MODE_DIRECTORY => below.push(line.id),
                    _ => blobs.push((line.id, None)),
                }
            }
            trees.extend(&below);
            (count, below)
        })?;
        if is_read && is_within {
            self.extents = extents;
            self.clean.extend(trees);
            self.blobs.extend(blobs);
        }
        Ok(())
    }

    /// Checks a checkpoint and adds its faults to the report.
    ///
    /// # Errors
    /// The caller asked to stop. Damage is not an error.
    pub fn check(&mut self, id: ObjectId, report: &mut CheckReport) -> Result<()> {
        let mut faults = Vec::new();
        let mut is_adopted = false;
        let read = read_checkpoint(self.objects, id);
        if read.as_ref().is_ok_and(Checkpoint::is_safety) {
            report.safety_count += 1;
        } else {
            report.checkpoints += 1;
        }
        let reason = match read {
            Ok(checkpoint) => {
                is_adopted = checkpoint.adopted;
                faults.extend(limits::record_problem(&checkpoint.record).map(fault_of));
                if let Some(CheckpointExtras { meta, extras }) =
                    self.check_meta(checkpoint.meta, &mut faults, report)
                {
                    self.check_agreement(&meta, checkpoint.tree, &mut faults);
                    self.check_databases(extras.databases, &mut faults);
                    self.check_values(extras.state_document, &mut faults);
                    let is_tree = |id: &ObjectId| {
                        let kind = self.objects.kind_and_size_of(id);
                        kind.is_ok_and(|(kind, _)| kind == ObjectKind::Tree)
                    };
                    if let Some(tree) = checkpoint.meta.filter(is_tree) {
                        self.check_extras(tree, &mut faults, report)?;
                    }
                }
                Some(checkpoint.record.reason)
            }
            Err(why) => {
                faults.push(fault_at(None, Some(id), why));
                None
            }
        };
        if reason.is_some() {
            self.check_line(id, is_adopted, &mut faults, report)?;
        }
        if !faults.is_empty() {
            report.damaged.push(FaultyCheckpoint {
                id: id.into(),
                reason,
                faults,
            });
        }
        Ok(())
    }

    /// Whether a commit, all its ancestors and all their objects are intact.
    ///
    /// # Errors
    /// The caller asked to stop.
    pub fn line_is_whole(&mut self, commit: ObjectId) -> Result<bool> {
        Ok(self
            .check_commits(commit, &mut CheckReport::default())?
            .is_empty())
    }

    /// The faults of a commit, its ancestors and all their objects.
    ///
    /// # Errors
    /// The caller asked to stop.
    pub fn check_commits(
        &mut self,
        newest: ObjectId,
        report: &mut CheckReport,
    ) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        self.check_line(newest, false, &mut faults, report)?;
        Ok(faults)
    }

    fn check_meta(
        &mut self,
        meta: Option<ObjectId>,
        faults: &mut Vec<Fault>,
        report: &mut CheckReport,
    ) -> Option<CheckpointExtras> {
        let id = meta?;
        let read = meta_tree::read(self.objects, id);
        let read = read.map_err(|why| fault_at(None, Some(id), format!("its meta: {why}")));
        let extras = read.map_err(|fault| faults.push(fault)).ok()?;
        self.count(id, self.objects.size(&id).unwrap_or_default(), report);
        Some(extras)
    }

    /// Checks the tree beside the files, if there is one.
    fn check_extras(
        &mut self,
        id: ObjectId,
        faults: &mut Vec<Fault>,
        report: &mut CheckReport,
    ) -> Result<()> {
        let mut found = Vec::new();
        self.check_tree(id, false, &mut found, report)?;
        let told = |fault: Fault| {
            let place = fault.path.unwrap_or_default();
            fault_at(
                None,
                fault.object,
                format!("beside its files, {place}: {}", fault.why),
            )
        };
        faults.extend(found.into_iter().map(told));
        Ok(())
    }

    fn check_databases(&self, tree: Option<ObjectId>, faults: &mut Vec<Fault>) {
        match meta_tree::read_databases(self.objects, tree) {
            Err(why) => faults.push(fault_of(why)),
            Ok(databases) => {
                let paths = databases.keys().filter_map(|database| database.path());
                let wrong = paths.filter_map(limits::path_problem);
                faults.extend(wrong.map(|why| fault_of(format!("a database: {why}"))));
            }
        }
    }

    /// Checks the values that are no files; that they are missing is found with the tree beside.
    fn check_values(&self, document: Option<ObjectId>, faults: &mut Vec<Fault>) {
        let read = document.and_then(|id| self.objects.read(&id).ok());
        let checked = read.map_or(Ok(()), |(_, bytes)| {
            StateDocument::of(Some(&bytes), &[]).map(drop)
        });
        faults.extend(checked.err().map(fault_of));
    }

    /// Checks that directories known only to the meta can be made, and are not files in the tree.
    /// Ignores unreadable trees, reported elsewhere.
    fn check_agreement(&self, meta: &Meta, tree: ObjectId, faults: &mut Vec<Fault>) {
        let mut memo = TreeMemo::new(self.objects);
        for path in meta.bare_dirs() {
            if let Some(why) = limits::path_problem(&path) {
                faults.push(fault_at(Some(path), None, why));
                continue;
            }
            let Ok(Some(entry)) = memo.entry_at(tree, &path) else {
                continue;
            };
            if !entry.is_directory() && entry.mode != MODE_GITLINK {
                let why = contradiction(&path);
                faults.push(fault_at(Some(path), None, why));
            }
        }
    }

    /// Checks a commit and its ancestors, which git needs; our checkpoints have none. One that plain
    /// git made has the time that it was given.
    fn check_line(
        &mut self,
        id: ObjectId,
        is_adopted: bool,
        faults: &mut Vec<Fault>,
        report: &mut CheckReport,
    ) -> Result<()> {
        let mut seen = HashSet::new();
        let mut pending = vec![id];
        while let Some(commit) = pending.pop() {
            if !seen.insert(commit) {
                continue;
            }
            let read = self.objects.read(&commit).map_err(ReadFailure::from);
            let parsed = read.and_then(|(kind, bytes)| {
                self.count(commit, bytes.len() as u64, report);
                match kind {
                    ObjectKind::Commit => Ok(commit_codec::parse(&bytes)?),
                    _ => Err("it is not a commit".into()),
                }
            });
            match parsed {
                Ok(parts) => {
                    if parts.seconds < 0 && !is_adopted {
                        let why = format!("commit {} has a time before 1970", commit.short());
                        faults.push(fault_of(why));
                    }
                    self.check_tree(parts.tree, true, faults, report)?;
                    pending.extend(parts.parents);
                }
                Err(why) => {
                    let why = format!("commit {}, on which it rests: {why}", commit.short());
                    faults.push(fault_at(None, Some(commit), why));
                }
            }
        }
        Ok(())
    }

    /// `is_written` says that a restore makes files of these names.
    fn check_tree(
        &mut self,
        root: ObjectId,
        is_written: bool,
        faults: &mut Vec<Fault>,
        report: &mut CheckReport,
    ) -> Result<()> {
        if self.clean.contains(&root) {
            return Ok(());
        }
        let stop = self.options.check_interrupt;
        let mut extents = std::mem::take(&mut self.extents);
        let is_within = extents.is_within(root, stop, &mut |id| self.check_entries(id, report));
        self.extents = extents;
        if !is_within? {
            faults.push(fault_of(format!(
                "a tree in it has over {MOST_ENTRIES} entries or {MOST_LEVELS} levels"
            )));
        } else if self.walks {
            self.walk_tree(root, is_written, faults, report)?;
        }
        Ok(())
    }

    /// Checks the entries of one tree without their paths; returns how many it has, and the trees
    /// among them. What is wrong is found again by [`Self::walk_tree`], which knows the paths.
    fn check_entries(&mut self, id: ObjectId, report: &mut CheckReport) -> (u64, Vec<ObjectId>) {
        let Ok(entries) = convert::read_tree(self.objects, id) else {
            self.walks = true;
            return Default::default();
        };
        self.count(id, 0, report);
        let mut below = Vec::new();
        for entry in &entries {
            let is_file = !entry.is_directory() && entry.mode != MODE_GITLINK;
            below.extend(entry.is_directory().then_some(entry.id));
            self.walks |= limits::name_problem(&entry.name).is_some()
                || is_file && self.check_file(entry, report).is_some();
        }
        (entries.len() as u64, below)
    }

    fn walk_tree(
        &mut self,
        root: ObjectId,
        is_written: bool,
        faults: &mut Vec<Fault>,
        report: &mut CheckReport,
    ) -> Result<()> {
        let name_problem = |path: &RelPath| {
            let why = limits::name_problem(path.name()).filter(|_| is_written)?;
            Some(fault_at(Some(path.clone()), None, why))
        };
        let before = faults.len();
        let mut visited = Vec::new();
        let mut walk = TreeWalk::of(root);
        while let Some((dir, id)) = walk.next_tree() {
            faults.extend(name_problem(&dir));
            if self.clean.contains(&id) {
                continue;
            }
            (self.options.check_interrupt)()?;
            visited.push(id);
            let entries = match convert::read_tree(self.objects, id) {
                Ok(entries) => entries,
                Err(why) => {
                    faults.push(fault_at(Some(dir), Some(id), why.to_string()));
                    continue;
                }
            };
            self.count(id, 0, report);
            for (path, entry) in walk.enter(&dir, &entries) {
                faults.extend(name_problem(&path));
                if entry.mode != MODE_GITLINK
                    && let Some(why) = self.check_file(entry, report)
                {
                    faults.push(fault_at(Some(path), Some(entry.id), why));
                }
            }
        }
        if faults.len() == before {
            self.clean.extend(visited);
        }
        Ok(())
    }

    fn check_file(&mut self, entry: &TreeEntry, report: &mut CheckReport) -> Option<String> {
        let blob = self.check_blob(entry.id, report);
        blob.or_else(|| self.check_link(entry))
    }

    /// What makes an entry a link that no system can have, if it is one.
    fn check_link(&self, entry: &TreeEntry) -> Option<String> {
        if entry.mode != MODE_SYMLINK {
            return None;
        }
        let size = self.objects.size(&entry.id).ok()?;
        if size == 0 || size > LONGEST_LINK_BYTES {
            return Some(format!("it is a link to a name of {size} bytes"));
        }
        let (_, target) = self.objects.read(&entry.id).ok()?;
        let has_nul = target.contains(&0);
        has_nul.then(|| "it is a link to a name with a NUL in it".to_owned())
    }

    /// The fault of a blob, if any.
    fn check_blob(&mut self, id: ObjectId, report: &mut CheckReport) -> Option<String> {
        if let Some(known) = self.blobs.get(&id) {
            return known.clone();
        }
        let looked = if self.options.full {
            self.objects
                .stream_blob(&id, &mut std::io::sink())
                .map_err(|e| e.to_string())
        } else {
            self.objects
                .kind_and_size_of(&id)
                .map_err(|e| e.to_string())
                .and_then(|(kind, size)| match kind {
                    ObjectKind::Blob => Ok(size),
                    _ => Err(format!("object {id} is not a blob")),
                })
        };
        if let Ok(size) = looked {
            self.count(id, size, report);
        }
        let wrong = looked.err();
        self.blobs.insert(id, wrong.clone());
        wrong
    }

    fn count(&mut self, id: ObjectId, bytes: u64, report: &mut CheckReport) {
        if self.counted.insert(id) {
            report.objects += 1;
            report.bytes += bytes;
            self.options.progress.add(1, bytes);
        }
    }
}

fn fault_of(why: impl std::fmt::Display) -> Fault {
    fault_at(None, None, why)
}

fn fault_at(path: Option<RelPath>, object: Option<ObjectId>, why: impl std::fmt::Display) -> Fault {
    let why = why.to_string();
    Fault { path, object, why }
}
