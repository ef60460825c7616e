//! `export` and `import`: writes checkpoints into a git bundle, and adds those of one to the store of
//! this root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::base::text::escape_path;
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::retention;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{Checkpoint, LineEntry, ObjectId, OriginStore};
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::select::checkpoint;
use crate::ops::{Context, Session, Warning, session};
use crate::store::files::atomic_file::{TMP_PREFIX, sync_directory};
use crate::store::transfer::receive;
use crate::store::transfer::take_over::TakeOverOptions;
use crate::store::transfer::write_bundle::BundleSize;
use crate::store::{
    BundleHeader, BundleRef, BundleTaken, CheckOptions, Inventory, Origins, Received, Store,
    TemporaryFile,
};
use crate::worktree::root::canonical;

#[derive(Clone, Debug, Default)]
pub struct ExportBundleOptions {
    /// Empty means all.
    pub selectors: Vec<String>,
    /// A checkpoint that the receiver has: only what came after it is exported.
    pub since: Option<String>,
    pub with_safety: bool,
    pub with_prompts: bool,
    /// Name of this machine, for the receiver.
    pub host: String,
    /// Checkpoints that the other side refused, and why.
    pub refused: BTreeMap<ObjectId, String>,
}

/// What was written into a bundle.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ExportOutcome {
    #[serde(serialize_with = "json::path")]
    pub file: PathBuf,
    #[serde(flatten)]
    pub size: BundleSize,
    /// Oldest first.
    pub checkpoints: Vec<Checkpoint>,
    pub workflow_count: usize,
    /// Id of the checkpoint that the other side must have; null if it needs none.
    pub prerequisite: Option<ObjectId>,
    /// Ids of checkpoints left out because they have the text of a prompt.
    pub left_out_for_prompts: Vec<ObjectId>,
    /// Checkpoints left out because they are damaged or no other store would take them, and why.
    #[serde(skip)]
    pub bad: Vec<(ObjectId, String)>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// Where a bundle goes.
pub enum ExportTarget<'t> {
    /// A new file, or one that is replaced once the bundle is whole.
    File(PathBuf),
    Stream(&'t mut dyn Write),
}

/// Writes the bundle.
///
/// # Errors
/// There is nothing to export, a checkpoint is damaged, or the bundle cannot be written: a file is
/// as before then.
pub fn export(
    context: &Context,
    options: &ExportBundleOptions,
    target: ExportTarget<'_>,
) -> Result<ExportOutcome> {
    let (store, inventory) = context.read()?;
    let (mut outcome, header) = contents(context, &store, &inventory, options, &BTreeSet::new())?;
    if outcome.checkpoints.is_empty() {
        return Err(nothing(&outcome));
    }
    let roots = roots(&header);
    let write = |output: &mut dyn Write| {
        let interrupt = || context.check_interrupt();
        store.write_bundle(&header, roots, output, &interrupt, &context.progress)
    };
    outcome.size = match target {
        ExportTarget::Stream(output) => write(output)?,
        ExportTarget::File(path) => into_file(context, &path, write)?,
    };
    Ok(outcome)
}

/// Finds the checkpoints and runs that are asked for, and their refs. All but those that are `there`
/// are checked as the other side does.
pub(super) fn contents(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
    options: &ExportBundleOptions,
    there: &BTreeSet<ObjectId>,
) -> Result<(ExportOutcome, BundleHeader)> {
    let mut outcome = choose(context, store, inventory, options)?;
    let check = CheckOptions {
        full: false,
        check_interrupt: &|| context.check_interrupt(),
        progress: &context.progress,
    };
    outcome.bad = store.take_out_bad(&mut outcome.checkpoints, there, &check)?;
    let is_refused = |c: &mut Checkpoint| options.refused.contains_key(&c.id);
    let refused = outcome.checkpoints.extract_if(.., is_refused);
    let refused = refused.map(|c| (c.id, options.refused[&c.id].clone()));
    outcome.bad.extend(refused);
    if options.selectors.is_empty() {
        let lost = inventory.damaged.iter();
        let lost =
            lost.filter_map(|one| Some((one.id.commit()?, format!("is damaged: {}", one.why))));
        let new = lost.filter(|(id, _)| !there.contains(id));
        outcome.bad.extend(new);
    }
    let left = |(id, why): (_, String)| Warning::LeftBehind { id, why };
    outcome
        .warnings
        .extend(outcome.bad.iter().cloned().map(left));
    let runs = if options.selectors.is_empty() {
        runs(store)?
    } else {
        Vec::new()
    };
    outcome.workflow_count = runs.len();
    let parts = (&inventory.origins, runs);
    let header = header(context, options, store, &outcome, parts)?;
    Ok((outcome, header))
}

