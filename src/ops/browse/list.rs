//! `list`, `show` and `undo --list`: the checkpoints, newest first, the content of one, and the steps
//! that can be undone and redone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::difference::retain_covered;
use crate::model::json::{HeldDatabase, JsonSchema, Serialize, held, uncaptured};
use crate::model::state::state_document::{self, Values};
use crate::model::{
    ChangeCounts, Checkpoint, CheckpointKind, Coverage, DamagedCheckpoint, Databases, Line, Meta,
    ObjectId, OriginStore, PathFilter, PathReason, RelPath, RestoreStory, Steps, ToldStory,
    TreeChange, UndoStep,
};
use crate::ops::maintain::moved;
use crate::ops::restore::restore_paths;
use crate::ops::select::checkpoint;
use crate::ops::transfer::remote;
use crate::ops::{Context, Lookup, Moved, Period, Timeline, TypedWords, Warning, session};
use crate::store::lifecycle::description::newer_format;
use crate::store::{Inventory, Store, TreeMemo};

#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Lists what was fetched from this remote.
    pub remote: Option<String>,
    pub limit: Option<usize>,
    pub filter: ListFilter,
    /// Whether safety checkpoints are only counted.
    pub hides_safety: bool,
    /// Whether restores are shown.
    pub tells: bool,
    /// Whether changes are counted, which reads trees.
    pub counts_changes: bool,
}

/// Which checkpoints are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// A pattern with `*` and `?` that must match the whole reason.
    pub reason: Option<String>,
    /// Text that the reason must contain, in upper or lower case.
    pub grep: Option<String>,
    pub source: Option<String>,
    /// Name or beginning of the session of an agent.
    pub session: Option<String>,
    /// The agent of that session, once it is found.
    pub agent: Option<String>,
    pub period: Period,
    pub kind: Option<CheckpointKind>,
    /// Only checkpoints that changed one of these paths, as typed by the user.
    pub paths: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct ListOutcome {
    /// Newest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Changes of each of them against its baseline, if they were to be counted and could be.
    pub changes: Vec<Option<ChangeCounts>>,
    /// Restores, undos and redos among them, with the reason of what they led to.
    pub stories: BTreeMap<ObjectId, ToldStory>,
    /// The checkpoint that the directory was last set to; `None` of a remote.
    pub position: Option<Checkpoint>,
    pub damaged: Vec<DamagedCheckpoint>,
    /// Number of checkpoints that are no safety checkpoints.
    pub total: usize,
    /// Number of safety checkpoints that match and are not listed.
    pub hidden: usize,
    /// Whether there is a store for this root.
    pub exists: bool,
    pub store: PathBuf,
    /// Whether anything but the limit decides which checkpoints are listed.
    pub is_filtered: bool,
    /// Whether paths do, which count from a directory below the root.
    pub is_below: bool,
}

