//! Reads a commit made by plain git as a checkpoint: the recipe's `<reason> | <time> | <source>`,
//! or any message.

use crate::model::checkpoint::limits;
use crate::model::{CheckpointKind, CheckpointTerms, Coverage, Provenance, Record};

/// The source of a commit whose message does not name one.
const UNKNOWN_SOURCE: &str = "git";

/// Makes the record of a commit without our trailers; its file count is unknown.
pub fn record(message: &str, seconds: i64, sequence: u64) -> Record {
    let subject = message.lines().next().unwrap_or_default().trim();
    let (reason, source) = parts(subject).unwrap_or((subject, UNKNOWN_SOURCE));
    let reason = if reason.is_empty() {
        "(no message)"
    } else {
        reason
    };
    Record {
        sequence,
        // Git takes times that no calendar has.
        time_ms: limits::bounded(seconds),
        kind: kind(reason, source),
        coverage: Coverage::Complete,
        files: 0,
        content_bytes: 0,
        reason: reason.to_owned(),
        source: source.to_owned(),
        operation: None,
        during_pending: false,
        provenance: Provenance::default(),
        terms: CheckpointTerms::default(),
    }
}

/// Splits a subject into reason and source; the time between is ignored, as the commit has one.
fn parts(subject: &str) -> Option<(&str, &str)> {
    let (rest, source) = subject.rsplit_once(" | ")?;
    let (reason, _time) = rest.rsplit_once(" | ")?;
    Some((reason.trim(), source.trim()))
}

fn kind(reason: &str, source: &str) -> CheckpointKind {
    let safety = matches!(reason, "pre-restore-safety" | "pre-restore-safety-file")
        && source == "checkpoint";
    if safety {
        CheckpointKind::Safety
    } else {
        CheckpointKind::Regular
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipes_message_gives_reason_and_source() {
        for (message, reason, source) in [
            (
                "pre-wave-3 | 2026-03-24 12:45:30 | build\n",
                "pre-wave-3",
                "build",
            ),
            ("a | b | 2026-03-24T12:45 | c\n\nbody | x | y", "a | b", "c"),
            ("fix a bug", "fix a bug", "git"),
            ("one | two", "one | two", "git"),
            ("", "(no message)", "git"),
            (" | 2026 | build", "| 2026 | build", "git"),
        ] {
            let record = record(message, 7, 3);
            assert_eq!(
                (&*record.reason, &*record.source),
                (reason, source),
                "{message}"
            );
            assert_eq!((record.time_ms, record.sequence), (7000, 3));
        }
    }

    #[test]
    fn the_recipes_safety_checkpoints_are_known() {
        assert_eq!(
            record("pre-restore-safety | t | checkpoint", 0, 1).kind,
            CheckpointKind::Safety
        );
        assert_eq!(
            record("pre-restore-safety-file | t | checkpoint", 0, 1).kind,
            CheckpointKind::Safety
        );
        assert_eq!(
            record("pre-restore-safety | t | build", 0, 1).kind,
            CheckpointKind::Regular
        );
    }
}