/// Finds the checkpoints that are asked for, oldest first.
fn choose(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
    options: &ExportBundleOptions,
) -> Result<ExportOutcome> {
    let find = |query: &String| checkpoint::find(context, inventory, query);
    let since = options.since.as_ref().map(find).transpose()?;
    let mut chosen: Vec<Checkpoint> = if options.selectors.is_empty() {
        let all = inventory.checkpoints.iter();
        all.filter(|c| options.with_safety || !c.is_safety())
            .cloned()
            .collect()
    } else {
        options.selectors.iter().map(find).collect::<Result<_>>()?
    };
    if let Some(since) = &since {
        chosen.retain(|c| LineEntry::of(c) > LineEntry::of(since));
    }
    chosen.sort_by_key(LineEntry::of);
    chosen.dedup_by_key(|c| c.id);
    let (mut kept, mut left_out_for_prompts) = (Vec::new(), Vec::new());
    for checkpoint in chosen {
        // What cannot be read is found by the check.
        let extras = store.extras(&checkpoint);
        if options.with_prompts || extras.map_or(true, |extras| extras.prompt.is_none()) {
            kept.push(checkpoint);
        } else {
            left_out_for_prompts.push(checkpoint.id);
        }
    }
    Ok(ExportOutcome {
        left_out_for_prompts,
        checkpoints: kept,
        prerequisite: since.map(|since| since.id),
        ..ExportOutcome::default()
    })
}

/// The refs of all runs.
fn runs(store: &Store) -> Result<Vec<BundleRef>> {
    let runs = store.workflows()?.into_iter();
    Ok(runs.map(|(id, tip)| BundleRef::Run(id, tip)).collect())
}

fn header(
    context: &Context,
    options: &ExportBundleOptions,
    store: &Store,
    outcome: &ExportOutcome,
    (origins, runs): (&Origins, Vec<BundleRef>),
) -> Result<BundleHeader> {
    let reasons = store.later_reasons();
    let reasons = reasons.map_err(|why| Error::damaged("the file of later reasons", why))?;
    let mut refs = Vec::new();
    if let Some(newest) = outcome.checkpoints.last().map(|newest| newest.id) {
        refs.extend(["HEAD", "refs/heads/main"].map(|name| BundleRef::Branch(name, newest)));
        let origin = OriginStore {
            host: options.host.clone(),
            root: context.root.path().to_string_lossy().into_owned(),
        };
        refs.push(BundleRef::Origin(origin, newest));
    }
    for checkpoint in &outcome.checkpoints {
        let id = checkpoint.id;
        refs.push(BundleRef::Checkpoint(id));
        refs.extend(checkpoint.meta.map(|meta| BundleRef::Meta(id, meta)));
        refs.extend(checkpoint.pinned.then_some(BundleRef::Pin(id)));
        let origin = origins.get(&id).and_then(|noted| noted.origin.clone());
        refs.extend(origin.map(|origin| BundleRef::OriginOf(origin, id)));
        let reason = reasons.get(&id).cloned();
        refs.extend(reason.map(|reason| BundleRef::Reason(id, reason)));
    }
    refs.extend(runs);
    Ok(BundleHeader {
        prerequisites: outcome.prerequisite.into_iter().collect(),
        refs,
    })
}

fn roots(header: &BundleHeader) -> Vec<ObjectId> {
    let root = |one: &BundleRef| match one {
        BundleRef::Checkpoint(id) | BundleRef::Meta(_, id) | BundleRef::Run(_, id) => Some(*id),
        _ => None,
    };
    header.refs.iter().filter_map(root).collect()
}

fn nothing(outcome: &ExportOutcome) -> Error {
    if let Some((id, why)) = outcome.bad.first() {
        let what = format!("checkpoint {} {why}; nothing was written", id.short());
        let hint = "'checkpoint verify --full' lists all damage";
        return Error::new(Code::DAMAGED, what).advise(hint);
    }
    let what = match (outcome.left_out_for_prompts.len(), outcome.prerequisite) {
        (0, None) => "there is no checkpoint to export; nothing was written".to_owned(),
        (0, Some(since)) => format!(
            "there is nothing newer than {} to export; nothing was written",
            since.short()
        ),
        (left, _) => format!(
            "all {left} checkpoints have the text of a prompt, which only --with-prompts exports; \
             nothing was written"
        ),
    };
    Error::new(Code::NOTHING_FOUND, what).advise("'checkpoint list' shows the checkpoints")
}

