//! `find`: the checkpoints that hold or changed a path, or contain a text, newest first.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;

use crate::base::text::escape_bytes;
use crate::base::threads::{self, work_queue};
use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{JsonSchema, Serialize, published_as, text_of};
use crate::model::path_pattern::has_marks;
use crate::model::state::entry::{FILE_BITS, TYPE_BITS};
use crate::model::{Checkpoint, Line, Meta, ObjectId, PathPattern, RelPath};
use crate::ops::browse::find::text_search::{Needle, Search};
use crate::ops::browse::list::reader_warnings;
use crate::ops::restore::restore_paths;
use crate::ops::{Context, FoundText, Lookup, Period, Warning};
use crate::store::{ObjectError, Store, TreeMemo};
use crate::worktree::{Root, WorkTree};

pub mod text_search;

/// What was found: paths, or the contents with a text.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FindOutcome {
    pub pattern: Option<String>,
    pub text: Option<String>,
    /// Most recently changed first.
    pub paths: Vec<FoundPath>,
    /// Most recently held first.
    pub matches: Vec<TextMatch>,
    /// Number of paths or matches beyond `-n`.
    pub more: usize,
}

/// A path with its history.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundPath {
    #[serde(flatten)]
    pub path: RelPath,
    pub last_in: Checkpoint,
    /// The first checkpoint without it.
    pub deleted_by: Option<Checkpoint>,
    /// Instead of a deletion: the checkpoint that could not capture it.
    pub not_captured_by: Option<Checkpoint>,
    /// Whether it is in the directory now.
    pub in_directory: bool,
    /// Newest first.
    pub events: Vec<FindEvent>,
}

/// What a checkpoint recorded of a path.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindEvent {
    #[serde(flatten)]
    pub path: RelPath,
    /// `added`, `modified`, `mode`, `deleted` or `not_captured`.
    pub change: PathChange,
    /// The first checkpoint with this change.
    pub checkpoint: Checkpoint,
    /// Null if the checkpoint does not hold the path, or its content cannot be read.
    pub size_bytes: Option<u64>,
}

/// A content of a path, over the checkpoints that have it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextMatch {
    #[serde(flatten)]
    pub path: RelPath,
    pub blob_id: ObjectId,
    /// The first checkpoint in which the path has this content.
    pub first_in: Checkpoint,
    pub last_in: Checkpoint,
    #[serde(flatten)]
    pub found: FoundText,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PathChange {
    Added,
    Modified,
    /// Only the mode changed.
    Mode,
    Deleted,
    /// It may have existed unchanged.
    NotCaptured,
}

