//! Words that many answers share: what is said beside a result, failures, warnings.

use crate::base::text::{escape, escape_line, escape_path};
use crate::error::Error;
use crate::model::state::rel_path::RelPath;
use crate::ops::create::record::Evicted;
use crate::ops::warning::Warning;
use crate::ops::warning_words::thousands;
use crate::view::format::{Paint, count};
use crate::view::place::placed;

/// What a command says: the result, and talk about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub result: String,
    pub talk: String,
}

/// A failure in one line: what, which path or id, what to do next.
pub fn error(error: &Error, paint: Paint) -> String {
    let hint = error.hint().map(|hint| format!(" ({})", placed(&hint))).unwrap_or_default();
    format!("{} {}{hint}\n", paint.red("checkpoint:"), escape_line(&error.to_string()))
}

/// What is wrong with a command line, in the same form; `help` is the command that tells what would be right.
pub fn wrong_usage(what: &str, help: &str) -> String {
    format!("checkpoint: {} (try '{help}')\n", escape(what))
}

pub fn warning(warning: &Warning, paint: Paint) -> String {
    // The sentence of the size gate is agreed word for word, so nothing stands before it.
    let Warning::TooManyFiles { largest, .. } = warning else {
        return format!("{} {}\n", paint.yellow("warning:"), escape_line(&warning.to_string()));
    };
    let folders: Vec<String> = largest.iter().map(|(path, files)| format!("{path}/ ({})", thousands(*files))).collect();
    let second = if folders.is_empty() { String::new() } else { format!("largest: {}\n", folders.join(", ")) };
    format!("{warning}\n{second}")
}

/// Said where there is no store and nothing is asked of one.
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
    format!("evicted {}: {}\n", count(ids.len(), "checkpoint", "checkpoints"), ids.join(" "))
}

pub fn count_files(files: u64) -> String {
    format!("{} {}", thousands(files), if files == 1 { "file" } else { "files" })
}
