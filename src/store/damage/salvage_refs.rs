//! The refs of a damaged store, and which of them lead to something whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Code, Result};
use crate::model::{ObjectId, transition};
use crate::store::damage::check::lacks_only_bytes;
use crate::store::refs::{commit_codec, ref_files};
use crate::store::runs::{run_line, run_refs};
use crate::store::{CheckpointChecker, Layout, ObjectKind, Objects, PackWriter, Store, Transition};

/// Refs by full name; no value if one is torn and no commit tells what it was.
pub type NamedRefs = BTreeMap<String, Option<ObjectId>>;

/// The checkpoint that a ref is named after, if it is that of a checkpoint or a pin.
pub fn checkpoint_in(name: &str) -> Option<ObjectId> {
    match name.rsplit_once('/') {
        Some(("refs/checkpoints" | "refs/pins", id)) => ObjectId::from_hex(id),
        _ => None,
    }
}

/// All refs that are not derived, not checked any further.
///
/// # Errors
/// The disk fails to read them.
pub fn all(damaged: &Layout, objects: &Objects) -> Result<NamedRefs> {
    let mut found: NamedRefs = ref_files::packed(damaged, "")?
        .into_iter()
        .map(|(name, id)| (name, Some(id)))
        .collect();
    for path in ref_files::files_below_refs(damaged)? {
        let name = damaged.name_of(&path);
        let Some(name) = name.as_deref().and_then(|name| name.to_str()) else {
            continue;
        };
        match checkpoint_in(name).map_or_else(|| ref_files::root_of(&path), |id| Ok(Some(id))) {
            Ok(Some(id)) => drop(found.insert(name.to_owned(), Some(id))),
            Err(cause) if cause.code == Code::IO => return Err(cause),
            Ok(None) | Err(_) => {}
        }
    }
    found.retain(|name, _| name != "refs/heads/main" && !name.starts_with("refs/meta/"));
    let runs = run_line::tips(damaged, objects)?.into_iter();
    found.extend(runs.map(|(id, tip)| (run_refs::name_of(&id), tip)));
    Ok(found)
}

/// Writes a ref that leads to intact commits, or to a checkpoint that lacks at most bytes of files.
/// Returns what is lost, if anything is.
///
/// # Errors
/// The ref cannot be written, or the caller asked to stop.
pub fn write_if_whole(
    store: &Store,
    checker: &mut CheckpointChecker<'_>,
    name: &str,
    id: Option<ObjectId>,
) -> Result<Option<String>> {
    let layout = store.layout();
    let Some(id) = id else {
        return Ok(Some(name.to_owned()));
    };
    if let Some(run) = run_refs::id_in(name) {
        return restore_run(layout, store.objects(), checker, run, id);
    }
    let is_whole = match checkpoint_in(name) {
        Some(checkpoint) => lacks_only_bytes(store, &checkpoint.into()),
        None => checker.line_is_whole(id)?,
    };
    if !is_whole {
        return Ok(Some(name.to_owned()));
    }
    ref_files::write_named(layout, name, id).map(|()| None)
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