published_as! { PathChange, &'static str, |change| change.into_str(); }

impl PathChange {
    fn of(step: &HistoryStep) -> Self {
        match (step.before, step.after) {
            (_, None) if step.not_captured => Self::NotCaptured,
            (_, None) => Self::Deleted,
            (None, _) => Self::Added,
            (Some((_, before)), Some((_, after))) if before == after => Self::Mode,
            _ => Self::Modified,
        }
    }
}

pub fn find(
    context: &Context,
    typed: &[u8],
    limit: Option<usize>,
    period: Period,
) -> Result<(FindOutcome, Vec<Warning>)> {
    let pattern = parse_pattern(&context.root, typed)?;
    let (store, inventory) = context.read()?;
    let history = History::read(&store, &inventory.checkpoints, &pattern);
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(history.warnings.iter().cloned());
    let is_in_period = |step: &HistoryStep| period.holds(&history.checkpoints[step.at]);
    let found = history.steps.iter();
    let found = found.filter(|(_, steps)| steps.iter().any(is_in_period));
    let mut found: Vec<(&RelPath, &Vec<HistoryStep>)> = found.collect();
    found.sort_by_key(|(_, steps)| std::cmp::Reverse(steps.last().map(|step| step.at)));
    if found.is_empty() {
        let lookup = Lookup::new(context, &store, &inventory);
        let unread = inventory.damaged.len() + history.warnings.len();
        let found = lookup.in_place_of_path(typed);
        return Err(found.unwrap_or_else(|| no_match(context, typed, unread)));
    }
    let limit = limit.unwrap_or(usize::MAX);
    let more = found.len().saturating_sub(limit);
    let work = WorkTree::open_root(&context.root).ok();
    let is_there = |path| {
        work.as_ref()
            .is_some_and(|work| matches!(work.stat(path), Ok(Some(_))))
    };
    let found_paths = found.into_iter().take(limit).filter_map(|(path, steps)| {
        let (last_in, ended_by) = history.end_of(steps)?;
        let ended_by = ended_by.cloned();
        let (not_captured_by, deleted_by) = if steps.last()?.not_captured {
            (ended_by, None)
        } else {
            (None, ended_by)
        };
        let in_period = steps.iter().rev().filter(|step| is_in_period(step));
        let events = in_period.map(|step| FindEvent {
            path: path.clone(),
            change: PathChange::of(step),
            checkpoint: history.checkpoints[step.at].clone(),
            size_bytes: step
                .after
                .and_then(|(_, blob)| store.objects().size(&blob).ok()),
        });
        Some(FoundPath {
            path: path.clone(),
            last_in: last_in.clone(),
            deleted_by,
            not_captured_by,
            in_directory: is_there(path),
            events: events.collect(),
        })
    });
    let outcome = FindOutcome {
        pattern: Some(text_of(typed)),
        paths: found_paths.collect(),
        more,
        ..FindOutcome::default()
    };
    Ok((outcome, warnings))
}

fn no_match(context: &Context, pattern: &[u8], passed_over: usize) -> Error {
    let shown = escape_bytes(pattern);
    let name = pattern
        .rsplit(|byte| *byte == b'/')
        .find(|name| !name.is_empty())
        .unwrap_or(pattern);
    let below = below(&context.root, pattern);
    let is_elsewhere = below.is_some() || climbs(pattern) || pattern.starts_with(b"/");
    let wide = format!("*{}*", escape_bytes(name).trim_matches('*'));
    let hint = if is_elsewhere {
        let root = context.root.path().as_os_str().as_encoded_bytes();
        Sentence::new(
            "'checkpoint -C {} find {}' searches the whole",
            &[&root, &name],
        )
    } else if shown == wide {
        Sentence::text("names are matched exactly, including case")
    } else {
        Sentence::new(
            "a pattern such as '{}' looks at the names in every directory below this one",
            &[&wide],
        )
    };
    let below = below.unwrap_or_default();
    not_found(
        format!("no checkpoint holds '{shown}'{below}"),
        hint,
        passed_over,
    )
}

/// Says below which directory a pattern looks, if not below the root.
pub fn below(root: &Root, pattern: &[u8]) -> Option<String> {
    let is_below = !root.current().is_root() && !pattern.starts_with(b"/") && !climbs(pattern);
    is_below.then(|| format!(" below {}", root.current()))
}

/// Whether a pattern leads up from the current directory.
fn climbs(pattern: &[u8]) -> bool {
    pattern == b".." || pattern.starts_with(b"../")
}

/// Returns the failure of a search without results; where checkpoints could not be read, it may be
/// in those.
pub fn not_found(what: String, hint: Sentence, passed_over: usize) -> Error {
    if passed_over == 0 {
        return Error::new(Code::NOTHING_FOUND, what).next(hint);
    }
    let what = format!("{what}; {passed_over} of them cannot be read");
    Error::new(Code::DAMAGED, what).advise("'checkpoint verify --full' lists all damage")
}

/// # Errors
/// A literal path that lies outside the root or in a `.git`.
pub fn parse_pattern(root: &Root, typed: &[u8]) -> Result<PathPattern> {
    let typed = &*restore_paths::anchored(root, typed);
    let literal = restore_paths::parse_one(root, typed);
    if has_marks(typed) {
        let glob = restore_paths::pattern(root, typed);
        return Ok(PathPattern::of_glob(&glob, literal.ok()));
    }
    let literal = literal?;
    if typed.contains(&b'/') || literal.is_root() {
        return Ok(PathPattern::of_path(literal));
    }
    // As in an ignore file, a name without a slash is one in any directory.
    let glob = String::from_utf8_lossy(typed).replace('\\', "\\\\");
    let glob = restore_paths::pattern(root, glob.as_bytes());
    Ok(PathPattern::of_glob(&glob, Some(literal)))
}

/// Maximum number of lines reported per file; more are only counted.
const LINES_TOLD: usize = 1000;
/// Default limit on matches, so that a frequent text does not fill the memory.
const USUAL_LIMIT: usize = 100;

/// A path with the same content in consecutive checkpoints.
struct ContentSpan<'h> {
    path: &'h RelPath,
    blob: ObjectId,
    first: usize,
    last: usize,
}

