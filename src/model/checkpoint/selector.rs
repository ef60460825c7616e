//! Resolves what a user types to name a checkpoint, or tells why it names none and what may have been
//! meant.

use crate::base::shell_word::shell_word;
use crate::base::time::{self, TypedTime, age, parse_span};
use crate::model::checkpoint::record::{MIN_PREFIX, alias_of, is_alias};
use crate::model::{Checkpoint, CheckpointKind, Line, ObjectId};

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
    let here = line.position()?;
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
    let mut matches = if is_alias(query) {
        line.matching(|c| alias_of(c.time_ms, c.id).eq_ignore_ascii_case(query))
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

/// Maximum number of checkpoints suggested.
const MOST_SUGGESTED: usize = 3;

/// A checkpoint that a selector could have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: ObjectId,
    pub reason: String,
    /// Time in milliseconds since 1970, and kind; `None` if it is damaged.
    pub made: Option<(i64, CheckpointKind)>,
}

impl Candidate {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            id: checkpoint.id,
            reason: checkpoint.record.reason.clone(),
            made: Some((checkpoint.record.time_ms, checkpoint.record.kind)),
        }
    }
}

/// Why a selector names no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Nothing resembles it; `newest` is the newest checkpoint that is no safety checkpoint.
    Unknown { newest: Option<ObjectId> },
    /// As `Unknown`, where a path could be meant too.
    NorPath { newest: Option<ObjectId> },
    /// Fewer digits than an id needs, of these checkpoints.
    TooShort { candidates: Vec<Candidate> },
    /// A word of other tools; `meant` is ours, as typed in a shell.
    OtherWord { meant: String },
    /// More steps back than there are checkpoints.
    TooFar { count: usize },
    /// Steps back, where all checkpoints are scoped.
    AllScoped { newest: ObjectId },
    /// A time before all checkpoints.
    TooOld { oldest: ObjectId, age: String },
    /// A prompt or session of an agent that is not known here.
    NoPrompt,
    /// A session of an agent whose first checkpoint is gone; `oldest` is what is left of it.
    FirstGone { oldest: ObjectId },
    /// A time that has not come yet.
    InFuture { newest: Option<ObjectId> },
    /// Nothing of a remote resembles it.
    OfRemote { name: String },
    /// Nothing was fetched from the remote.
    NotFetched { name: String },
    /// A part of reasons, or one in other letters; the newest checkpoint of each.
    Reasons { candidates: Vec<Candidate> },
}

impl Mismatch {
    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Self::TooShort { candidates } | Self::Reasons { candidates } => candidates,
            _ => &[],
        }
    }

    /// As it is where a path could be meant too.
    #[must_use]
    pub fn or_path(self) -> Self {
        match self {
            Self::Unknown { newest } => Self::NorPath { newest },
            other => other,
        }
    }

    fn unknown(line: &Line) -> Self {
        let newest = newest(line);
        Self::Unknown { newest }
    }

    /// Explains a selector other than a time that matched nothing.
    pub fn of(query: &str, line: &Line) -> Self {
        if query.starts_with("prompt:") || query.starts_with("session:") {
            return Self::NoPrompt;
        }
        other_word(query, line)
            .or_else(|| too_short(query, line))
            .or_else(|| similar_reasons(query, line))
            .unwrap_or_else(|| Self::unknown(line))
    }

    /// Explains a time that no checkpoint has.
    pub fn of_time(time: TypedTime, line: &Line, now_ms: i64) -> Self {
        if time.start_ms > now_ms {
            return Self::InFuture {
                newest: newest(line),
            };
        }
        match line.iter().find(|c| c.is_whole()) {
            Some(oldest) => Self::TooOld {
                oldest: oldest.id,
                age: age(oldest.record.time_ms, now_ms),
            },
            None => Self::unknown(line),
        }
    }

    /// Explains steps back that lead beyond the oldest checkpoint.
    pub fn of_steps(line: &Line) -> Self {
        match line.rev().filter(|c| c.is_whole()).count() {
            0 => newest(line).map_or(Self::Unknown { newest: None }, |newest| Self::AllScoped {
                newest,
            }),
            count => Self::TooFar { count },
        }
    }
}

fn newest(line: &Line) -> Option<ObjectId> {
    let regular = line.rev().find(|c| !c.is_safety());
    regular.map(|checkpoint| checkpoint.id)
}

/// Recognizes words and marks by which git and jj name commits, and durations.
fn other_word(query: &str, line: &Line) -> Option<Mismatch> {
    let word = query.to_ascii_lowercase();
    let steps = match word.as_str() {
        "head" | "last" | "newest" | "current" | "tip" => 0,
        "previous" | "prev" => 1,
        "first" | "oldest" => line.rev().filter(|c| c.is_whole()).count().checked_sub(1)?,
        _ if parse_span(&word).is_some() => {
            let meant = shell_word(format!("{} ago", query.trim()).as_bytes());
            return Some(Mismatch::OtherWord { meant });
        }
        _ => git_steps(&word)?,
    };
    let count = line.rev().filter(|c| c.is_whole()).count();
    let is_of_position = word.starts_with(['h', 'c', '@', '~', '^', '-', '{']);
    let start = if is_of_position { "@" } else { "latest" };
    Some(match (count, steps) {
        (0, _) => Mismatch::unknown(line),
        (count, steps) if steps >= count => Mismatch::TooFar { count },
        (_, 0) => Mismatch::OtherWord {
            meant: start.to_owned(),
        },
        (_, steps) => Mismatch::OtherWord {
            meant: format!("{start}~{steps}"),
        },
    })
}

