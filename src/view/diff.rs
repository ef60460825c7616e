//! `diff` as text and as JSON.

use serde_json::{Value, json};

use crate::base::quoting::quoted;
use crate::error::Error;
use crate::model::difference::OtherDifferences;
use crate::model::state::entry::{RWX_BITS, WhyNot};
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::ops::browse::diff::version::SeenFile;
use crate::view::envelope::{hex, paths, with_path};
use crate::view::failure::partial;
use crate::view::format::count;

/// `--name-only`
pub fn names(files: &[FileDiff]) -> String {
    files
        .iter()
        .map(|file| format!("{}\n", quoted("", file.path.as_bytes())))
        .collect()
}

/// `--name-status`
pub fn name_status(files: &[FileDiff]) -> String {
    let line = |file: &FileDiff| {
        format!(
            "{}\t{}\n",
            file.change.letter(),
            quoted("", file.path.as_bytes())
        )
    };
    files.iter().map(line).collect()
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

/// `failure` is set if a part could not be read; the rest is included all the same.
pub fn json(outcome: &DiffOutcome, exit: u8, failure: Option<&Error>) -> String {
    let data = json!({
        "from": hex(outcome.from.id),
        "to": outcome.to.as_ref().map(|to| hex(to.id)),
        "files": outcome.files.iter().map(file).collect::<Vec<_>>(),
        "other": other(&outcome.other),
        "not_compared": outcome.not_compared.iter().map(|(path, why)| why_not_compared(path, why)).collect::<Vec<_>>(),
    });
    partial("diff", exit, &data, &outcome.warnings, failure)
}

fn file(file: &FileDiff) -> Value {
    let mode = |side: Option<SeenFile>| side.map(|seen| format!("{:06o}", seen.mode));
    let told = json!({
        "change": file.change.into_str(),
        "insertions": file.counts.map(|(insertions, _)| insertions),
        "deletions": file.counts.map(|(_, deletions)| deletions),
        "binary": file.is_binary,
        "old_mode": mode(file.before),
        "new_mode": mode(file.after),
    });
    with_path(told, &file.path)
}

fn other(other: &OtherDifferences) -> Value {
    let octal = |perm: u32| format!("{perm:04o}");
    let mode = |(path, before, after): &(RelPath, u32, u32)| {
        with_path(
            json!({"old_mode": octal(*before), "new_mode": octal(*after)}),
            path,
        )
    };
    let word = |why: &Option<WhyNot>| why.as_ref().map(WhyNot::into_str);
    let uncaptured = |(path, before, after): &(RelPath, Option<WhyNot>, Option<WhyNot>)| {
        with_path(json!({"before": word(before), "after": word(after)}), path)
    };
    json!({
        "modes": other.modes.iter().map(mode).collect::<Vec<_>>(),
        "empty_directories_added": paths(&other.empty_dirs_added),
        "empty_directories_deleted": paths(&other.empty_dirs_deleted),
        "uncaptured": other.uncaptured.iter().map(uncaptured).collect::<Vec<_>>(),
    })
}

fn why_not_compared(path: &RelPath, why: &WhyNot) -> Value {
    let mut told = json!({"why": why.into_str()});
    if let WhyNot::Unreadable(detail) = why {
        told["detail"] = detail.clone().into();
    }
    with_path(told, path)
}