/// Finds literal bytes in the files that the pattern names, or in all.
pub fn find_text(
    context: &Context,
    text: &[u8],
    typed: Option<&[u8]>,
    limit: Option<usize>,
    period: Period,
) -> Result<(FindOutcome, Vec<Warning>)> {
    if text.is_empty() {
        return Err(Error::usage("the text to look for is empty"));
    }
    let pattern = match typed {
        Some(typed) => parse_pattern(&context.root, typed)?,
        None => PathPattern::of_path(context.root.current().clone()),
    };
    let (store, inventory) = context.read()?;
    let history = History::read(&store, &inventory.checkpoints, &pattern);
    let mut spans = spans(&history);
    spans.retain(|span| {
        let mut held_by = history.checkpoints[span.first..=span.last].iter();
        held_by.any(|checkpoint| period.holds(checkpoint))
    });
    let blobs: BTreeSet<ObjectId> = spans.iter().map(|span| span.blob).collect();
    let needle = Needle::new(text);
    let (found, damaged) = search(&store, &blobs.into_iter().collect::<Vec<_>>(), &needle);
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(history.warnings.iter().cloned());
    warnings.extend(spans.iter().filter_map(|span| {
        let why = format!("{}: {}", span.path, damaged.get(&span.blob)?);
        Some(Warning::PassedOver {
            id: history.checkpoints[span.last].id,
            why,
        })
    }));
    spans.retain(|span| found.contains(&span.blob));
    if spans.is_empty() {
        let unread = inventory.damaged.len() + history.warnings.len() + damaged.len();
        let below = below(&context.root, typed.unwrap_or_default()).unwrap_or_default();
        let text = escape_bytes(text);
        let what = format!("no checkpoint has '{text}' in a file{below}");
        let hint = Sentence::text("the text is matched exactly, including case");
        return Err(not_found(what, hint, unread));
    }
    spans.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.path.cmp(b.path)));
    let limit = limit.unwrap_or(USUAL_LIMIT);
    let more = spans.len().saturating_sub(limit);
    let matches = spans.into_iter().take(limit).map(|span| {
        Ok(TextMatch {
            path: span.path.clone(),
            blob_id: span.blob,
            first_in: history.checkpoints[span.first].clone(),
            last_in: history.checkpoints[span.last].clone(),
            found: search_one(&store, span.blob, &needle, LINES_TOLD)?,
        })
    });
    let outcome = FindOutcome {
        text: Some(text_of(text)),
        pattern: typed.map(text_of),
        matches: matches.collect::<Result<_>>()?,
        more,
        ..FindOutcome::default()
    };
    Ok((outcome, warnings))
}

fn spans(history: &History) -> Vec<ContentSpan<'_>> {
    let content = |version: Version| {
        version
            .filter(|(mode, _)| mode & TYPE_BITS == FILE_BITS)
            .map(|(_, blob)| blob)
    };
    let mut spans: Vec<ContentSpan<'_>> = Vec::new();
    for (path, steps) in &history.steps {
        let after = steps.iter().skip(1).map(|step| step.at);
        for (step, end) in steps.iter().zip(after.chain([history.checkpoints.len()])) {
            let Some(blob) = content(step.after) else {
                continue;
            };
            let (first, last) = (step.at, end.saturating_sub(1));
            match spans.last_mut() {
                // Only the mode changed.
                Some(it) if it.path == path && it.blob == blob && it.last + 1 == first => {
                    it.last = last;
                }
                _ => spans.push(ContentSpan {
                    path,
                    blob,
                    first,
                    last,
                }),
            }
        }
    }
    spans
}

type Searched = (HashSet<ObjectId>, HashMap<ObjectId, String>);

/// Returns the contents that have the text, and those that could not be read.
fn search(store: &Store, blobs: &[ObjectId], needle: &Needle) -> Searched {
    let mut parts: Vec<Searched> = (0..threads::workers())
        .map(|_| Searched::default())
        .collect();
    let in_order = blobs.iter().rev().copied().collect();
    let Ok(_) = work_queue::run(
        parts.iter_mut().collect(),
        in_order,
        &|(hits, damaged), blob, _| {
            match search_one(store, blob, needle, 1) {
                Ok(found) if found.is_empty() => {}
                Ok(_) => drop(hits.insert(blob)),
                Err(damage) => drop(damaged.insert(blob, damage.to_string())),
            }
            Ok::<_, Infallible>(())
        },
    );
    let (hits, damaged): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    (
        hits.into_iter().flatten().collect(),
        damaged.into_iter().flatten().collect(),
    )
}

