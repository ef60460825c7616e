//! The checkpoints that a damaged store still names, whatever the state of its refs and manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::base::Progress;
use crate::error::Result;
use crate::model::checkpoint::manifest;
use crate::model::{DamagedCheckpoint, ObjectId, transition};
use crate::store::files::read_regular;
use crate::store::objects::loose_files::names_in;
use crate::store::refs::commit_codec;
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::refs::inventory::{lost_row, names_transition};
use crate::store::refs::ref_files;
use crate::store::runs::run_line;
use crate::store::runs::run_refs;
use crate::store::{
    CheckOptions, CheckpointChecker, CommitReader, Family, Layout, ObjectKind, Objects, PackWriter,
    RefValue, Transition,
};

/// Ids and names, not checked any further.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownRefs {
    pub checkpoints: BTreeSet<ObjectId>,
    /// Rows of the manifest without a commit.
    pub lost_rows: Vec<DamagedCheckpoint>,
    pub pins: BTreeSet<ObjectId>,
    /// Foreign refs and refs of runs, by full name.
    pub others: BTreeMap<String, ObjectId>,
    /// Full names of torn refs of runs without a commit that restores them.
    pub torn: Vec<String>,
    /// There may have been more: a file could not be read.
    pub is_doubtful: bool,
}

/// Collects the checkpoints named by refs and rows. Without a readable manifest every checkpoint
/// commit counts: nothing tells which were dropped.
pub fn remembered(damaged: &Layout, objects: &Objects) -> KnownRefs {
    let mut found = KnownRefs::default();
    let mut family = |family| {
        let read = ref_files::read_family(damaged, family);
        found.is_doubtful |= read.is_err();
        read.unwrap_or_default().into_keys()
    };
    let (checkpoints, pins) = (family(Family::Checkpoints), family(Family::Pins));
    found.checkpoints.extend(checkpoints);
    found.pins.extend(pins);
    found.others = other_refs(damaged);
    remember_torn(damaged, objects, &mut found);
    let manifest = read_regular::read(&damaged.manifest())
        .ok()
        .filter(|bytes| manifest::is_readable(bytes));
    if let Some(bytes) = &manifest {
        let with_ref: BTreeSet<String> = found.checkpoints.iter().map(|id| id.short()).collect();
        for (id, row) in manifest::rows(&String::from_utf8_lossy(bytes)) {
            let mut named = objects.by_prefix(&id);
            named.retain(|id| read_checkpoint(objects, *id).is_ok());
            found.is_doubtful |= named.is_empty();
            let is_known =
                with_ref.contains(&id[..ObjectId::SHORT_DIGITS]) || names_transition(objects, &id);
            if named.is_empty() && !is_known {
                found.lost_rows.push(lost_row(id, row));
            }
            found.checkpoints.extend(named);
        }
    }
    if manifest.is_none() {
        let commits = CommitReader::new(objects).commits_of_no_remote();
        found.checkpoints.extend(
            commits
                .into_iter()
                .filter(|id| read_checkpoint(objects, *id).is_ok()),
        );
    }
    found
}

/// Restores the refs of `kept` checkpoints and every other ref that leads to intact commits.
/// Returns the names of lost refs.
///
/// # Errors
/// A ref cannot be written, or the caller asked to stop.
pub fn restore_refs(
    layout: &Layout,
    objects: &Objects,
    remembered: &KnownRefs,
    kept: &[ObjectId],
    check_interrupt: &dyn Fn() -> Result<()>,
) -> Result<Vec<String>> {
    for id in kept {
        if let Some(meta) = read_checkpoint(objects, *id)
            .ok()
            .and_then(|checkpoint| checkpoint.meta)
        {
            ref_files::write(layout, Family::Meta, *id, meta)?;
        }
        ref_files::write(layout, Family::Checkpoints, *id, *id)?;
        if remembered.pins.contains(id) {
            ref_files::write(layout, Family::Pins, *id, *id)?;
        }
    }
    let mut lost = Vec::new();
    let progress = Progress::default();
    let options = CheckOptions {
        full: true,
        check_interrupt,
        progress: &progress,
    };
    let mut checker = CheckpointChecker::new(objects, &options);
    for (name, id) in &remembered.others {
        if let Some(workflow) = run_refs::id_in(name) {
            lost.extend(restore_run(layout, objects, &mut checker, workflow, *id)?);
        } else if checker.line_is_whole(*id)? {
            ref_files::write_named(layout, name, *id)?;
        } else {
            lost.push(name.clone());
        }
    }
    Ok(lost)
}