/// Reads `HEAD~2`, `@^^`, `latest^`, `@{1}`, `@-` and `~1`.
fn git_steps(word: &str) -> Option<usize> {
    let rest = ["head", "latest", ""]
        .iter()
        .find_map(|start| word.strip_prefix(start))?;
    let rest = rest.strip_prefix('@').unwrap_or(rest);
    if !rest.starts_with(['~', '^', '-', '{']) {
        return None;
    }
    if rest.bytes().all(|byte| matches!(byte, b'^' | b'~')) {
        return Some(rest.len());
    }
    match rest.trim_matches(['~', '^', '-', '{', '}']) {
        "" => Some(1),
        digits => digits.parse().ok(),
    }
}

fn too_short(query: &str, line: &Line) -> Option<Mismatch> {
    let is_short = query.len() < MIN_PREFIX && query.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_short {
        return None;
    }
    let begins = |c: &Checkpoint| c.id.to_hex().starts_with(&query.to_ascii_lowercase());
    let found = line.rev().filter(|c| begins(c)).take(MOST_SUGGESTED);
    let candidates: Vec<Candidate> = found.map(Candidate::of).collect();
    (!candidates.is_empty()).then_some(Mismatch::TooShort { candidates })
}

/// Finds reasons that begin with the query, else those that contain it, in any case.
fn similar_reasons(query: &str, line: &Line) -> Option<Mismatch> {
    let wanted = query.trim().to_lowercase();
    let (mut beginning, mut containing): (Vec<Candidate>, Vec<Candidate>) = Default::default();
    for checkpoint in line.rev().filter(|c| !c.is_safety()) {
        let reason = checkpoint.record.reason.to_lowercase();
        let similar = if reason.starts_with(&wanted) {
            &mut beginning
        } else if wanted.chars().nth(1).is_some() && reason.contains(&wanted) {
            &mut containing
        } else {
            continue;
        };
        if similar.iter().all(|c| c.reason != checkpoint.record.reason) {
            similar.push(Candidate::of(checkpoint));
        }
    }
    let mut candidates = if beginning.is_empty() {
        containing
    } else {
        beginning
    };
    candidates.truncate(MOST_SUGGESTED);
    (!candidates.is_empty() && !wanted.is_empty()).then_some(Mismatch::Reasons { candidates })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::shell_word::shell_word;
    use crate::base::tests::rows;
    use crate::model::tests::checkpoint;
    use crate::model::{CheckpointKind, Coverage};

    const TABLES: &str = include_str!("tests/selector.json");

    /// The checkpoints `abcd01…` to `abcd05…`, one a minute; the last two are a safety checkpoint
    /// and a scoped one.
    fn store() -> Line {
        let made = |(number, reason): (u8, &str)| {
            let mut made = checkpoint(number);
            let mut id = [0; 20];
            id[..3].copy_from_slice(&[0xab, 0xcd, number]);
            made.id = ObjectId::from_bytes(id);
            made.record.time_ms = 60_000 * i64::from(number);
            made.record.reason = reason.to_owned();
            match number {
                4 => made.record.kind = CheckpointKind::Safety,
                5 => made.record.coverage = Coverage::Scoped,
                _ => {}
            }
            made
        };
        let reasons = ["wave", "other", "wave", "pre-restore-safety", "scoped"];
        Line::from((1..).zip(reasons).map(made).collect::<Vec<_>>())
    }

    #[track_caller]
    fn each_finds_its_checkpoint(table: &str) {
        let store = store();
        for (query, sequence) in rows::<(&str, u64)>(TABLES, table) {
            let found = resolve(query, &store, 600_000).unwrap();
            assert_eq!(found.record.sequence, sequence, "{query}");
        }
    }

    #[test]
    fn every_form_of_a_selector_finds_its_checkpoint() {
        each_finds_its_checkpoint("found");
    }

    #[test]
    fn a_stamp_names_its_checkpoint_and_the_future_none() {
        each_finds_its_checkpoint("stamps");
        let line = store();
        let in_the_past = resolve("1970-01-01 00:03:00", &line, 0).unwrap();
        assert_eq!(in_the_past.record.sequence, 3, "the clock went back");
    }

    fn why(query: &str) -> String {
        let newest = store().newest().map(|newest| newest.id);
        match resolve(query, &store(), 600_000) {
            Err(SelectorProblem::NoMatch { why, .. }) => match why {
                Mismatch::OtherWord { meant } => format!("{meant} is meant"),
                Mismatch::TooFar { count } => format!("only {count}"),
                Mismatch::TooOld { age, .. } => format!("older than {age}"),
                Mismatch::InFuture { .. } => "in the future".to_owned(),
                Mismatch::Unknown { newest: told } if told == newest => "unknown".to_owned(),
                near => {
                    let reasons = near.candidates().iter().map(|one| &*one.reason);
                    format!("near {}", reasons.collect::<Vec<_>>().join(", "))
                }
            },
            Err(SelectorProblem::Ambiguous { candidates, .. }) => {
                format!("one of {}", candidates.len())
            }
            Err(SelectorProblem::Empty) => "empty".to_owned(),
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn what_names_nothing_is_told_apart() {
        for (query, expected) in rows::<(&str, &str)>(TABLES, "missed") {
            assert_eq!(why(query), expected, "{query}");
        }
        assert_eq!(why("2h"), format!("{} is meant", shell_word(b"2h ago")));
    }
}