fn search_one(
    store: &Store,
    blob: ObjectId,
    needle: &Needle,
    keep: usize,
) -> Result<FoundText, ObjectError> {
    let mut search = Search::new(needle, keep);
    store.objects().stream_blob(&blob, &mut search)?;
    Ok(search.finish())
}

/// Git mode and blob of a file; `None` if it does not exist.
pub type Version = Option<(u32, ObjectId)>;

/// A change of a path between two consecutive checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// Index of the first checkpoint with this change.
    pub at: usize,
    pub before: Version,
    pub after: Version,
    /// The checkpoint recorded that it could not capture the path, which may be unchanged.
    pub not_captured: bool,
}

/// All steps of the paths that match a pattern.
#[derive(Debug, Default)]
pub struct History {
    /// The readable checkpoints, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Oldest step first.
    pub steps: BTreeMap<RelPath, Vec<HistoryStep>>,
    /// One for each checkpoint that could not be read.
    pub warnings: Vec<Warning>,
}

impl History {
    /// Compares each checkpoint with its predecessor, safety checkpoints included. Scoped ones are
    /// skipped, since they say nothing about most paths and nothing about what came between.
    pub fn read(store: &Store, checkpoints: &Line, pattern: &PathPattern) -> Self {
        let mut memo = TreeMemo::new(store.objects());
        let mut history = Self::default();
        for checkpoint in checkpoints.iter().filter(|found| !found.is_scoped()) {
            let (at, id) = (history.checkpoints.len(), checkpoint.id);
            let before = history.checkpoints.last().map(|last| last.tree);
            let changes = memo.diff(before, Some(checkpoint.tree), &|dir| pattern.enters(dir));
            // All trees of the predecessor were read, so it is this checkpoint that is damaged.
            let mut changes = match changes.map_err(|why| store.damage(id, why).to_string()) {
                Ok(changes) => changes,
                Err(why) => {
                    history.warnings.push(Warning::PassedOver { id, why });
                    continue;
                }
            };
            changes.retain(|change| pattern.matches(&change.path));
            // `verify` reports damaged metas; without one, only the absence in the tree is known.
            let deletes = changes.iter().any(|change| change.after.is_none());
            let meta = deletes.then(|| store.meta(checkpoint).unwrap_or_default());
            for change in changes {
                let hides = |meta: &Meta| meta.hides(&change.path);
                let step = HistoryStep {
                    at,
                    before: change.before,
                    after: change.after,
                    not_captured: change.after.is_none() && meta.as_ref().is_some_and(hides),
                };
                history.steps.entry(change.path).or_default().push(step);
            }
            history.checkpoints.push(checkpoint.clone());
        }
        history
    }

    /// Returns the last checkpoint that holds a path with these steps, and the next one, if any,
    /// that does not.
    pub fn end_of(&self, steps: &[HistoryStep]) -> Option<(&Checkpoint, Option<&Checkpoint>)> {
        let last = steps.last()?;
        if last.after.is_some() {
            return Some((self.checkpoints.last()?, None));
        }
        let holder = self.checkpoints.get(last.at.checked_sub(1)?)?;
        Some((holder, self.checkpoints.get(last.at)))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::state::rel_path::RelPath;

    use super::*;
    use crate::base::tests::rows;

    #[test]
    fn a_pattern_means_what_it_means_in_an_ignore_file_and_all_below_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::resolve(temp.path(), None).unwrap();
        for (typed, path, expected) in
            rows::<(&str, &str, bool)>(include_str!("tests/find.json"), "patterns")
        {
            let pattern = parse_pattern(&root, typed.as_bytes()).unwrap();
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(pattern.matches(&path), expected, "{typed} {path}");
            assert!(
                !expected || path.ancestors().all(|dir| pattern.enters(&dir)),
                "{typed} {path}"
            );
        }
        assert!(parse_pattern(&root, b"../x").is_err());
        assert!(parse_pattern(&root, b".git/config").is_err());
    }
}
