//! The check of a store, and its report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::base::{Progress, WorkPhase};
use crate::error::Result;
use crate::model::json::{self, JsonSchema, MaybePath, Serialize, published_as};
use crate::model::{CheckpointId, CheckpointRef, DamagedCheckpoint, ObjectId, RelPath};
use crate::store::damage::{check_checkpoints, check_files, check_objects};
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::refs::inventory;
use crate::store::runs::{run_line, run_refs};
use crate::store::{CheckpointChecker, Layout, RefValue, Store};

impl Store {
    /// Checks the whole store or one checkpoint, also one of a remote. Writes nothing.
    ///
    /// # Errors
    /// The store could not be examined, or the caller asked to stop. Damage is in the report.
    pub fn check(
        &self,
        only: Option<&CheckpointId>,
        options: &CheckOptions<'_>,
    ) -> Result<CheckReport> {
        let inventory = self.inventory_as_stored()?;
        let mut report = CheckReport::default();
        options.progress.begin(WorkPhase::Verifying, 0, 0);
        let mut checker = check_checkpoints::CheckpointChecker::new(self.objects(), options);
        let is_asked = |id: &CheckpointId| only.is_none_or(|wanted| wanted == id);
        for checkpoint in inventory
            .checkpoints
            .iter()
            .filter(|checkpoint| is_asked(&checkpoint.id.into()))
        {
            checker.check(checkpoint.id, &mut report)?;
        }
        for lost in inventory.damaged.iter().filter(|lost| is_asked(&lost.id)) {
            report.checkpoints += 1;
            report.damaged.push(lost.clone().into());
        }
        inventory::drop_evicted(self.layout(), &inventory, &mut report)?;
        let of_remote = only.and_then(CheckpointId::commit);
        let of_remote = of_remote.filter(|id| !inventory.knows(*id));
        if let Some(id) = of_remote.filter(|id| self.fetched_with(*id).is_some()) {
            checker.check(id, &mut report)?;
        }
        if only.is_none() {
            check_workflows(self, &mut checker, &mut report)?;
            check_files::check(self, &inventory, &mut report)?;
            check_objects::check(self.layout(), self.objects(), options, &mut report)?;
        }
        Ok(report)
    }
}

/// Whether commit, meta and all trees of a checkpoint are readable, so only contents are missing.
pub fn lacks_only_bytes(store: &Store, id: &CheckpointId) -> bool {
    let commit = id
        .commit()
        .and_then(|id| read_checkpoint(store.objects(), id).ok());
    commit.is_some_and(|checkpoint| store.snapshot(&checkpoint).is_ok())
}

/// Reports each run that is not intact.
///
/// # Errors
/// The refs cannot be read, or the caller asked to stop.
pub fn check_workflows(
    store: &Store,
    checker: &mut CheckpointChecker<'_>,
    report: &mut CheckReport,
) -> Result<()> {
    let layout = store.layout();
    let read = run_refs::read(layout)?;
    let is_torn = read.values().any(|value| *value == RefValue::Torn);
    let tips = is_torn
        .then(|| run_line::tips(layout, store.objects()))
        .transpose()?;
    let tips = tips.unwrap_or_default();
    for (id, value) in read {
        let path = run_refs::path(layout, &id);
        match value {
            RefValue::Id(tip) => {
                let faults = checker.check_commits(tip, report)?;
                let no_state = || {
                    let read = run_line::transition(store.objects(), tip);
                    read.err().map(|why| why.to_string())
                };
                if let Some(why) = faults.first().map(in_words).or_else(no_state) {
                    report.add_damage(layout, &path, format!("workflow {id}: {why}"));
                }
            }
            RefValue::Torn if tips.get(&id) == Some(&None) => {
                let why = format!("workflow {id}: its ref names no commit, or is gone");
                report.add_damage(layout, &path, why);
            }
            RefValue::Torn => {
                let why = "its ref is torn or gone, and its commits tell what it was";
                report.add_derived(layout, &path, format!("workflow {id}: {why}"));
            }
        }
    }
    Ok(())
}

fn in_words(fault: &Fault) -> String {
    match &fault.path {
        Some(path) if !path.is_root() => format!("{path}: {}", fault.why),
        _ => fault.why.clone(),
    }
}

/// Options of a check.
pub struct CheckOptions<'o> {
    /// Whether every object is read and hashed, not only looked up.
    pub full: bool,
    /// Called repeatedly; an error ends the check.
    pub check_interrupt: &'o dyn Fn() -> crate::error::Result<()>,
    /// Counts each checked object.
    pub progress: &'o Progress,
}

