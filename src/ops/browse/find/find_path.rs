//! `find PATTERN`: the checkpoints that hold or changed a path, newest first.

use crate::base::text::escape_bytes;
use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::find::find_pattern;
use crate::ops::browse::history::{History, HistoryStep};
use crate::ops::browse::list::reader_warnings;
use crate::ops::context::Context;
use crate::ops::select::period::Period;
use crate::ops::select::words::Lookup;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::worktree::tree_handle::WorkTree;

#[derive(Clone, Debug, Default)]
pub struct FindOptions {
    /// As typed by the user.
    pub pattern: Vec<u8>,
    /// Maximum number of paths reported.
    pub limit: Option<usize>,
    pub period: Period,
}

#[derive(Debug)]
pub struct FindOutcome {
    pub pattern: Vec<u8>,
    /// Most recently changed first.
    pub paths: Vec<FoundPath>,
    /// Number of paths found beyond the limit.
    pub more: usize,
    pub warnings: Vec<Warning>,
}

#[derive(Debug)]
pub struct FoundPath {
    pub path: RelPath,
    pub last_in: Checkpoint,
    pub deleted_by: Option<Checkpoint>,
    /// Instead of a deletion: the checkpoint that could not capture the path.
    pub not_captured_by: Option<Checkpoint>,
    /// Whether the path exists in the directory now.
    pub in_directory: bool,
    /// Newest first.
    pub events: Vec<FindEvent>,
}

#[derive(Debug)]
pub struct FindEvent {
    pub change: PathChange,
    /// The first checkpoint with this change.
    pub checkpoint: Checkpoint,
    /// `None` if the checkpoint does not hold the path or the blob cannot be read.
    pub size_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PathChange {
    Added,
    Changed,
    /// Only the mode changed.
    Mode,
    Deleted,
    /// It may have existed unchanged.
    #[strum(serialize = "not captured")]
    NotCaptured,
}

impl PathChange {
    fn of(step: &HistoryStep) -> Self {
        match (step.before, step.after) {
            (_, None) if step.not_captured => Self::NotCaptured,
            (_, None) => Self::Deleted,
            (None, _) => Self::Added,
            (Some((_, before)), Some((_, after))) if before == after => Self::Mode,
            _ => Self::Changed,
        }
    }
}

pub fn find(context: &Context, options: &FindOptions) -> Result<FindOutcome> {
    let pattern = find_pattern::parse(&context.root, &options.pattern)?;
    let store = context.require_store()?;
    let inventory = store.inventory()?;
    let history = History::read(&store, &inventory.checkpoints, &pattern);
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(history.warnings.iter().cloned());
    let is_in_period = |step: &HistoryStep| options.period.holds(&history.checkpoints[step.at]);
    let mut found: Vec<(&RelPath, &Vec<HistoryStep>)> = history
        .steps
        .iter()
        .filter(|(_, steps)| steps.iter().any(is_in_period))
        .collect();
    found.sort_by_key(|(_, steps)| std::cmp::Reverse(steps.last().map(|step| step.at)));
    if found.is_empty() {
        let lookup = Lookup::new(context, &store, &inventory);
        let unread = inventory.all_damaged().len() + history.warnings.len();
        let found = lookup.in_place_of_path(&options.pattern);
        return Err(found.unwrap_or_else(|| no_match(&options.pattern, unread)));
    }
    let limit = options.limit.unwrap_or(usize::MAX);
    let more = found.len().saturating_sub(limit);
    let work = context
        .root
        .exists()
        .then(|| WorkTree::open_root(&context.root))
        .transpose()?;
    let told = found.into_iter().take(limit).filter_map(|(path, steps)| {
        let (last_in, ended_by) = history.end_of(steps)?;
        let ended_by = ended_by.cloned();
        let (not_captured_by, deleted_by) = if steps.last()?.not_captured {
            (ended_by, None)
        } else {
            (None, ended_by)
        };
        Some(FoundPath {
            path: path.clone(),
            last_in: last_in.clone(),
            deleted_by,
            not_captured_by,
            in_directory: work
                .as_ref()
                .is_some_and(|work| matches!(work.stat(path), Ok(Some(_)))),
            events: steps
                .iter()
                .rev()
                .filter(|step| is_in_period(step))
                .map(|step| event(&store, &history, step))
                .collect(),
        })
    });
    Ok(FindOutcome {
        pattern: options.pattern.clone(),
        paths: told.collect(),
        more,
        warnings,
    })
}

fn event(store: &Store, history: &History, step: &HistoryStep) -> FindEvent {
    let size_bytes = step
        .after
        .and_then(|(_, blob)| store.objects().size(&blob).ok());
    FindEvent {
        change: PathChange::of(step),
        checkpoint: history.checkpoints[step.at].clone(),
        size_bytes,
    }
}

fn no_match(pattern: &[u8], passed_over: usize) -> Error {
    let shown = escape_bytes(pattern);
    let name = pattern
        .rsplit(|byte| *byte == b'/')
        .find(|name| !name.is_empty())
        .unwrap_or(pattern);
    let hint = Sentence::new(
        "a pattern such as '*{}*' looks at the names in every directory",
        &[&escape_bytes(name)],
    );
    not_found(format!("no checkpoint holds '{shown}'"), hint, passed_over)
}

/// Returns the failure of a search without results; where checkpoints could not be read, it may be
/// in those.
pub fn not_found(what: String, hint: Sentence, passed_over: usize) -> Error {
    if passed_over == 0 {
        return Error::NothingFound { what, hint };
    }
    Error::DamageFound {
        what: format!("{what}; {passed_over} of them cannot be read"),
        hint: Sentence::new("'checkpoint verify --full' lists all damage", &[]),
    }
}
