//! Resolves what a user types to name a checkpoint.

use std::borrow::Cow;

use crate::base::time;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::line::{Line, LineEntry};
use crate::model::checkpoint::record::{Checkpoint, CheckpointKind, MIN_PREFIX};
use crate::model::state::object_id::ObjectId;

/// Why a selector does not name exactly one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorProblem {
    Empty,
    /// `nearest` is the newest checkpoint.
    NoMatch {
        query: String,
        nearest: Option<ObjectId>,
    },
    Ambiguous {
        query: String,
        candidates: Vec<Candidate>,
    },
}

/// A checkpoint that an ambiguous selector could have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: ObjectId,
    pub reason: String,
    /// Time in milliseconds since 1970, and kind; `None` if it is damaged.
    pub made: Option<(i64, CheckpointKind)>,
}

/// Finds the one checkpoint that `query` names.
///
/// Tries, in this order: `latest`, `latest~N`, `@`, `@~N`; digits of an id; an alias; an exact
/// reason (the newest with it); a time (the newest at or before it).
///
/// # Errors
/// An empty query, no match, or several matches.
pub fn resolve<'c>(
    query: &str,
    line: &'c Line,
    now_ms: i64,
) -> Result<Cow<'c, Checkpoint>, SelectorProblem> {
    if query.is_empty() {
        return Err(SelectorProblem::Empty);
    }
    let found = match steps_back(query) {
        Some(steps) => latest(line, steps),
        None => match by_id(query, line)? {
            Some(found) => Some(found),
            None => by_reason(query, line).or_else(|| by_time(query, line, now_ms)),
        },
    };
    found.ok_or_else(|| SelectorProblem::NoMatch {
        query: query.to_owned(),
        nearest: line.newest().map(|c| c.id),
    })
}

/// Returns the newest checkpoint that is neither safety nor scoped, or the one `steps` before it.
pub fn latest(line: &Line, steps: usize) -> Option<Cow<'_, Checkpoint>> {
    line.rev().filter(|c| c.is_whole()).nth(steps)
}

fn steps_back(query: &str) -> Option<usize> {
    let rest = query
        .strip_prefix("latest")
        .or_else(|| query.strip_prefix('@'))?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix('~')?;
    if digits.is_empty() {
        Some(1)
    } else {
        digits.parse().ok()
    }
}

fn by_id<'c>(query: &str, line: &'c Line) -> Result<Option<Cow<'c, Checkpoint>>, SelectorProblem> {
    let mut matches = if alias::is_alias(query) {
        line.matching(|c| alias::made_of(c.time_ms, c.id).eq_ignore_ascii_case(query))
    } else if query.len() >= MIN_PREFIX && query.bytes().all(|b| b.is_ascii_hexdigit()) {
        let prefix = query.to_ascii_lowercase();
        line.matching(|c| c.id.begins_with(&prefix))
    } else {
        return Ok(None);
    };
    if matches.len() <= 1 {
        return Ok(matches.pop());
    }
    matches.sort_by_key(|c| LineEntry::of(c));
    Err(SelectorProblem::Ambiguous {
        query: query.to_owned(),
        candidates: matches
            .into_iter()
            .map(|c| Candidate {
                id: c.id,
                reason: c.record.reason.clone(),
                made: Some((c.record.time_ms, c.record.kind)),
            })
            .collect(),
    })
}

fn by_reason<'c>(query: &str, line: &'c Line) -> Option<Cow<'c, Checkpoint>> {
    line.rev().find(|c| c.record.reason == query)
}

fn by_time<'c>(query: &str, line: &'c Line, now_ms: i64) -> Option<Cow<'c, Checkpoint>> {
    let until = time::parse_until(query, now_ms)?;
    line.rev()
        .find(|c| c.is_whole() && c.record.time_ms <= until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::record::{Coverage, Record};
    use crate::model::checkpoint::terms::CheckpointTerms;

    fn made(first_byte: u8, sequence: u64, reason: &str, kind: CheckpointKind) -> Checkpoint {
        let mut bytes = [0; 20];
        bytes[0] = 0xab;
        bytes[1] = 0xcd;
        bytes[2] = first_byte;
        let record = Record {
            sequence,
            time_ms: 60_000 * i64::try_from(sequence).unwrap(),
            kind,
            coverage: Coverage::Complete,
            files: 0,
            content_bytes: 0,
            reason: reason.to_owned(),
            source: String::new(),
            operation: None,
            during_pending: false,
            terms: CheckpointTerms::default(),
        };
        Checkpoint {
            id: ObjectId::from_bytes(bytes),
            tree: ObjectId::from_bytes([0; 20]),
            meta: None,
            record,
            pinned: false,
            adopted: false,
        }
    }

    fn scoped(first_byte: u8, sequence: u64) -> Checkpoint {
        let mut scoped = made(first_byte, sequence, "scoped", CheckpointKind::Regular);
        scoped.record.coverage = Coverage::Scoped;
        scoped
    }

    fn store() -> Line {
        use CheckpointKind::{Regular, Safety};
        Line::from(vec![
            made(1, 1, "wave", Regular),
            made(2, 2, "other", Regular),
            made(3, 3, "wave", Regular),
            made(4, 4, "pre-restore-safety", Safety),
            scoped(5, 5),
        ])
    }

    #[track_caller]
    fn finds(query: &str, sequence: u64) {
        assert_eq!(
            resolve(query, &store(), 600_000).unwrap().record.sequence,
            sequence,
            "{query}"
        );
    }

    #[test]
    fn every_form_of_a_selector_finds_its_checkpoint() {
        finds("latest", 3);
        finds("@", 3);
        finds("@~", 2);
        finds("latest~2", 1);
        finds("abcd02", 2);
        finds("ABCD04", 4);
        finds("wave", 3);
        finds("scoped", 5);
        finds("chk_19700101_000200_abcd02", 2);
        finds("4m ago", 3);
        finds("pre-restore-safety", 4);
        finds("8m ago", 2);
        finds("1970-01-01T00:01Z", 1);
    }

    #[test]
    fn no_match_several_matches_and_nothing_typed_are_told_apart() {
        let store = store();
        let problem = |query: &str| resolve(query, &store, 600_000).unwrap_err();
        assert_eq!(problem(""), SelectorProblem::Empty);
        assert!(
            matches!(problem("abcd"), SelectorProblem::Ambiguous { candidates, .. } if candidates.len() == 5)
        );
        for query in [
            "ffff",
            "abc",
            "latest~9",
            "@~x",
            "../../x",
            "HEAD@{1}",
            ":/wave",
            "20 m ago",
            "wav",
            "chk_19700101_000201_abcd02",
        ] {
            assert!(
                matches!(problem(query), SelectorProblem::NoMatch { .. }),
                "{query}"
            );
        }
    }
}
