//! Salvage: fills a fresh store beside a damaged one with all that is still readable, then puts it
//! in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{CheckpointId, ObjectId, transition};
use crate::store::damage::check::lacks_only_bytes;
use crate::store::damage::{check_objects, replace_store};
use crate::store::files::{atomic_file, read_regular};
use crate::store::lifecycle::init;
use crate::store::objects::loose_files::names_in;
use crate::store::objects::pack::pack_writer::PackError;
use crate::store::refs::{commit_codec, ref_files};
use crate::store::runs::{run_line, run_refs};
use crate::store::{
    CheckOptions, CheckReport, CheckpointChecker, Description, EntryKind, FaultyCheckpoint, Layout,
    LockGuard, LockedStore, ObjectKind, Objects, Pack, PackWriter, Store, Transition, lock,
};

/// The result of a salvage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Salvaged {
    /// Path at which the damaged store is kept.
    #[serde(serialize_with = "json::path")]
    pub kept_as: PathBuf,
    pub whole: usize,
    /// Kept checkpoints that lack the bytes of some files; the others can be restored singly.
    pub in_part: usize,
    /// Checkpoints that remain only in the kept copy.
    pub lost: Vec<FaultyCheckpoint>,
    /// Refs of runs and of other programs that were lost, or cut to their intact part.
    pub lost_refs: Vec<String>,
}

/// How a store is salvaged.
pub struct SalvageOptions<'o> {
    /// That of the new store, except for a readable old creation time and forced flag.
    pub description: Description,
    pub wait: Duration,
    pub holder: &'o str,
    pub unreadable: Unreadable,
    pub now_ms: i64,
    pub check: CheckOptions<'o>,
    /// Adds what else can be found of the objects that a store lacks, and checks it.
    pub heal: &'o dyn Fn(&Store) -> Result<CheckReport>,
}

/// Replaces a damaged store, whose lock the caller holds if it can be locked.
///
/// # Errors
/// Another salvage is running, the disk is full, or the caller asked to stop. The damaged store
/// still exists, in place or beside it.
pub fn salvage(place: &Path, with: &SalvageOptions<'_>) -> Result<Salvaged> {
    // Keeps other processes from exchanging stores here.
    let _beside = lock::acquire_directory(place.parent().unwrap_or(place), with.wait)?;
    let fresh = replace_store::fresh_path(place);
    let filled = fill(place, &fresh, with);
    if filled.is_err() {
        // On failure the next writer removes it.
        let _ = replace_store::remove_store(&fresh);
    }
    // The lock's file remains the lock once the store is in place.
    let (salvaged, _lock) = filled?;
    let kept_as = replace_store::set_aside_path(place, with.now_ms);
    replace_store::put_in_place(&fresh, place, &kept_as)?;
    // The config names the store's own path.
    init::ensure_layout(&Layout::new(place.to_path_buf()))?;
    Ok(Salvaged {
        kept_as,
        ..salvaged
    })
}

/// Makes the new store; the damaged one is not touched. Its description is written last and says
/// that it is whole.
fn fill(place: &Path, fresh: &Path, with: &SalvageOptions<'_>) -> Result<(Salvaged, LockGuard)> {
    let damaged = Layout::new(place.to_path_buf());
    let layout = Layout::new(fresh.to_path_buf());
    init::ensure_layout(&layout)?;
    copy_small_files(&damaged, &layout)?;
    let fresh = Store::open_plain(layout.clone())?;
    copy_readable(
        &damaged.objects(),
        fresh.objects(),
        with.unreadable,
        &with.check,
    )?;
    let refs = all_refs(&damaged, fresh.objects())?;
    let checkpoints = |name: &str| checkpoint_in(name).is_some();
    for (name, id) in refs.iter().filter(|(name, _)| checkpoints(name)) {
        id.map_or(Ok(()), |id| ref_files::write_named(&layout, name, id))?;
    }
    let report = (with.heal)(&fresh)?;
    // From here on it is a store like any other: the lock gives back refs of which rows or commits
    // tell, and what is lost is dropped as a user would.
    let mut locked = fresh.lock(with.wait, with.holder)?;
    let known = report.checkpoints;
    let (in_part, lost): (Vec<FaultyCheckpoint>, Vec<FaultyCheckpoint>) = report
        .damaged
        .into_iter()
        .partition(|state| lacks_only_bytes(&fresh, &state.id));
    let ids: Vec<CheckpointId> = lost.iter().map(|state| state.id.clone()).collect();
    let commits: Vec<ObjectId> = ids.iter().filter_map(CheckpointId::commit).collect();
    locked.drop_checkpoints(&commits)?;
    locked.drop_rows(&ids)?;
    locked.write_derived()?;
    let mut checker = CheckpointChecker::new(fresh.objects(), &with.check);
    let mut lost_refs = Vec::new();
    for (name, id) in refs.iter().filter(|(name, _)| !checkpoints(name)) {
        lost_refs.extend(write_if_whole(&fresh, &mut checker, name, *id)?);
    }
    note_left_behind(&layout, refs)?;
    locked.clear_unusable(with.now_ms)?;
    locked.flush_drops()?;
    layout
        .directories()
        .iter()
        .try_for_each(|dir| atomic_file::sync_directory(dir))?;
    let known_before = Description::read(&damaged).ok().flatten();
    let mut description = with.description.clone();
    if let Some(before) = known_before {
        description.forced |= before.forced;
        description.created_ms = before.created_ms;
    }
    locked.write_description(&description)?;
    let salvaged = Salvaged {
        whole: known.saturating_sub(in_part.len() + lost.len()),
        in_part: in_part.len(),
        lost,
        lost_refs,
        ..Salvaged::default()
    };
    Ok((salvaged, locked.into_lock()))
}