pub fn list(context: &Context, options: &ListOptions) -> Result<(ListOutcome, Vec<Warning>)> {
    let paths = restore_paths::parse(&context.root, &options.filter.paths)?;
    let Some(store) = context.find_store()? else {
        let moved = moved::find_without_capture(context)?;
        let outcome = ListOutcome {
            store: context.store_dir()?,
            ..ListOutcome::default()
        };
        return Ok((outcome, moved.iter().map(Moved::warning).collect()));
    };
    let mut inventory = store.inventory()?;
    if let Some(name) = &options.remote {
        remote::named(&store, Some(name))?;
        inventory.checkpoints = store.fetched(name)?.checkpoints;
    }
    let line = &inventory.checkpoints;
    let mut filter = options.filter.clone();
    if let Some(typed) = &options.filter.session {
        let timeline = Timeline::of(context, &inventory);
        let known = timeline.session(typed).ok_or_else(|| no_session(typed))?;
        filter.agent = Some(known.agent.clone());
        filter.session = Some(known.id.clone());
    }
    let mut rows = Rows {
        store: &store,
        options,
        filter: &filter,
        paths,
        memo: TreeMemo::new(store.objects()),
        waiting: Vec::new(),
        listed: Vec::new(),
        changes: Vec::new(),
        warnings: Vec::new(),
    };
    rows.read(line);
    let mut outcome = ListOutcome {
        checkpoints: rows.listed,
        changes: rows.changes,
        total: line.regular_count(),
        exists: true,
        store: context.store_dir()?,
        is_filtered: filter != ListFilter::default(),
        is_below: !filter.paths.is_empty() && !context.root.current().is_root(),
        ..ListOutcome::default()
    };
    // Whether a hidden one changed a path is not looked up.
    if options.hides_safety && filter.paths.is_empty() {
        let safeties = line.safeties();
        outcome.hidden = safeties.filter(|c| filter.accepts(c)).count();
    }
    if options.remote.is_none() {
        outcome.position = line.position().cloned();
    }
    if options.tells {
        let told = |c: &Checkpoint| Some((c.id, RestoreStory::with_reason(c, line)?));
        outcome.stories = outcome.checkpoints.iter().filter_map(told).collect();
    }
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(rows.warnings);
    outcome.damaged = inventory.damaged;
    Ok((outcome, warnings))
}

/// Returns the failure of a session that is not known.
pub fn no_session(typed: &str) -> Error {
    let typed = escape(typed);
    let what = format!("no session of an agent is known here as '{typed}'");
    Error::new(Code::NOTHING_FOUND, what).advise("'checkpoint list' shows all checkpoints")
}

impl ListFilter {
    fn accepts(&self, checkpoint: &Checkpoint) -> bool {
        let (record, of) = (&checkpoint.record, &checkpoint.record.provenance);
        let is = |wanted: &Option<String>, found: Option<&String>| {
            wanted.is_none() || wanted.as_ref() == found
        };
        let reason = record.reason.to_lowercase();
        let has = |text: &String| reason.contains(&text.to_lowercase());
        let matches = |pattern: &String| glob(pattern, &record.reason);
        self.reason.as_ref().is_none_or(matches)
            && self.grep.as_ref().is_none_or(has)
            && is(&self.source, Some(&record.source))
            && is(&self.session, of.session.as_ref())
            && is(&self.agent, of.agent.as_ref())
            && self.period.holds(checkpoint)
            && self.kind.is_none_or(|kind| kind == record.kind)
    }
}

/// The rows of a list as they are read, newest first.
struct Rows<'l> {
    store: &'l Store,
    options: &'l ListOptions,
    filter: &'l ListFilter,
    paths: Vec<RelPath>,
    memo: TreeMemo<'l>,
    /// Checkpoints whose baseline was not reached yet.
    waiting: Vec<Checkpoint>,
    listed: Vec<Checkpoint>,
    changes: Vec<Option<ChangeCounts>>,
    warnings: Vec<Warning>,
}

