//! Resolves what a user types to name a checkpoint.

use crate::base::time::{self, TypedTime};
use crate::model::checkpoint::record::MIN_PREFIX;
use crate::model::checkpoint::{alias, baseline};
use crate::model::{Candidate, Checkpoint, Line, Mismatch};

/// Names the checkpoint at which the directory stands; what takes a selector and is given none means
/// this one.
pub const CURRENT: &str = "@";

/// Why a selector does not name exactly one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectorProblem {
    Empty,
    NoMatch {
        query: String,
        why: Mismatch,
    },
    Ambiguous {
        query: String,
        candidates: Vec<Candidate>,
    },
}

/// Finds the one checkpoint that `query` names.
///
/// Tries, in this order: `latest`, `latest~N`; `@`, `@~N`; digits of an id; an alias; an exact
/// reason (the newest with it); a time (the checkpoint of that very second in UTC, else the newest
/// at or before it).
///
/// # Errors
/// An empty query, no match, or several matches.
pub fn resolve<'c>(
    query: &str,
    line: &'c Line,
    now_ms: i64,
) -> Result<&'c Checkpoint, SelectorProblem> {
    if query.is_empty() {
        return Err(SelectorProblem::Empty);
    }
    let no_match = |why| SelectorProblem::NoMatch {
        query: query.to_owned(),
        why,
    };
    let back_from = |start| steps_back(query, start);
    if let Some(found) = back_from("latest")
        .map(|steps| latest(line, steps))
        .or_else(|| back_from(CURRENT).map(|steps| current(line, steps)))
    {
        return found.ok_or_else(|| no_match(Mismatch::of_steps(line)));
    }
    if let Some(found) = by_id(query, line)?.or_else(|| by_reason(query, line)) {
        return Ok(found);
    }
    match time::parse_time(query, now_ms) {
        Some(time) => by_time(time, line, now_ms)
            .ok_or_else(|| no_match(Mismatch::of_time(time, line, now_ms))),
        None => Err(no_match(Mismatch::of(query, line))),
    }
}

/// Returns the newest checkpoint that is neither safety nor scoped, or the one `steps` before it.
pub fn latest(line: &Line, steps: usize) -> Option<&Checkpoint> {
    line.rev().filter(|c| c.is_whole()).nth(steps)
}

/// Whether a text names a checkpoint by its place in the line or among prompts: it would never be
/// found as a reason.
pub fn is_place(text: &str) -> bool {
    let is_back_from = |start| steps_back(text, start).is_some();
    let names_prompt = |start| {
        text.strip_prefix(start)
            .is_some_and(|rest| !rest.contains(' '))
    };
    ["latest", CURRENT].into_iter().any(is_back_from)
        || ["prompt:", "session:"].into_iter().any(names_prompt)
}

/// Returns where the directory stands, or the whole checkpoint that many steps before that.
fn current(line: &Line, steps: usize) -> Option<&Checkpoint> {
    let here = baseline::position(line)?;
    let Some(steps) = steps.checked_sub(1) else {
        return Some(here);
    };
    let is_own = line.elsewhere(here.id).is_none();
    let sequence = if is_own {
        here.record.sequence
    } else {
        u64::MAX
    };
    let is_earlier = |c: &&Checkpoint| c.is_whole() && c.record.sequence < sequence;
    line.rev().filter(is_earlier).nth(steps)
}

fn steps_back(query: &str, start: &str) -> Option<usize> {
    let rest = query.strip_prefix(start)?;
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

fn by_id<'c>(query: &str, line: &'c Line) -> Result<Option<&'c Checkpoint>, SelectorProblem> {
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
    Err(SelectorProblem::Ambiguous {
        query: query.to_owned(),
        candidates: matches.into_iter().map(Candidate::of).collect(),
    })
}

fn by_reason<'c>(query: &str, line: &'c Line) -> Option<&'c Checkpoint> {
    line.rev().find(|c| c.record.reason == query)
}

