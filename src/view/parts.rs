//! Parts that the answers of several commands share: one shape for each thing.

pub use crate::base::time::json::TimeText;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::{Checkpoint, CheckpointId, CheckpointKind};
use crate::model::checkpoint::retention::Evicted;
use crate::model::checkpoint::terms::{CheckpointTerms, Expiry};
use crate::model::difference::ChangeCounts;
use crate::model::session::provenance::Provenance;
use crate::model::state::entry::WhyNot;
use crate::model::state::meta::Meta;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::ScopePart;
use crate::ops::capture::left_out::LeftOut;
use crate::view::document::{JsonSchema, Serialize};

/// A checkpoint, wherever one is named.
#[derive(Clone, Serialize, JsonSchema)]
pub struct CheckpointRef {
    /// All known digits; null if there is no checkpoint.
    pub id: Option<String>,
    /// The first eight digits.
    pub short: Option<String>,
    /// Why it was made; null if it cannot be read.
    pub reason: Option<String>,
    pub time: Option<TimeText>,
    /// `checkpoint` or `safety`.
    pub kind: Option<&'static str>,
}

impl CheckpointRef {
    pub fn new(checkpoint: &Checkpoint) -> Self {
        let record = &checkpoint.record;
        let made = Some((record.time_ms, record.kind));
        Self::of_parts(&checkpoint.id.into(), Some(&record.reason), made)
    }

    pub fn of_parts(
        id: &CheckpointId,
        reason: Option<&str>,
        made: Option<(i64, CheckpointKind)>,
    ) -> Self {
        Self {
            id: Some(id.digits()),
            short: Some(id.short()),
            reason: reason.map(str::to_owned),
            time: made.map(|(time_ms, _)| TimeText::new(time_ms)),
            kind: made.map(|(_, kind)| kind.into_str()),
        }
    }

    /// Returns a reference to a checkpoint that may be gone.
    pub fn of_id(id: ObjectId, found: Option<&Checkpoint>) -> Self {
        found.map_or_else(|| Self::of_parts(&id.into(), None, None), Self::new)
    }

    /// Returns the reference of an answer without a checkpoint.
    pub fn none() -> Self {
        Self {
            id: None,
            short: None,
            reason: None,
            time: None,
            kind: None,
        }
    }
}

/// A checkpoint as a row of a list.
#[derive(Serialize, JsonSchema)]
pub struct CheckpointRow {
    #[serde(flatten)]
    pub checkpoint: CheckpointRef,
    /// Readable id, as contracts name it.
    pub alias: String,
    /// Position in the order of all checkpoints of the store.
    pub sequence: u64,
    pub source: String,
    /// `complete`, `partial` or `scoped`.
    pub coverage: &'static str,
    pub pinned: bool,
    /// Number of files that it holds.
    pub file_count: u64,
    /// Size of these files.
    pub content_bytes: u64,
    #[serde(flatten)]
    pub terms: TermsJson,
    /// The agent in whose session it was made; null if none is known.
    pub provenance: Option<ProvenanceJson>,
}

/// An agent and its session, and what led to the checkpoint there.
#[derive(Serialize, JsonSchema)]
pub struct ProvenanceJson {
    agent_name: String,
    session: Option<String>,
    /// The agent's name of the prompt, or `#` and its number in the session.
    prompt_id: Option<String>,
    tool_name: Option<String>,
    tool_use_id: Option<String>,
    /// The agent's name of the subagent in which it was made.
    agent_id: Option<String>,
    /// Such as `prompt` or `pre-tool`, before which it was made, or `turn-end`.
    moment: Option<&'static str>,
}

impl ProvenanceJson {
    fn new(provenance: &Provenance) -> Option<Self> {
        Some(Self {
            agent_name: provenance.agent.clone()?,
            session: provenance.session.clone(),
            prompt_id: provenance.prompt.clone(),
            tool_name: provenance.tool.clone(),
            tool_use_id: provenance.tool_use.clone(),
            agent_id: provenance.agent_id.clone(),
            moment: provenance.event.map(|event| event.into_str()),
        })
    }
}

impl CheckpointRow {
    pub fn new(checkpoint: &Checkpoint) -> Self {
        let record = &checkpoint.record;
        Self {
            checkpoint: CheckpointRef::new(checkpoint),
            alias: alias::of(checkpoint),
            sequence: record.sequence,
            source: record.source.clone(),
            coverage: record.coverage.into_str(),
            pinned: checkpoint.pinned,
            file_count: record.files,
            content_bytes: record.content_bytes,
            terms: TermsJson::new(&record.terms),
            provenance: ProvenanceJson::new(&record.provenance),
        }
    }
}

/// Terms under which a checkpoint was made.
#[derive(Default, Serialize, JsonSchema)]
pub struct TermsJson {
    /// The paths and patterns that it is limited to; null if it is of the whole directory.
    pub scope: Option<Vec<String>>,
    /// How it was taken, as `--type` names it; null if none was named.
    #[serde(rename = "type")]
    pub checkpoint_type: Option<&'static str>,
    /// When it may be dropped; null if no time was set.
    pub expires_at: Option<TimeText>,
    /// Whether it was made to stay for ever.
    pub never_expires: bool,
}

