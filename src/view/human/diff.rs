//! What `diff` says besides the patch, and its lists of names.

use crate::base::quoting::quoted;
use crate::model::difference::Unsayable;
use crate::model::state::entry::{RWX_BITS, WhyNot};
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::view::format::count;

/// `--name-only`
pub fn names(files: &[FileDiff]) -> String {
    files.iter().map(|file| format!("{}\n", quoted("", file.path.as_bytes()))).collect()
}

/// `--name-status`
pub fn name_status(files: &[FileDiff]) -> String {
    let line = |file: &FileDiff| format!("{}\t{}\n", file.change.letter(), quoted("", file.path.as_bytes()));
    files.iter().map(line).collect()
}

/// What should be there and is not, which is said whatever was asked for.
pub fn missing(outcome: &DiffOutcome) -> String {
    let mut text = not_compared(outcome, true);
    for path in &outcome.too_large {
        text.push_str(&format!("not in the patch: {path} (over 512 MiB)\n"));
    }
    text
}

fn not_compared(outcome: &DiffOutcome, is_lack: bool) -> String {
    let named = outcome.not_compared.iter().filter(|(_, why)| why.makes_partial() == is_lack);
    let line = |(path, why): &(RelPath, WhyNot)| {
        let detail = if let WhyNot::Unreadable(detail) = why { detail } else { why.in_words() };
        format!("not compared: {path} ({detail})\n")
    };
    named.map(line).collect()
}

/// What a patch cannot say: counted, or listed.
pub fn talk(outcome: &DiffOutcome, verbose: bool) -> String {
    let mut text = not_compared(outcome, false);
    let other = &outcome.other;
    if verbose {
        text.push_str(&listed(other));
        return text;
    }
    let parts = [
        (other.modes.len(), "mode", "modes"),
        (other.empty_dirs_added.len(), "new empty directory", "new empty directories"),
        (other.empty_dirs_deleted.len(), "removed empty directory", "removed empty directories"),
        (other.uncaptured.len(), "path that was not captured", "paths that were not captured"),
    ];
    let named = parts.iter().filter(|(number, ..)| *number > 0).map(|(number, one, many)| count(*number, one, many));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        text.push_str(&format!("also differ: {} (-v lists them)\n", named.join(", ")));
    }
    text
}

fn listed(other: &Unsayable) -> String {
    let mut text = String::new();
    for (path, before, after) in &other.modes {
        text.push_str(&format!("mode {} -> {}: {path}\n", octal(*before), octal(*after)));
    }
    for (paths, word) in [(&other.empty_dirs_added, "new"), (&other.empty_dirs_deleted, "removed")] {
        for path in paths {
            text.push_str(&format!("{word} empty directory: {path}/\n"));
        }
    }
    for (path, before, after) in &other.uncaptured {
        let told = |why: &Option<WhyNot>| why.as_ref().map_or("captured or absent", WhyNot::in_words);
        text.push_str(&format!("not captured: {path} ({} -> {})\n", told(before), told(after)));
    }
    text
}

/// Permission bits: three digits, or four where a special bit is set.
fn octal(perm: u32) -> String {
    if perm & !RWX_BITS == 0 { format!("{perm:03o}") } else { format!("{perm:04o}") }
}
