//! Why a selector names no checkpoint, and what may have been meant.

use crate::base::shell_word::shell_word;
use crate::base::time::{TypedTime, age, parse_span};
use crate::model::checkpoint::record::MIN_PREFIX;
use crate::model::{Checkpoint, CheckpointKind, Line, ObjectId};

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

    /// Explains a selector other than a time that matched nothing.
    pub fn of(query: &str, line: &Line) -> Self {
        if query.starts_with("prompt:") || query.starts_with("session:") {
            return Self::NoPrompt;
        }
        other_word(query, line)
            .or_else(|| too_short(query, line))
            .or_else(|| similar_reasons(query, line))
            .unwrap_or_else(|| Self::Unknown {
                newest: newest(line),
            })
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
            None => Self::Unknown {
                newest: newest(line),
            },
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
        (0, _) => Mismatch::Unknown {
            newest: newest(line),
        },
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