impl TermsJson {
    pub fn new(terms: &CheckpointTerms) -> Self {
        let scope = terms.scope.as_ref();
        Self {
            scope: scope.map(|scope| scope.parts().iter().map(ScopePart::shown).collect()),
            checkpoint_type: terms.checkpoint_type.map(|found| found.into_str()),
            expires_at: match terms.expiry {
                Some(Expiry::At(end_ms)) => Some(TimeText::new(end_ms)),
                _ => None,
            },
            never_expires: terms.expiry == Some(Expiry::Never),
        }
    }
}

/// A path below the root.
#[derive(Clone, Serialize, JsonSchema)]
pub struct PathName {
    /// As text; escaped if it is not UTF-8. `.` is the root.
    pub path: String,
    /// Its bytes as hex digits, if it is not UTF-8.
    pub path_hex: Option<String>,
}

impl PathName {
    pub fn new(path: &RelPath) -> Self {
        let text = path.as_utf8();
        Self {
            path: match text {
                Some("") => ".".to_owned(),
                Some(text) => text.to_owned(),
                None => path.to_string(),
            },
            path_hex: text.is_none().then(|| path.to_hex()),
        }
    }
}

pub fn paths<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Vec<PathName> {
    paths.into_iter().map(PathName::new).collect()
}

/// A path that differs or was changed.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ChangeJson {
    #[serde(flatten)]
    pub path: PathName,
    /// What happened to it: `added`, `changed` (`written` by a restore), `deleted`, `mode`, `type`,
    /// `directory_added`, `directory_deleted`, `not_captured`.
    pub change: &'static str,
}

impl ChangeJson {
    pub fn new(path: &RelPath, change: &'static str) -> Self {
        Self {
            path: PathName::new(path),
            change,
        }
    }

    pub fn all<'p>(
        change: &'static str,
        paths: impl IntoIterator<Item = &'p RelPath>,
    ) -> impl Iterator<Item = Self> {
        paths.into_iter().map(move |path| Self::new(path, change))
    }
}

/// Numbers of files that changed.
#[derive(Serialize, JsonSchema)]
pub struct ChangeCountsJson {
    pub added: usize,
    pub changed: usize,
    pub deleted: usize,
}

impl From<ChangeCounts> for ChangeCountsJson {
    fn from(counts: ChangeCounts) -> Self {
        let ChangeCounts {
            added,
            changed,
            deleted,
        } = counts;
        Self {
            added,
            changed,
            deleted,
        }
    }
}

/// A path with the reason why it was not treated as the others.
#[derive(Serialize, JsonSchema)]
pub struct PathReason {
    #[serde(flatten)]
    pub path: PathName,
    pub why: String,
    /// The message of the system, if there is one.
    pub detail: Option<String>,
}

impl PathReason {
    pub fn new(path: &RelPath, why: &WhyNot) -> Self {
        Self {
            path: PathName::new(path),
            why: why.into_str().to_owned(),
            detail: match why {
                WhyNot::Unreadable(text) => Some(text.clone()),
                _ => None,
            },
        }
    }

    pub fn plain(path: &RelPath, why: impl Into<String>) -> Self {
        Self {
            path: PathName::new(path),
            why: why.into(),
            detail: None,
        }
    }
}

pub fn uncaptured(meta: &Meta) -> Vec<PathReason> {
    let all = meta.uncaptured.iter();
    all.map(|(path, entry)| PathReason::new(path, &entry.why))
        .collect()
}

/// A checkpoint that was dropped, by whatever command.
#[derive(Serialize, JsonSchema)]
pub struct Dropped {
    pub checkpoint: CheckpointRef,
    /// The policy, or `asked_for`.
    pub why: String,
}

pub fn dropped(evicted: &[Evicted]) -> Vec<Dropped> {
    let dropped = |gone: &Evicted| Dropped {
        checkpoint: CheckpointRef::new(&gone.checkpoint),
        why: gone.why.into_str().replace('-', "_"),
    };
    evicted.iter().map(dropped).collect()
}

/// What the rules left out.
#[derive(Serialize, JsonSchema)]
pub struct LeftOutJson {
    pub directories: Vec<PathName>,
    /// Number of single files.
    pub file_count: usize,
    /// These files; null unless `status -v` asks for them.
    pub files: Option<Vec<PathName>>,
    pub secrets: Vec<PathName>,
    pub by_rule: Vec<RuleCount>,
}

/// How many paths a rule left out.
#[derive(Serialize, JsonSchema)]
pub struct RuleCount {
    pub rule: String,
    pub count: u64,
}

impl LeftOutJson {
    pub fn new(left_out: &LeftOut, has_files: bool) -> Self {
        let rule = |(rule, count): (&String, &u64)| RuleCount {
            rule: rule.clone(),
            count: *count,
        };
        Self {
            directories: paths(&left_out.directories),
            file_count: left_out.files.len(),
            files: has_files.then(|| paths(&left_out.files)),
            secrets: paths(&left_out.secrets),
            by_rule: left_out.by_rule.iter().map(rule).collect(),
        }
    }
}

/// An answer that is one text.
#[derive(Serialize, JsonSchema)]
pub struct TextAnswer {
    pub text: String,
}