impl Rows<'_> {
    /// Reads no further back than the rows and their baselines need.
    fn read(&mut self, line: &Line) {
        let compares = self.options.counts_changes || !self.paths.is_empty();
        let limit = self.options.limit.unwrap_or(usize::MAX);
        for checkpoint in line.rev() {
            if compares && !self.waiting.is_empty() {
                let base = line.set_by(checkpoint);
                if let Some(base) = base {
                    self.compare_waiting(Some(base));
                }
            }
            let has_enough = self.listed.len() >= limit
                || (self.paths.is_empty() && self.listed.len() + self.waiting.len() >= limit);
            if has_enough && self.waiting.is_empty() {
                break;
            }
            let is_hidden = self.options.hides_safety && checkpoint.is_safety();
            if has_enough || is_hidden || !self.filter.accepts(checkpoint) {
                continue;
            }
            if compares {
                self.waiting.push(checkpoint.clone());
            } else {
                self.listed.push(checkpoint.clone());
            }
        }
        self.compare_waiting(None);
        self.listed.truncate(limit);
        self.changes.truncate(limit);
    }

    fn compare_waiting(&mut self, base: Option<&Checkpoint>) {
        for row in std::mem::take(&mut self.waiting) {
            let changes = self.changes(base, &row);
            if !self.paths.is_empty() && changes.as_ref().is_none_or(Vec::is_empty) {
                continue;
            }
            self.changes.push(changes.as_deref().map(ChangeCounts::of));
            self.listed.push(row);
        }
    }

    /// Changes of a checkpoint against its baseline, within the paths; `None` if it is damaged.
    fn changes(&mut self, base: Option<&Checkpoint>, row: &Checkpoint) -> Option<Vec<TreeChange>> {
        let found = changes_since(self.store, &mut self.memo, base, row, &self.paths);
        let passed = |why: Error| Warning::PassedOver {
            id: row.id,
            why: why.to_string(),
        };
        let found = found.map_err(|why| self.warnings.push(passed(why)));
        let (mut changes, paths) = (found.ok()?, &self.paths);
        let deletes = changes.iter().any(|change| change.after.is_none());
        let meta = deletes.then(|| self.store.meta(row).unwrap_or_default());
        retain_covered(&mut changes, paths, row, &meta.unwrap_or_default());
        Some(changes)
    }
}

/// Reads what changed in a checkpoint since its baseline, entering only what leads to the paths.
fn changes_since(
    store: &Store,
    memo: &mut TreeMemo<'_>,
    base: Option<&Checkpoint>,
    row: &Checkpoint,
    paths: &[RelPath],
) -> Result<Vec<TreeChange>> {
    let enters =
        |dir: &RelPath| dir.is_within(paths) || paths.iter().any(|named| named.is_at_or_below(dir));
    let before = base.map(|base| base.tree);
    let changes = memo.diff(before, Some(row.tree), &enters);
    let mut changes = changes.map_err(|why| store.damage(row.id, why))?;
    if let Some(base) = base {
        store.add_mode_changes(base, row, &mut changes)?;
    }
    Ok(changes)
}

/// Returns the warnings about the store's state that every read-only command gives.
pub fn reader_warnings(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
) -> Result<Vec<Warning>> {
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    warnings.extend(session::another_root(
        context,
        store.description()?.as_ref(),
        inventory,
    ));
    warnings.extend(Warning::damaged(&inventory.damaged));
    let why = inventory.unread_rewords.clone();
    warnings.extend(why.map(|why| Warning::RewordsUnreadable { why }));
    let mut ids = inventory.without_ref.clone();
    if !ids.is_empty() {
        // A create that ended between the reads of refs and rows has its ref by now.
        let now = store.inventory()?.without_ref;
        ids.retain(|id| now.contains(id));
    }
    warnings.extend((!ids.is_empty()).then_some(Warning::RefsLost { ids }));
    let unadopted = inventory.unadopted.len();
    warnings.extend((unadopted > 0).then_some(Warning::Unadopted { commits: unadopted }));
    warnings.extend(Warning::bounded_times(inventory, &inventory.unadopted));
    warnings.extend(
        session::pending_unlocked(store, &inventory.checkpoints)?.map(|pending| pending.warning()),
    );
    let newer = newer_format(store.layout());
    warnings.extend(newer.map(|found| Warning::StoreTooNew { found }));
    Ok(warnings)
}

