//! `diff` as text and as JSON.

use crate::base::quoting::quoted;
use crate::error::Error;
use crate::model::difference::OtherDifferences;
use crate::model::json::{ChangeJson, CheckpointRef, PathReason};
use crate::model::state::entry::{RWX_BITS, WhyNot};
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::ops::browse::diff::version::SeenFile;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::partial;
use crate::view::format::count;

/// `--name-only` and `--name-status`: paths as they are called `from_here`, each on a line or, with
/// `-z`, as it is and ended by NUL.
pub fn names(
    files: &[FileDiff],
    from_here: &dyn Fn(&RelPath) -> Vec<u8>,
    has_letters: bool,
    ends_with_nul: bool,
) -> Vec<u8> {
    let [gap, end] = [["\t", "\n"], ["\0"; 2]][usize::from(ends_with_nul)];
    let line = |file: &FileDiff| {
        let mut path = from_here(&file.path);
        if !ends_with_nul {
            path = quoted("", &path).into_bytes();
        }
        let letter = has_letters.then(|| format!("{}{gap}", file.change.letter()));
        [letter.unwrap_or_default().into_bytes(), path, end.into()].concat()
    };
    files.iter().flat_map(line).collect()
}

/// Describes paths that are missing from the result; always shown.
pub fn missing(outcome: &DiffOutcome) -> String {
    let mut text = not_compared(outcome, true);
    for path in &outcome.too_large {
        text.push_str(&format!("not in the patch: {path} (over 512 MiB)\n"));
    }
    text
}

fn not_compared(outcome: &DiffOutcome, is_lack: bool) -> String {
    let named = outcome
        .not_compared
        .iter()
        .filter(|(_, why)| why.makes_partial() == is_lack);
    let line = |(path, why): &(RelPath, WhyNot)| {
        let detail = if let WhyNot::Unreadable(detail) = why {
            detail
        } else {
            why.in_words()
        };
        format!("not compared: {path} ({detail})\n")
    };
    named.map(line).collect()
}

/// Describes what a patch cannot show, as counts or lists.
pub fn talk(outcome: &DiffOutcome, verbose: bool) -> String {
    let mut text = not_compared(outcome, false);
    let other = &outcome.other;
    if verbose {
        text.push_str(&listed(other));
        return text;
    }
    let parts = [
        (other.modes.len(), "mode", "modes"),
        (
            other.empty_dirs_added.len(),
            "new empty directory",
            "new empty directories",
        ),
        (
            other.empty_dirs_deleted.len(),
            "removed empty directory",
            "removed empty directories",
        ),
        (
            other.uncaptured.len(),
            "path that was not captured",
            "paths that were not captured",
        ),
    ];
    let named = parts
        .iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, many)| count(*number, one, many));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        text.push_str(&format!(
            "also differ: {} (-v lists them)\n",
            named.join(", ")
        ));
    }
    text
}

fn listed(other: &OtherDifferences) -> String {
    let mut text = String::new();
    for (path, before, after) in &other.modes {
        text.push_str(&format!(
            "mode {} -> {}: {path}\n",
            octal(*before),
            octal(*after)
        ));
    }
    for (paths, word) in [
        (&other.empty_dirs_added, "new"),
        (&other.empty_dirs_deleted, "removed"),
    ] {
        for path in paths {
            text.push_str(&format!("{word} empty directory: {path}/\n"));
        }
    }
    for (path, before, after) in &other.uncaptured {
        let told =
            |why: &Option<WhyNot>| why.as_ref().map_or("captured or absent", WhyNot::in_words);
        text.push_str(&format!(
            "not captured: {path} ({} -> {})\n",
            told(before),
            told(after)
        ));
    }
    text
}

/// Formats permission bits in octal: three digits, or four with a special bit.
fn octal(perm: u32) -> String {
    if perm & !RWX_BITS == 0 {
        format!("{perm:03o}")
    } else {
        format!("{perm:04o}")
    }
}

