//! The changes of a restore, planned or done, as text; and what it was limited to.

use crate::answer::format::{Paint, count};
use crate::base::cut_list::and_more;
use crate::base::json::{JsonSchema, Serialize};
use crate::model::json::{paths, patterns};
use crate::model::{PathFilter, PathName, PlannedChange, RelPath, RestorePlan, Verb};
use crate::ops::{Context, DatabaseFate, DatabaseReport, RestoreOutcome};

/// Whether counts tell what would be done or what was done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    Planned,
    Done,
}

const FILES: [&str; 2] = ["file", "files"];
const DIRECTORIES: [&str; 2] = ["directory", "directories"];

/// Returns what changes in this way, the verb, and the word for what was done.
fn words(change: PlannedChange) -> ([&'static str; 2], &'static str, &'static str) {
    match change {
        PlannedChange::Modified => (FILES, "modify", "modified"),
        PlannedChange::Added => (FILES, "add", "added"),
        PlannedChange::Deleted => (FILES, "delete", "deleted"),
        PlannedChange::Mode => (["mode", "modes"], "set", "set"),
        PlannedChange::DirectoryAdded => (DIRECTORIES, "add", "added"),
        PlannedChange::DirectoryDeleted => (DIRECTORIES, "delete", "deleted"),
    }
}

/// Formats the counts: `modify 2 files, delete 1 file`, or `2 files modified, 1 file deleted`.
pub fn counts(plan: &RestorePlan, databases: &[DatabaseReport], tense: Tense) -> String {
    let kinds = PlannedChange::ALL.iter();
    let kinds = kinds.map(|kind| (plan.count(*kind), words(*kind)));
    let restored = databases.iter().filter(|one| one.fate.changes_it()).count();
    let restored = (restored, (["database", "databases"], "restore", "restored"));
    let parts = kinds.chain([restored]).filter(|(number, _)| *number > 0);
    let parts = parts.map(|(number, ([one, many], verb, done))| {
        let number = count(number, one, many);
        match tense {
            Tense::Planned => format!("{verb} {number}"),
            Tense::Done => format!("{number} {done}"),
        }
    });
    let parts: Vec<String> = parts.collect();
    match tense {
        _ if !parts.is_empty() => parts.join(", "),
        Tense::Planned => "change nothing".to_owned(),
        Tense::Done => "nothing changed".to_owned(),
    }
}

/// Lists all that a restore would do: paths, databases, and later changes that go with them.
pub fn listing_of(
    outcome: &RestoreOutcome,
    context: &Context,
    limit: usize,
    paint: Paint,
) -> String {
    let mut text = listing(&outcome.plan, context, limit, paint);
    for report in &outcome.databases {
        if report.fate == DatabaseFate::Planned {
            let line = format!("  database {}", report.database);
            text.push_str(&(paint.yellow(&line) + "\n"));
        }
    }
    text + &made_since(outcome, Tense::Planned, limit)
}

/// Lists all paths of a plan, at most `limit` of each kind.
pub fn listing(plan: &RestorePlan, context: &Context, limit: usize, paint: Paint) -> String {
    let changes = plan.changes();
    let kinds = PlannedChange::ALL.iter().map(|kind| {
        let color = match kind {
            PlannedChange::Modified | PlannedChange::Mode => Paint::yellow,
            PlannedChange::Added | PlannedChange::DirectoryAdded => Paint::green,
            PlannedChange::Deleted | PlannedChange::DirectoryDeleted => Paint::red,
        };
        let (nouns, _, word) = words(*kind);
        let slash = if nouns == DIRECTORIES { "/" } else { "" };
        let is_mode = *kind == PlannedChange::Mode;
        let word = if is_mode { "mode" } else { word };
        let of_kind = changes.iter().filter(|(_, change)| change == kind);
        let paths = of_kind.map(|(path, _)| context.shown(path) + slash);
        section(word, paths.collect(), limit, |line| color(paint, line))
    });
    let kept = plan.left_alone.iter().chain(plan.unreadable.keys());
    let kept = kept.map(|path| context.shown(path)).collect();
    let kept = section("kept", kept, limit, |line| paint.faint(line));
    kinds.chain([kept]).collect()
}

fn section(
    word: &str,
    mut paths: Vec<String>,
    limit: usize,
    color: impl Fn(&str) -> String,
) -> String {
    let more = paths.len().saturating_sub(limit);
    paths.truncate(limit);
    let lines = paths.iter();
    let lines = lines.map(|path| color(&format!("  {word:<8} {path}")) + "\n");
    let rest = (more > 0).then(|| format!("  {word:<8} … and {more} more\n"));
    lines.chain(rest).collect()
}

/// Lists later changes that an undo or redo takes back too, and what brings them back.
pub fn made_since(outcome: &RestoreOutcome, tense: Tense, limit: usize) -> String {
    let (verb, back) = match outcome.verb {
        Verb::Redo => ("redo", "undo"),
        _ => ("undo", "redo"),
    };
    let (what, them) = match outcome.since.as_deref() {
        Some([]) => return String::new(),
        Some([one]) => (format!("{one} changed since"), "it"),
        Some(since) => (format!("changed since: {}", and_more(since, limit)), "them"),
        None => (
            "changes since that step are unknown, because its checkpoint no longer exists".into(),
            "them",
        ),
    };
    let mut since = outcome.since.iter().flatten();
    let gone = since.clone();
    let gone = gone.filter(|path| outcome.plan.delete.contains_key(path));
    let loses = match gone.count() {
        0 => "overwrites",
        gone if since.nth(gone).is_none() => "deletes",
        _ => "overwrites or deletes",
    };
    let safety = outcome.safety.as_ref().map(|safety| safety.id.short());
    let fate = match (tense, safety) {
        (Tense::Planned, _) => format!("{verb} {loses} {them}, "),
        (Tense::Done, Some(safety)) => format!("safety checkpoint {safety} holds {them}, "),
        (Tense::Done, None) => String::new(),
    };
    format!("{what}; {fate}{back} brings {them} back\n")
}

/// The paths and patterns of a restore; none for the whole directory.
#[derive(Serialize, JsonSchema)]
pub struct LimitsJson {
    /// The paths that were asked for; empty for all.
    paths: Vec<PathName>,
    #[serde(flatten)]
    filter: PathFilter,
}

impl LimitsJson {
    pub fn new(limited_to: &[RelPath], filter: &PathFilter) -> Self {
        Self {
            paths: paths(limited_to),
            filter: filter.clone(),
        }
    }
}

/// Formats `src, docs except *.log`; empty for the whole directory.
pub fn limit_words(limited_to: &[RelPath], filter: &PathFilter) -> String {
    let mut only: Vec<String> = limited_to.iter().map(RelPath::to_string).collect();
    only.extend(patterns(filter.only.as_ref()));
    let except = patterns(filter.except.as_ref());
    match (only.is_empty(), except.is_empty()) {
        (_, true) => only.join(", "),
        (true, false) => format!("all except {}", except.join(", ")),
        (false, false) => format!("{} except {}", only.join(", "), except.join(", ")),
    }
}
