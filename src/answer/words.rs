//! Text shared by many commands: failures, warnings, evictions.

use crate::answer::format::Paint;
use crate::answer::place::PlaceWords;
use crate::base::text::{escape_line, thousands, without_numbers};
use crate::error::{Code, CommandWords, Error, Sentence};
use crate::model::{Evicted, EvictionReason, RelPath};
use crate::ops::Warning;

/// Returns what failed; of a signal, what it left.
pub fn message(error: &Error, place: &PlaceWords) -> String {
    match error.signal() {
        Some(_) => {
            let left = place.left_by_a_signal.unwrap_or("nothing was changed");
            format!("interrupted: {left}")
        }
        None => without_numbers(&error.what),
    }
}

/// Returns the next step as it is printed and as JSON has it.
pub fn hint(error: &Error, place: &PlaceWords) -> Option<Sentence> {
    match &error.next {
        None if error.code == Code::USAGE => {
            let line = place.help_of.as_deref().unwrap_or("checkpoint");
            let words = line.split(' ').skip(1).chain(["--help"]);
            let help = CommandWords::new(words);
            Some(Sentence::text("see ").then_command(help))
        }
        next => next.clone().map(|next| place.sentence(next)),
    }
}

/// Formats a failure, in one line but for what git says: what, which path or id, what to do next.
pub fn error(error: &Error, place: &PlaceWords, paint: Paint) -> String {
    let message = message(error, place);
    let what = if error.code == Code::REMOTE_FAILED {
        // Git's own lines, which are escaped.
        let lines = message.lines().map(|line| escape_line(line.trim_end()));
        lines.collect::<Vec<_>>().join("\n  ")
    } else {
        escape_line(&message)
    };
    let line = match hint(error, place) {
        Some(advice) if what.contains('\n') => format!("{what}\n{advice}"),
        advice => advised(&what, advice.as_ref()),
    };
    format!("{} {line}\n", paint.red("checkpoint:"))
}

/// Formats the end by a signal after the result was printed.
pub fn interrupted(paint: Paint) -> String {
    format!("{} interrupted\n", paint.red("checkpoint:"))
}

/// Joins what failed and the next step, which is advice or a bare command.
pub fn advised(what: &str, hint: Option<&Sentence>) -> String {
    match hint {
        None => what.to_owned(),
        Some(command) if command.is_command() => format!("{what}; run: {command}"),
        Some(advice) if what.ends_with('?') => format!("{what} {advice}"),
        Some(advice) => format!("{what}; {advice}"),
    }
}

pub fn warning(warning: &Warning, place: &PlaceWords, paint: Paint) -> String {
    // The text of the size gate is fixed word for word, so it has no prefix.
    let Warning::TooManyFiles { largest, .. } = warning else {
        let said = place.sentence(warning.sentence()).to_string();
        let lead = paint.yellow("warning:");
        return format!("{lead} {}\n", without_numbers(&said));
    };
    let folder = |(path, files): &(RelPath, u64)| format!("{path}/ ({})", thousands(*files));
    let folders: Vec<String> = largest.iter().map(folder).collect();
    let largest = match folders.join(", ") {
        none if none.is_empty() => none,
        folders => format!("largest: {folders}; "),
    };
    format!("{warning}\n{largest}--max-files N raises the limit\n")
}

/// Formats a line for each: `evicted aab1778f (wave-1): beyond keep_auto`. The last one that a setting
/// drops tells where that is.
pub fn eviction_lines(verb: &str, evicted: &[Evicted]) -> String {
    let by_setting =
        |gone: &Evicted| matches!(gone.why, EvictionReason::Oldest { is_typed, .. } if !is_typed);
    let last = evicted.iter().rposition(by_setting);
    let line = |(at, gone): (usize, &Evicted)| {
        let (named, why) = (gone.checkpoint.named(), why_evicted(gone.why));
        let more = if last == Some(at) { KEEP_MORE } else { "" };
        format!("{verb} {named}: {why}{more}\n")
    };
    evicted.iter().enumerate().map(line).collect()
}

const KEEP_MORE: &str = "; 'checkpoint config' shows where keep is set";

fn why_evicted(why: EvictionReason) -> String {
    let words = match why {
        EvictionReason::OldSafety => "beyond the last 20 restores",
        EvictionReason::Oldest { keep, is_typed } if is_typed => {
            return format!("beyond --keep {keep}");
        }
        EvictionReason::Oldest { keep: 1, .. } => "only the last is kept",
        EvictionReason::Oldest { keep, .. } => return format!("only the last {keep} are kept"),
        EvictionReason::NoRule => "no rule keeps it",
        EvictionReason::OldAutomatic => "beyond keep_auto",
        EvictionReason::StoreSize => "beyond max_store_size",
        EvictionReason::Expired => "expired",
    };
    words.to_owned()
}

pub fn count_files(files: u64) -> String {
    let noun = if files == 1 { "file" } else { "files" };
    format!("{} {noun}", thousands(files))
}
