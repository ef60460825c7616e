//! Text shared by many commands: output, failures, warnings.

use crate::base::text::{escape, escape_line, escape_path};
use crate::error::Error;
use crate::model::checkpoint::retention::{Evicted, EvictionReason};
use crate::model::state::rel_path::RelPath;
use crate::ops::warning::Warning;
use crate::ops::warning_words::thousands;
use crate::view::format::Paint;
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

/// Formats a line for each: `evicted aab1778f (wave-1): beyond keep`.
pub fn evicted(evicted: &[Evicted]) -> String {
    eviction_lines("evicted", evicted)
}

/// As [`evicted`], after another verb.
pub fn eviction_lines(verb: &str, evicted: &[Evicted]) -> String {
    let line = |gone: &Evicted| format!("{verb} {}: {}\n", gone.named(), why_evicted(gone.why));
    evicted.iter().map(line).collect()
}

fn why_evicted(why: EvictionReason) -> &'static str {
    match why {
        EvictionReason::OldSafety => "beyond the last 20 restores",
        EvictionReason::Oldest => "beyond keep",
        EvictionReason::NoRule => "no rule keeps it",
        EvictionReason::OldAutomatic => "beyond keep_auto",
        EvictionReason::StoreSize => "beyond max_store_size",
        EvictionReason::Expired => "expired",
    }
}

pub fn count_files(files: u64) -> String {
    format!(
        "{} {}",
        thousands(files),
        if files == 1 { "file" } else { "files" }
    )
}
