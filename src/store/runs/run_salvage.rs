//! Salvages a damaged run: keeps it up to its newest intact transition, or only that one, as a new
//! line, if earlier ones are lost.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::model::transition;
use crate::store::damage::check_checkpoints::CheckpointChecker;
use crate::store::layout::Layout;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_writer::PackWriter;
use crate::store::refs::commit_codec;
use crate::store::runs::run_reader::{self, Transition};
use crate::store::runs::run_refs;

/// Writes the ref of a run unless the store has one of that name. Returns a report of what is lost.
///
/// # Errors
/// A file cannot be written, or the caller asked to stop.
pub fn restore_run(
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
        let found = run_reader::transition(objects, commit).ok()?;
        let is_whole = run_reader::state_of(objects, found.state).is_ok();
        is_whole.then_some(found)
    };
    let mut line = run_reader::lineage(objects, tip);
    line.find_map(whole).or_else(|| {
        let ids = BTreeSet::from([id.to_owned()]);
        let newest = run_reader::newest_of(objects, &ids, &[]);
        whole(newest.into_values().next()?)
    })
}

fn without_parent(layout: &Layout, objects: &Objects, newest: &Transition) -> Result<ObjectId> {
    let text = transition::cut(&newest.message, &newest.commit.to_hex());
    let mut writer = PackWriter::begin(&layout.objects(), objects)?;
    let tree = writer.add(ObjectKind::Tree, &run_reader::tree_of(newest.state))?;
    let commit = commit_codec::encode(tree, newest.time_ms.div_euclid(1000), &text);
    let commit = writer.add(ObjectKind::Commit, &commit)?;
    writer.finish()?;
    objects.refresh()?;
    Ok(commit)
}