/// Copies manifest, exclusion list, journal and other readable files that are not derived.
fn copy_small_files(from: &Layout, to: &Layout) -> Result<()> {
    let own = names_in(&from.own()).unwrap_or_default();
    let mut files = vec![from.manifest(), from.exclusion_list()];
    files.extend(own.iter().map(|name| from.own().join(name)));
    let left_out = [
        from.description(),
        from.lock(),
        // Salvaged runs enter the roll themselves.
        from.workflow_roll(),
        from.last_gc(),
    ];
    files.retain(|path| !left_out.contains(path) && !from.caches().contains(path));
    for path in files {
        match read_regular::read(&path) {
            Ok(bytes) => {
                let name = path.strip_prefix(from.dir()).unwrap_or(&path);
                atomic_file::replace_through(&to.own(), &to.dir().join(name), &bytes)?;
            }
            // A read failure of the disk ends the salvage: it may record an interrupted restore.
            Err(cause) if path == from.journal() && cause.raw_os_error().is_some() => {
                return Err(Error::io("read", &path)(cause));
            }
            Err(_) => {}
        }
    }
    init::write_exclusion_list(to)
}

/// How to treat a pack that the disk fails to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Fail: the pack may be intact and readable the next time, and the user did not ask for a
    /// store without it.
    Stops,
    /// Skip it: it remains in the kept copy.
    IsPassedOver,
}

/// Copies every object that `from` can still give into `to`, which no other process writes to.
///
/// # Errors
/// The new store cannot be written, or the caller asked to stop. Damaged objects are skipped.
pub fn copy_readable(
    from: &Path,
    to: &Objects,
    unreadable: Unreadable,
    options: &CheckOptions<'_>,
) -> Result<()> {
    // Without the directory there is nothing to copy.
    let old = match Objects::open(from) {
        Ok(old) => old,
        Err(cause) if cause.code == Code::IO && unreadable == Unreadable::Stops => {
            return Err(cause);
        }
        Err(_) => return Ok(()),
    };
    old.make_packs_readable();
    let mut damaged = Vec::new();
    let present = to.packs();
    for pack in old.pack_list() {
        if present.contains(&pack.stamp) {
            continue;
        }
        if check_objects::is_intact(&pack, options)? {
            link_pack(&pack, &to.objects_dir().join("pack"))?;
        } else {
            let files = [&pack.index_path, &pack.pack_path];
            let files = files
                .into_iter()
                .filter(|_| unreadable == Unreadable::Stops);
            for (path, cause) in
                files.filter_map(|path| Some((path, read_regular::read(path).err()?)))
            {
                // A missing file will not be readable the next time either.
                if cause.raw_os_error().is_some() && cause.kind() != ErrorKind::NotFound {
                    return Err(Error::io("read", path)(cause));
                }
            }
            damaged.push(pack);
        }
    }
    atomic_file::sync_directory(&to.objects_dir().join("pack"))?;
    to.refresh()?;
    let mut writer = PackWriter::begin(to.objects_dir(), to)?;
    // Of each object the first intact copy, in one of these packs or as a file.
    for id in old.by_prefix("") {
        (options.check_interrupt)()?;
        if to.holds(&id) {
            continue;
        }
        let mut is_copied = false;
        for pack in &damaged {
            is_copied = is_copied || copy_entry(pack, &id, &mut writer)?;
        }
        if !is_copied && let Ok((kind, content)) = old.read_any(&id) {
            writer.rewrite(id, kind, &content)?;
        }
    }
    writer.finish()?;
    to.refresh()
}

