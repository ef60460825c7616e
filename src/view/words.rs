//! Text shared by many commands: output, failures, warnings.

use crate::base::text::{escape, escape_line, escape_path};
use crate::error::Error;
use crate::model::state::rel_path::RelPath;
use crate::ops::create::apply_retention::Evicted;
use crate::ops::warning::Warning;
use crate::ops::warning_words::thousands;
use crate::view::format::{Paint, count};
use crate::view::place::placed;

/// Output of a command: result for stdout, talk for stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub result: String,
    pub talk: String,
}

/// Formats a failure in one line: what, which path or id, what to do next.
pub fn error(error: &Error, paint: Paint) -> String {
    let hint = error
        .hint()
        .map(|hint| format!(" ({})", placed(&hint)))
        .unwrap_or_default();
    format!(
        "{} {}{hint}\n",
        paint.red("checkpoint:"),
        escape_line(&error.to_string())
    )
}

/// Formats a usage error in the same way; `help` is the command with the correct usage.
pub fn wrong_usage(what: &str, help: &str) -> String {
    format!("checkpoint: {} (try '{help}')\n", escape(what))
}

pub fn warning(warning: &Warning, paint: Paint) -> String {
    // The text of the size gate is fixed word for word, so it has no prefix.
    let Warning::TooManyFiles { largest, .. } = warning else {
        return format!(
            "{} {}\n",
            paint.yellow("warning:"),
            escape_line(&warning.to_string())
        );
    };
    let folders: Vec<String> = largest
        .iter()
        .map(|(path, files)| format!("{path}/ ({})", thousands(*files)))
        .collect();
    let second = if folders.is_empty() {
        String::new()
    } else {
        format!("largest: {}\n", folders.join(", "))
    };
    format!("{warning}\n{second}")
}

/// Message where no store exists and none is required.
pub fn no_store(root: &std::path::Path, hint: &str) -> String {
    format!("no checkpoints for {} yet: {hint}\n", escape_path(root))
}

pub fn join<'p>(paths: impl Iterator<Item = &'p RelPath>) -> String {
    paths.map(RelPath::to_string).collect::<Vec<_>>().join(" ")
}

pub fn evicted(evicted: &[Evicted]) -> String {
    if evicted.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = evicted.iter().map(|gone| gone.id.short()).collect();
    format!(
        "evicted {}: {}\n",
        count(ids.len(), "checkpoint", "checkpoints"),
        ids.join(" ")
    )
}

pub fn count_files(files: u64) -> String {
    format!(
        "{} {}",
        thousands(files),
        if files == 1 { "file" } else { "files" }
    )
}