/// Matches a pattern: `*` stands for any text, `?` for one character.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            // Only the last star needs to extend: earlier ones are settled.
            (p, t, star) = (at + 1, from + 1, Some((at, from + 1)));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// What is known of a checkpoint, and what changed in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShowOutcome {
    #[serde(skip)]
    pub checkpoint: Checkpoint,
    /// The checkpoint with which it is compared: the baseline when it was made.
    pub before: Option<Checkpoint>,
    pub counts: ChangeCounts,
    pub changes: Vec<TreeChange>,
    /// With `--files`: all files and links that it holds; else null.
    pub files: Option<Vec<RelPath>>,
    /// What the changes are limited to; none for all.
    #[serde(skip)]
    pub paths: Vec<RelPath>,
    /// What the restore, before which it was made, went back to.
    #[serde(skip)]
    pub operation_target: Option<Checkpoint>,
    #[serde(serialize_with = "held")]
    #[schemars(with = "Vec<HeldDatabase>")]
    pub databases: Databases,
    /// The values that it holds; null if it holds none.
    pub state: Option<Values>,
    /// What could not be captured.
    #[serde(rename = "uncaptured", serialize_with = "uncaptured")]
    #[schemars(with = "Vec<PathReason>")]
    pub meta: Meta,
    /// Machine and directory of one that was imported; null for others.
    pub origin: Option<OriginStore>,
}

/// Shows a checkpoint, by default where the directory stands, limited to paths if any are named.
/// `lists_files`: all that it holds is listed.
pub fn show(
    context: &Context,
    words: &TypedWords,
    lists_files: bool,
) -> Result<(ShowOutcome, Vec<Warning>)> {
    let (store, inventory) = context.read()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let (checkpoint, paths) = lookup.read_one(words)?;
    let is_ours = inventory.checkpoints.holds(checkpoint.id);
    let fetched = (!is_ours)
        .then(|| store.fetched_with(checkpoint.id))
        .flatten();
    let fetched = fetched.map(|(_, fetched)| fetched);
    let line = fetched
        .as_ref()
        .map_or(&inventory.checkpoints, |fetched| &fetched.checkpoints);
    let before = line.baseline_before(checkpoint.record.sequence);
    let before = before.cloned();
    let mut memo = TreeMemo::new(store.objects());
    let mut changes = changes_since(&store, &mut memo, before.as_ref(), &checkpoint, &[])?;
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    let (checkpoint, meta) = if checkpoint.adopted {
        measured(&store, checkpoint)?
    } else {
        (checkpoint.clone(), store.meta(&checkpoint)?)
    };
    retain_covered(&mut changes, &paths, &checkpoint, &meta);
    for path in &paths {
        let has_changed = changes.iter().any(|c| c.path.is_at_or_below(path));
        if !has_changed && !meta.hides(path) && !lookup.holds(&checkpoint, path)? {
            return Err(lookup.missing_path(checkpoint.id, path));
        }
    }
    if checkpoint.is_partial() {
        warnings.push(Warning::ShownIsPartial { id: checkpoint.id });
    }
    let databases = store.databases(&checkpoint)?;
    let state = store.extras(&checkpoint)?.state_document;
    let state = state.map(|id| store.objects().read(&id)).transpose();
    let state = state.map_err(|why| store.damage(checkpoint.id, why))?;
    let operation = checkpoint.record.operation.as_ref();
    let operation_target = operation.and_then(|operation| inventory.get(operation.target));
    let imported = inventory.origins.get(&checkpoint.id);
    let imported = imported.and_then(|imported| imported.origin.clone());
    let snapshot = lists_files.then(|| store.snapshot(&checkpoint));
    let outcome = ShowOutcome {
        origin: imported.or_else(|| fetched?.origins.get(&checkpoint.id).cloned()),
        state: state.and_then(|(_, bytes)| state_document::values(&bytes)),
        operation_target: operation_target.cloned(),
        counts: ChangeCounts::of(&changes),
        files: snapshot
            .transpose()?
            .map(|snapshot| snapshot.files.into_keys().collect()),
        paths,
        checkpoint,
        meta,
        before,
        changes,
        databases,
    };
    Ok((outcome, warnings))
}