/// A time as it is printed of a checkpoint means that one, also a safety or scoped one; of several
/// the newest. A time in the future means none.
fn by_time(time: TypedTime, line: &Line, now_ms: i64) -> Option<&Checkpoint> {
    let stamped = |start_ms: i64| {
        let span = start_ms..start_ms.saturating_add(time.length_ms.min(time::SECOND_MS));
        let found = line.matching(|entry| span.contains(&entry.time_ms));
        found.into_iter().max_by_key(|c| c.is_whole())
    };
    let earlier = || {
        let until = time.last_ms();
        let is_earlier = |c: &&Checkpoint| c.is_whole() && c.record.time_ms <= until;
        line.rev().find(is_earlier)
    };
    let is_future = time.start_ms > now_ms;
    let found = time.stamp_ms.and_then(stamped);
    found.or_else(|| if is_future { None } else { earlier() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::shell_word::shell_word;
    use crate::model::checkpoint::record::{CheckpointKind, Coverage, Record};
    use crate::model::checkpoint::terms::CheckpointTerms;
    use crate::model::session::provenance::Provenance;
    use crate::model::state::object_id::ObjectId;

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
            provenance: Provenance::default(),
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
        finds("@~2", 1);
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
    fn a_stamp_names_its_checkpoint_and_the_future_none() {
        finds("1970-01-01 00:02:00", 2);
        finds("1970-01-01 00:02:00 UTC", 2);
        // As printed of a safety and of a scoped checkpoint.
        finds("1970-01-01T00:04:00.000Z", 4);
        finds("1970-01-01 00:05:00", 5);
        finds("1970-01-01 00:05:01", 3);
        let line = store();
        let in_the_past = resolve("1970-01-01 00:03:00", &line, 0).unwrap();
        assert_eq!(in_the_past.record.sequence, 3, "the clock went back");
    }

    fn why(query: &str) -> Mismatch {
        match resolve(query, &store(), 600_000) {
            Err(SelectorProblem::NoMatch { why, .. }) => why,
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn what_names_nothing_is_told_apart() {
        let meant = |meant: &str| Mismatch::OtherWord {
            meant: meant.to_owned(),
        };
        for (query, expected) in [
            ("HEAD", "@"),
            ("newest", "latest"),
            ("HEAD~2", "@~2"),
            ("HEAD^", "@~1"),
            ("@^^", "@~2"),
            ("HEAD@{1}", "@~1"),
            ("latest-2", "latest~2"),
            ("@-", "@~1"),
            ("~1", "@~1"),
            ("previous", "latest~1"),
            ("first", "latest~2"),
            ("2h", &shell_word(b"2h ago")),
        ] {
            assert_eq!(why(query), meant(expected), "{query}");
        }
        for query in ["latest~9", "@^^^", "HEAD~7"] {
            assert_eq!(why(query), Mismatch::TooFar { count: 3 }, "{query}");
        }
        for (query, reasons) in [
            ("wav", &["wave"][..]),
            ("WAVE", &["wave"]),
            ("ther", &["other"]),
            ("abc", &["scoped", "pre-restore-safety", "wave"]),
        ] {
            let found = why(query);
            let found: Vec<&str> = found.candidates().iter().map(|c| &*c.reason).collect();
            assert_eq!(found, reasons, "{query}");
        }
        assert!(matches!(why("20 m ago"), Mismatch::TooOld { age, .. } if age == "9 min"));
        for query in ["1970-01-02", "1970-01-01T00:10:00.001Z"] {
            assert!(matches!(why(query), Mismatch::InFuture { .. }), "{query}");
        }
        let newest = Some(store().newest().unwrap().id);
        for query in [
            "ffff",
            "@~x",
            "../../x",
            ":/wave",
            "chk_19700101_000201_abcd02",
        ] {
            assert_eq!(why(query), Mismatch::Unknown { newest }, "{query}");
        }
    }

    #[test]
    fn several_matches_and_nothing_typed_are_told_apart() {
        let store = store();
        let problem = |query: &str| resolve(query, &store, 600_000).unwrap_err();
        assert_eq!(problem(""), SelectorProblem::Empty);
        assert!(
            matches!(problem("abcd"), SelectorProblem::Ambiguous { candidates, .. } if candidates.len() == 5)
        );
    }
}