fn other_refs(layout: &Layout) -> BTreeMap<String, ObjectId> {
    let mut found: BTreeMap<String, ObjectId> = ref_files::packed(layout, "").unwrap_or_default();
    let mut folders = vec!["refs".to_owned()];
    while let Some(folder) = folders.pop() {
        for name in names_in(&layout.dir().join(&folder)).unwrap_or_default() {
            let name = format!("{folder}/{name}");
            let path = layout.dir().join(&name);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                folders.push(name);
            } else if let Some(id) = id_in(&path) {
                found.insert(name, id);
            }
        }
    }
    let ours = [
        "refs/checkpoints/",
        "refs/meta/",
        "refs/pins/",
        "refs/heads/main",
    ];
    found.retain(|name, _| !ours.iter().any(|prefix| name.starts_with(prefix)));
    found
}

fn id_in(path: &Path) -> Option<ObjectId> {
    ObjectId::from_hex(read_regular::read_text(path).ok()?.trim_end())
}

/// Adds runs whose ref is torn, with the tip found among the commits.
pub fn remember_torn(damaged: &Layout, objects: &Objects, found: &mut KnownRefs) {
    let read = run_refs::read(damaged);
    found.is_doubtful |= read.is_err();
    let torn = read
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, value)| *value == RefValue::Torn);
    let torn: BTreeSet<String> = torn.map(|(id, _)| id).collect();
    if torn.is_empty() {
        return;
    }
    let taken: Vec<ObjectId> = found.others.values().copied().collect();
    let newest = run_line::newest_of(objects, &torn, &taken);
    let lost = torn.iter().filter(|id| !newest.contains_key(*id));
    found.torn.extend(lost.map(|id| run_refs::name_of(id)));
    let newest = newest.into_iter();
    let named = newest.map(|(id, tip)| (run_refs::name_of(&id), tip));
    found.others.extend(named);
}

/// Writes the ref of a run unless the store has one of that name: up to its newest intact transition,
/// or only to that one, as a new line, if earlier ones are lost. Returns a report of what is lost.
fn restore_run(
    layout: &Layout,
    objects: &Objects,
    checker: &mut CheckpointChecker<'_>,
    id: &str,
    tip: ObjectId,
) -> Result<Option<String>> {
    if run_refs::value(layout, id)?.is_some() {
        return Ok(None);
    }
    let name = run_refs::name_of(id);
    if checker.line_is_whole(tip)? {
        return run_refs::write(layout, id, tip).map(|()| None);
    }
    let Some(newest) = newest_whole(objects, id, tip) else {
        return Ok(Some(name));
    };
    let short = newest.commit.short();
    let (kept, lost) = if checker.line_is_whole(newest.commit)? {
        (newest.commit, "after")
    } else {
        (without_parent(layout, objects, &newest)?, "before")
    };
    run_refs::write(layout, id, kept)?;
    Ok(Some(format!("{name} (transitions {lost} {short})")))
}

/// The first intact transition from `tip` downwards, or else the newest in the store that names
/// this run.
fn newest_whole(objects: &Objects, id: &str, tip: ObjectId) -> Option<Transition> {
    let whole = |commit: ObjectId| {
        let found = run_line::transition(objects, commit).ok()?;
        let is_whole = run_line::state_of(objects, found.state).is_ok();
        is_whole.then_some(found)
    };
    let mut line = run_line::lineage(objects, tip);
    line.find_map(whole).or_else(|| {
        let ids = BTreeSet::from([id.to_owned()]);
        let newest = run_line::newest_of(objects, &ids, &[]);
        whole(newest.into_values().next()?)
    })
}

fn without_parent(layout: &Layout, objects: &Objects, newest: &Transition) -> Result<ObjectId> {
    let text = transition::cut(&newest.message, &newest.commit.to_hex());
    let mut writer = PackWriter::begin(&layout.objects(), objects)?;
    let tree = writer.add(ObjectKind::Tree, &run_line::tree_of(newest.state))?;
    let commit = commit_codec::encode(tree, newest.time_ms.div_euclid(1000), &text);
    let commit = writer.add(ObjectKind::Commit, &commit)?;
    writer.finish()?;
    objects.refresh()?;
    Ok(commit)
}