/// The findings of a check and the amount checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckReport {
    /// Those that are no safety checkpoints.
    #[serde(rename = "checkpoint_count")]
    pub checkpoints: usize,
    pub safety_count: usize,
    /// Number of distinct objects.
    pub objects: u64,
    #[serde(rename = "checked_bytes")]
    pub bytes: u64,
    pub damaged: Vec<FaultyCheckpoint>,
    /// Damaged files with content that is nowhere else.
    pub files: Vec<FileFinding>,
    /// Damaged files that are derived and will be rewritten.
    pub derived: Vec<FileFinding>,
}

/// A damaged checkpoint and its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyCheckpoint {
    pub id: CheckpointId,
    /// Null if the commit is unreadable.
    pub reason: Option<String>,
    pub faults: Vec<Fault>,
}

/// A damaged checkpoint, as it is published.
#[derive(Serialize, JsonSchema)]
struct PublishedFaults {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    faults: Vec<Fault>,
}

published_as! { FaultyCheckpoint, PublishedFaults, |faulty| PublishedFaults {
    checkpoint: CheckpointRef::of_parts(&faulty.id, faulty.reason.as_deref(), None),
    faults: faulty.faults.clone(),
}; }

/// A checkpoint whose commit is unreadable.
impl From<DamagedCheckpoint> for FaultyCheckpoint {
    fn from(lost: DamagedCheckpoint) -> Self {
        let object = lost.id.commit();
        Self {
            id: lost.id,
            reason: None,
            faults: vec![Fault {
                path: None,
                object,
                why: lost.why,
            }],
        }
    }
}

/// A missing or damaged part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fault {
    /// Null for parts without a user's path: the commit or its meta.
    #[serde(flatten, serialize_with = "json::maybe_path")]
    #[schemars(with = "MaybePath")]
    pub path: Option<RelPath>,
    /// The missing or damaged object, if there is one.
    #[serde(rename = "object_id")]
    pub object: Option<ObjectId>,
    pub why: String,
}

/// A damaged file of the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct FileFinding {
    /// Relative to the store.
    #[serde(serialize_with = "json::path")]
    pub file: PathBuf,
    pub why: String,
}

impl FileFinding {
    fn of(layout: &Layout, path: &Path, why: impl Display) -> Self {
        let file = layout.name_of(path).unwrap_or_else(|| path.to_path_buf());
        let why = why.to_string();
        Self { file, why }
    }
}

impl CheckReport {
    /// Notes what is wrong with a file that will be rewritten.
    pub fn add_derived(&mut self, layout: &Layout, path: &Path, why: impl Display) {
        self.derived.push(FileFinding::of(layout, path, why));
    }

    /// Notes what is wrong with a file that has content which is nowhere else.
    pub fn add_damage(&mut self, layout: &Layout, path: &Path, why: impl Display) {
        self.files.push(FileFinding::of(layout, path, why));
    }

    /// Whether nothing is lost: at most derived files are wrong.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.files.is_empty()
    }

    /// Whether both reports find the same checkpoint or the same file damaged.
    pub fn shares_damage(&self, other: &Self) -> bool {
        let is_in_other =
            |state: &FaultyCheckpoint| other.damaged.iter().any(|it| it.id == state.id);
        let is_file_in_other =
            |file: &FileFinding| other.files.iter().any(|it| it.file == file.file);
        self.damaged.iter().any(is_in_other) || self.files.iter().any(is_file_in_other)
    }

    /// Missing or damaged objects of checkpoints, with their paths.
    pub fn missing(&self) -> BTreeMap<ObjectId, BTreeSet<RelPath>> {
        let mut missing: BTreeMap<_, BTreeSet<RelPath>> = BTreeMap::new();
        for fault in self.damaged.iter().flat_map(|state| &state.faults) {
            if let Some(id) = fault.object {
                missing.entry(id).or_default().extend(fault.path.clone());
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_the_same_by_what_is_damaged_not_by_the_words() {
        let of = |file: &str, why: &str| CheckReport {
            files: vec![FileFinding {
                file: file.into(),
                why: why.into(),
            }],
            ..CheckReport::default()
        };
        assert!(of("a.pack", "cut short").shares_damage(&of("a.pack", "missing")));
        assert!(!of("a.pack", "missing").shares_damage(&of("b.pack", "missing")));
    }
}