/// What differs between two states.
#[derive(Serialize, JsonSchema)]
pub struct DiffAnswer {
    from: CheckpointRef,
    /// Null for the directory as it is.
    to: Option<CheckpointRef>,
    /// Files that differ.
    changes: Vec<FileChange>,
    other: OtherChanges,
    /// Paths that could not be read, or whose content is not known.
    not_compared: Vec<PathReason>,
    /// With `-U` or `--binary`: the patch, in which what is not UTF-8 is replaced; else null.
    patch: Option<String>,
}

/// A file that differs.
#[derive(Serialize, JsonSchema)]
pub struct FileChange {
    #[serde(flatten)]
    change: ChangeJson,
    /// Lines added; null for binary content, or if only names are compared.
    insertions: Option<usize>,
    deletions: Option<usize>,
    binary: bool,
    /// Type and mode as git writes them: `100644`; null if the file was not there.
    old_mode: Option<String>,
    new_mode: Option<String>,
}

/// What differs besides the content of files.
#[derive(Serialize, JsonSchema)]
struct OtherChanges {
    mode_changes: Vec<ModeChange>,
    /// Empty directories that were added or deleted.
    directories: Vec<ChangeJson>,
    /// Paths that could not be captured in one state or in both.
    uncaptured: Vec<UncapturedChange>,
}

/// Permission bits that differ.
#[derive(Serialize, JsonSchema)]
struct ModeChange {
    #[serde(flatten)]
    change: ChangeJson,
    /// Four octal digits.
    old_permissions: String,
    new_permissions: String,
}

/// A path that was not captured, with the reason in each state; null if it was captured or absent.
#[derive(Serialize, JsonSchema)]
struct UncapturedChange {
    #[serde(flatten)]
    change: ChangeJson,
    why_before: Option<&'static str>,
    why_after: Option<&'static str>,
}

/// `failure` is set if a part could not be read; the rest is included all the same.
pub fn json(
    outcome: &DiffOutcome,
    patch: Option<&[u8]>,
    exit: u8,
    failure: Option<&Error>,
) -> String {
    let not_compared = outcome.not_compared.iter();
    let data = DiffAnswer {
        from: CheckpointRef::new(&outcome.from),
        to: outcome.to.as_ref().map(CheckpointRef::new),
        changes: outcome.files.iter().map(FileChange::new).collect(),
        other: other_changes(&outcome.other),
        not_compared: not_compared
            .map(|(path, why)| PathReason::new(path, why))
            .collect(),
        patch: patch.map(|patch| String::from_utf8_lossy(patch).into_owned()),
    };
    partial("diff", exit, &data, &outcome.warnings, failure)
}

impl FileChange {
    pub fn new(file: &FileDiff) -> Self {
        let mode = |side: Option<SeenFile>| side.map(|seen| format!("{:06o}", seen.mode));
        Self {
            change: ChangeJson::new(&file.path, file.change.into_str()),
            insertions: file.counts.map(|(insertions, _)| insertions),
            deletions: file.counts.map(|(_, deletions)| deletions),
            binary: file.is_binary,
            old_mode: mode(file.before),
            new_mode: mode(file.after),
        }
    }
}

fn other_changes(other: &OtherDifferences) -> OtherChanges {
    let mode = |(path, before, after): &(RelPath, u32, u32)| ModeChange {
        change: ChangeJson::new(path, "mode"),
        old_permissions: format!("{before:04o}"),
        new_permissions: format!("{after:04o}"),
    };
    let word = |why: &Option<WhyNot>| why.as_ref().map(WhyNot::into_str);
    let uncaptured =
        |(path, before, after): &(RelPath, Option<WhyNot>, Option<WhyNot>)| UncapturedChange {
            change: ChangeJson::new(path, "not_captured"),
            why_before: word(before),
            why_after: word(after),
        };
    OtherChanges {
        mode_changes: other.modes.iter().map(mode).collect(),
        directories: ChangeJson::all("directory_added", &other.empty_dirs_added)
            .chain(ChangeJson::all(
                "directory_deleted",
                &other.empty_dirs_deleted,
            ))
            .collect(),
        uncaptured: other.uncaptured.iter().map(uncaptured).collect(),
    }
}
