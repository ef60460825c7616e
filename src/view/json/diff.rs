//! The document of `diff`.

use serde_json::{Value, json};

use crate::error::Error;
use crate::model::difference::Unsayable;
use crate::model::state::entry::WhyNot;
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::browse::diff::file_diff::FileDiff;
use crate::ops::browse::diff::version::SeenFile;
use crate::view::json::failure::partial;
use crate::view::json::parts::{hex, paths, with_path};

/// With `failure` where a part could not be read: the rest is told all the same.
pub fn diff(outcome: &DiffOutcome, exit: u8, failure: Option<&Error>) -> String {
    let data = json!({
        "from": hex(outcome.from.id),
        "to": outcome.to.as_ref().map(|to| hex(to.id)),
        "files": outcome.files.iter().map(file).collect::<Vec<_>>(),
        "other": other(&outcome.other),
        "not_compared": outcome.not_compared.iter().map(|(path, why)| standing(path, why)).collect::<Vec<_>>(),
    });
    partial("diff", exit, &data, &outcome.warnings, failure)
}

fn file(file: &FileDiff) -> Value {
    let mode = |side: Option<SeenFile>| side.map(|seen| format!("{:06o}", seen.mode));
    let told = json!({
        "change": file.change.word(),
        "insertions": file.counts.map(|(insertions, _)| insertions),
        "deletions": file.counts.map(|(_, deletions)| deletions),
        "binary": file.is_binary,
        "old_mode": mode(file.before),
        "new_mode": mode(file.after),
    });
    with_path(told, &file.path)
}

fn other(other: &Unsayable) -> Value {
    let octal = |perm: u32| format!("{perm:04o}");
    let mode = |(path, before, after): &(RelPath, u32, u32)| {
        with_path(json!({"old_mode": octal(*before), "new_mode": octal(*after)}), path)
    };
    let word = |why: &Option<WhyNot>| why.as_ref().map(WhyNot::word);
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

fn standing(path: &RelPath, why: &WhyNot) -> Value {
    let mut told = json!({"why": why.word()});
    if let WhyNot::Unreadable(detail) = why {
        told["detail"] = detail.clone().into();
    }
    with_path(told, path)
}