/// Writes a file whole or not at all. Into a pipe or a device the bundle is written as it comes.
pub fn into_file<T>(
    context: &Context,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let found = path.symlink_metadata().ok();
    // A link stays, and leads to the bundle.
    let place = match &found {
        Some(found) if found.is_symlink() => canonical(path).map_err(Error::io("open", path))?,
        _ => path.to_path_buf(),
    };
    refuse_store(context, &place)?;
    let found = place.metadata().ok();
    if found.as_ref().is_some_and(std::fs::Metadata::is_dir) {
        return Err(Error::usage(format!(
            "{} is a directory, not a file",
            escape_path(path)
        )));
    }
    if found.is_some_and(|found| !found.is_file()) {
        let file = File::options().write(true).open(&place);
        return through(file.map_err(Error::io("open", path))?, path, write);
    }
    let folder = place.parent().unwrap_or(Path::new("."));
    let no_folder = |why| {
        let error = Error::tree_io("write", path, why);
        error.advise("nothing was written; the directory of the file must be there")
    };
    folder.metadata().map_err(no_folder)?;
    let file = TemporaryFile::create(folder, TMP_PREFIX, "-")?;
    let size = through(file.file(), path, write)?;
    file.sync()?;
    file.publish(&place)?;
    sync_directory(folder)?;
    Ok(size)
}

fn through<T>(
    file: impl Write,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let mut output = BufWriter::with_capacity(1 << 20, file);
    let size = write(&mut output)?;
    output.flush().map_err(Error::io("write", path))?;
    Ok(size)
}

/// Refuses a place among the stores.
fn refuse_store(context: &Context, place: &Path) -> Result<()> {
    let folder = place.parent().unwrap_or(place);
    let (folder, base) = (
        canonical(folder).unwrap_or_else(|_| folder.to_path_buf()),
        canonical(&context.base).unwrap_or_else(|_| context.base.clone()),
    );
    if folder.starts_with(base.join("projects")) {
        return Err(Error::bad_destination(place, "it lies among the stores"));
    }
    Ok(())
}

const BELOW_TOP: &str = "nothing was imported; 'checkpoint -C {} import FILE' acts on all of it, 'checkpoint --here import FILE' on this directory";

/// What came in, and what it leads to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportOutcome {
    #[serde(flatten)]
    pub taken: BundleTaken,
    /// Number of checkpoints that the next create will evict.
    pub to_be_evicted: usize,
}

/// Reads a bundle to its end without holding up other commands, checks it, and adds it under the
/// lock. `name` is that of the bundle in messages; `force` begins a store even for a root that is
/// refused otherwise.
///
/// # Errors
/// The bundle is not taken, in which case nothing of it is there; or the store cannot be written.
pub fn import(
    context: &Context,
    name: &str,
    with_safety: bool,
    force: bool,
    input: &mut dyn BufRead,
) -> Result<(ImportOutcome, Vec<Warning>)> {
    // Until something is added, a signal ends the process: the input may never end.
    let header = receive::read_header(input, name)?;
    refuse_below_top(context, BELOW_TOP)?;
    let store = open_usable(context, force)?;
    let scratch = session::begin(context, &store)?.locked.begin_scratch()?;
    let check = || context.check_interrupt();
    let progress = &context.progress;
    let mut received = Received::read(scratch, header, input, name, &check, progress)?;
    let _shield = context.interrupt.shield();
    let mut session = session::begin(context, &store)?;
    let with = TakeOverOptions {
        name,
        safety: with_safety,
        check_run: context.workflows.check_run,
    };
    let mut taken = session
        .locked
        .take_over_bundle(&mut received, &with, &check, progress)?;
    let mut warnings = std::mem::take(&mut session.warnings);
    drop(session);
    drop(received);
    // Bring the manifest and `main` up to date with what came in.
    let session = session::begin(context, &store)?;
    session.locked.write_derived()?;
    warnings.extend(context.pending_warnings.take());
    let left = |(id, why): (_, String)| Warning::LeftBehind { id, why };
    warnings.extend(std::mem::take(&mut taken.bad).into_iter().map(left));
    let outcome = ImportOutcome {
        taken,
        to_be_evicted: to_be_evicted(context, &session),
    };
    Ok((outcome, warnings))
}

/// Counts the checkpoints that the next `create` evicts.
pub(super) fn to_be_evicted(context: &Context, session: &Session<'_>) -> usize {
    let locked = &session.locked;
    let needed = (context.workflows.needed)(locked.store());
    let mut line = locked.inventory().checkpoints.clone();
    // As if it were made now: one like the newest, which is never evicted itself.
    let newest = line.rev().find(|c| !c.is_safety()).cloned();
    if let Some(mut next) = newest {
        (next.id, next.pinned) = (ObjectId::default(), false);
        (next.record.sequence, next.record.time_ms) = (u64::MAX, context.now_ms);
        line.push(next);
    }
    let plan = retention::plan(&line, &context.settings.keep, context.now_ms, &needed);
    plan.evict.len()
}