/// Links a pack: packs are never written to, so both stores can share the file.
fn link_pack(pack: &Pack, pack_dir: &Path) -> Result<()> {
    // The index comes last: a pack without one is ignored.
    for path in [&pack.pack_path, &pack.index_path] {
        if let Some(name) = path.file_name() {
            atomic_file::link_or_copy(path, &pack_dir.join(name))?;
        }
    }
    Ok(())
}

/// Copies an intact entry that is no delta as it is; returns whether it could.
fn copy_entry(pack: &Pack, id: &ObjectId, writer: &mut PackWriter<'_>) -> Result<bool> {
    let (Ok(Some(header)), Ok(Some((entry, end))), Ok(reader)) =
        (pack.header(id), pack.place_of(id), pack.reader())
    else {
        return Ok(false);
    };
    if header.kind == EntryKind::Delta || !pack.has_intact(id) {
        return Ok(false);
    }
    match writer.copy_entry(reader, &entry, end) {
        // The entry is intact, but bytes after it break the checksum.
        Err(PackError::Source(_)) => Ok(false),
        copied => Ok(copied.map(|()| true)?),
    }
}

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
pub fn all_refs(damaged: &Layout, objects: &Objects) -> Result<NamedRefs> {
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

/// Notes those of these refs that the store has not: a later repair writes them once a kept copy of
/// the store can give their objects.
///
/// # Errors
/// The note cannot be written.
pub fn note_left_behind(layout: &Layout, refs: NamedRefs) -> Result<()> {
    let mut lost = read_left_behind(layout);
    for (name, id) in refs {
        if let Some(id) = id
            && !layout.below(&name).exists()
        {
            lost.insert(name, id);
        }
    }
    write_left_behind(layout, &lost)
}

/// Writes the noted refs whose objects can be read by now; returns the number of checkpoints among
/// them. If there are any, the caller reads the inventory again.
///
/// # Errors
/// The store cannot be written, or the caller asked to stop.
pub fn fetch_left_behind(locked: &LockedStore<'_>, options: &CheckOptions<'_>) -> Result<usize> {
    let (store, layout) = (locked.store(), locked.store().layout());
    let noted = read_left_behind(layout);
    let wanted: Vec<ObjectId> = noted.values().copied().collect();
    copy_from_copies(layout.dir(), store, &wanted, options)?;
    let mut checker = CheckpointChecker::new(store.objects(), options);
    let (mut fetched, mut left) = (0, noted.clone());
    for (name, id) in &noted {
        if write_if_whole(store, &mut checker, name, Some(*id))?.is_none() {
            fetched += usize::from(name.starts_with("refs/checkpoints/"));
            left.remove(name);
        }
    }
    if left != noted {
        ref_files::sync(layout)?;
        write_left_behind(layout, &left)?;
    }
    Ok(fetched)
}

/// Copies what the kept damaged copies of a store can give, if that is any of the wanted objects.
///
/// # Errors
/// The store cannot be written, or the caller asked to stop.
pub fn copy_from_copies(
    place: &Path,
    store: &Store,
    wanted: &[ObjectId],
    options: &CheckOptions<'_>,
) -> Result<()> {
    for copy in replace_store::damaged_copies(place) {
        let objects = Layout::new(copy).objects();
        let can_give = |kept: Objects| wanted.iter().any(|id| kept.read_any(id).is_ok());
        if Objects::open(&objects).is_ok_and(can_give) {
            let how = Unreadable::IsPassedOver;
            copy_readable(&objects, store.objects(), how, options)?;
        }
    }
    Ok(())
}

/// The noted refs; a note that cannot be read counts as none.
fn read_left_behind(layout: &Layout) -> BTreeMap<String, ObjectId> {
    let text = read_regular::read_text(&layout.left_behind()).unwrap_or_default();
    ref_files::named_in(&text)
}

fn write_left_behind(layout: &Layout, refs: &BTreeMap<String, ObjectId>) -> Result<()> {
    let path = layout.left_behind();
    if refs.is_empty() {
        return atomic_file::remove_if_there(&path).map(drop);
    }
    let line = |(name, id)| format!("{id} {name}\n");
    let text: String = refs.iter().map(line).collect();
    atomic_file::replace(&path, text.as_bytes())
}
