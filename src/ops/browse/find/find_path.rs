//! `find PATTERN`: the checkpoints that hold or changed a path, newest first.

use crate::base::text::escape_bytes;
use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{JsonSchema, Serialize, published_as, text_of};
use crate::model::{Checkpoint, ObjectId, RelPath};
use crate::ops::browse::find::find_pattern;
use crate::ops::browse::history::HistoryStep;
use crate::ops::browse::list::reader_warnings;
use crate::ops::{Context, FoundText, History, Lookup, Period, Warning};
use crate::worktree::{Root, WorkTree};

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
    let pattern = find_pattern::parse(&context.root, typed)?;
    let (store, inventory) = context.read()?;
    let history = History::read(&store, &inventory.checkpoints, &pattern);
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(history.warnings.iter().cloned());
    let is_in_period = |step: &HistoryStep| period.holds(&history.checkpoints[step.at]);
    let mut found: Vec<(&RelPath, &Vec<HistoryStep>)> = history
        .steps
        .iter()
        .filter(|(_, steps)| steps.iter().any(is_in_period))
        .collect();
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