/// Counts what the message of a plain git commit does not record.
fn measured(store: &Store, mut checkpoint: Checkpoint) -> Result<(Checkpoint, Meta)> {
    let snapshot = store.snapshot(&checkpoint)?;
    checkpoint.record.files = snapshot.files.len() as u64;
    let sizes = snapshot.files.values();
    let sizes = sizes.map(|entry| store.objects().size(&entry.id));
    let damaged = |why| store.damage(checkpoint.id, why);
    checkpoint.record.content_bytes += sizes.sum::<Result<u64, _>>().map_err(damaged)?;
    let mut uncaptured = snapshot.uncaptured.values();
    if uncaptured.any(|entry| entry.why.makes_partial()) {
        checkpoint.record.coverage = Coverage::Partial;
    }
    let meta = Meta {
        uncaptured: snapshot.uncaptured,
        ..Meta::default()
    };
    Ok((checkpoint, meta))
}

/// Returns the ids from the first to the last checkpoint of a range, newest first.
///
/// # Errors
/// It is no range, or names no checkpoint.
pub fn ids_in_range(context: &Context, range: Option<&str>) -> Result<Vec<String>> {
    let (_, inventory) = context.read()?;
    let ends = match range {
        None => ("", ""),
        Some(range) => range.split_once("..").ok_or_else(|| {
            Error::usage(format!(
                "'{range}' is no range; write SEL..SEL, SEL.. or ..SEL"
            ))
        })?,
    };
    let place = |selector: &str, otherwise: u64| {
        if selector.is_empty() {
            return Ok(otherwise);
        }
        checkpoint::find(context, &inventory, selector).map(|found| found.record.sequence)
    };
    let (first, last) = (place(ends.0, 0)?, place(ends.1, u64::MAX)?);
    let is_within = |sequence| (first..=last).contains(&sequence);
    let within = inventory.checkpoints.rev();
    let within = within.filter(|one| is_within(one.record.sequence));
    let ids: Vec<String> = within.map(|one| one.id.to_hex()).collect();
    if ids.is_empty() {
        let what = "there is no checkpoint in this range";
        return Err(Error::new(Code::NOTHING_FOUND, what));
    }
    Ok(ids)
}

/// A restore that can be undone or redone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedStep {
    /// The checkpoint to which the restore led; null if it is gone.
    #[serde(rename = "restored_from")]
    pub target: Option<Checkpoint>,
    /// The state that the step would bring back.
    pub safety: Checkpoint,
    /// Paths that it was limited to; empty means everything.
    pub paths: Vec<RelPath>,
    #[serde(flatten)]
    pub filter: PathFilter,
}

/// Both stacks, the next step first.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StepsOutcome {
    /// Those that `undo` takes back.
    pub undo: Vec<ListedStep>,
    /// Those that `redo` brings back.
    pub redo: Vec<ListedStep>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

pub fn undo_steps(context: &Context) -> Result<StepsOutcome> {
    let Some(store) = context.find_store()? else {
        let moved = moved::find_without_capture(context)?;
        return Ok(StepsOutcome {
            warnings: moved.iter().map(Moved::warning).collect(),
            ..StepsOutcome::default()
        });
    };
    let inventory = store.inventory()?;
    let steps = Steps::of(inventory.checkpoints.safeties());
    Ok(StepsOutcome {
        undo: listed(&store, &inventory, steps.done),
        redo: listed(&store, &inventory, steps.taken_back),
        warnings: reader_warnings(context, &store, &inventory)?,
    })
}

fn listed(store: &Store, inventory: &Inventory, steps: Vec<UndoStep>) -> Vec<ListedStep> {
    let get = |id| inventory.get(id).cloned();
    let steps = steps.into_iter().rev().filter_map(|step| {
        Some(ListedStep {
            target: get(step.target).or_else(|| store.find_fetched(step.target)),
            safety: get(step.safety)?,
            paths: step.paths,
            filter: step.filter,
        })
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::glob;
    use crate::base::tests::rows;

    #[test]
    fn a_pattern_means_the_whole_reason() {
        for (pattern, text, expected) in
            rows::<(&str, &str, bool)>(include_str!("tests/list.json"), "globs")
        {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
