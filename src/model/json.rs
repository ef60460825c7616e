//! The model in JSON: one published shape for each thing, wherever an answer names it.

pub use crate::base::json::{
    JsonSchema, Serialize, Serializer, TimeText, optional_path, path, path_list, time,
};
use crate::base::text::escape_bytes;
use crate::model::{
    AgentSession, Checkpoint, CheckpointId, CheckpointKind, CheckpointTerms, DamagedCheckpoint,
    Database, Databases, Evicted, Expiry, Held, Meta, ObjectId, PathFilter, PlannedChange,
    PromptNote, Provenance, RelPath, RestorePlan, Scope, ScopePart, Verb, WhyNot,
};

/// A checkpoint, wherever one is named.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
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

    /// The first digits of its id, for text.
    pub fn short_id(&self) -> &str {
        self.short.as_deref().unwrap_or_default()
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
    pub provenance: Option<Provenance>,
}

impl CheckpointRow {
    pub fn new(checkpoint: &Checkpoint) -> Self {
        let record = &checkpoint.record;
        Self {
            checkpoint: CheckpointRef::new(checkpoint),
            alias: checkpoint.alias(),
            sequence: record.sequence,
            source: record.source.clone(),
            coverage: record.coverage.into_str(),
            pinned: checkpoint.pinned,
            file_count: record.files,
            content_bytes: record.content_bytes,
            terms: TermsJson::new(&record.terms),
            provenance: Some(record.provenance.clone()).filter(|known| known.agent.is_some()),
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

/// A path below the root, if there is one.
#[derive(Serialize, JsonSchema)]
pub struct MaybePath {
    pub path: Option<String>,
    pub path_hex: Option<String>,
}

impl MaybePath {
    pub fn new(path: Option<&RelPath>) -> Self {
        let name = path.map(PathName::new);
        Self {
            path_hex: name.as_ref().and_then(|name| name.path_hex.clone()),
            path: name.map(|name| name.path),
        }
    }
}

/// Serializes a path that may be missing as a [`MaybePath`].
pub fn maybe_path<S: Serializer>(path: &Option<RelPath>, serializer: S) -> Result<S::Ok, S::Error> {
    MaybePath::new(path.as_ref()).serialize(serializer)
}

pub fn paths<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Vec<PathName> {
    paths.into_iter().map(PathName::new).collect()
}

/// A path that differs or was changed.
#[derive(Clone, Serialize, JsonSchema)]
pub struct ChangeJson {
    #[serde(flatten)]
    pub path: PathName,
    /// What happened to it: `added`, `modified`, `deleted`, `mode`, `type`,
    /// `directory_added`, `directory_deleted`.
    pub change: &'static str,
}

impl ChangeJson {
    pub fn new(path: &RelPath, change: &'static str) -> Self {
        Self {
            path: PathName::new(path),
            change,
        }
    }

    /// Returns the sign for it in a list.
    pub fn sign(&self) -> &'static str {
        match self.change {
            "added" => "+",
            "deleted" => "-",
            _ => "~",
        }
    }

    pub fn all<'p>(
        change: &'static str,
        paths: impl IntoIterator<Item = &'p RelPath>,
    ) -> impl Iterator<Item = Self> {
        paths.into_iter().map(move |path| Self::new(path, change))
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

/// Serializes what was not captured as a list of [`PathReason`].
pub fn uncaptured<S: Serializer>(meta: &Meta, serializer: S) -> Result<S::Ok, S::Error> {
    let all = meta.uncaptured.iter();
    serializer.collect_seq(all.map(|(path, entry)| PathReason::new(path, &entry.why)))
}

/// Serializes paths with their reasons as a list of [`PathReason`].
pub fn reasons<S: Serializer>(
    paths: &[(RelPath, WhyNot)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|(path, why)| PathReason::new(path, why)))
}

/// A database: a file has a path, any other a name.
#[derive(Serialize, JsonSchema)]
pub struct DatabaseName {
    /// `file` or `named`.
    kind: &'static str,
    #[serde(flatten)]
    path: MaybePath,
    name: Option<String>,
}

impl DatabaseName {
    pub fn new(database: &Database) -> Self {
        Self {
            kind: database.into_str(),
            path: MaybePath::new(database.path()),
            name: match database {
                Database::File(_) => None,
                Database::Named(name) => Some(name.clone()),
            },
        }
    }
}

/// A database that a checkpoint holds.
#[derive(Serialize, JsonSchema)]
pub struct HeldDatabase {
    #[serde(flatten)]
    database: DatabaseName,
    /// Id of its content; null if it was not there.
    blob_id: Option<ObjectId>,
}

/// Serializes databases as a list of [`HeldDatabase`].
pub fn held<S: Serializer>(databases: &Databases, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(databases.iter().map(|(database, held)| HeldDatabase {
        database: DatabaseName::new(database),
        blob_id: match held {
            Held::Content(id) => Some(*id),
            Held::Absent => None,
        },
    }))
}

/// What a restore changes and what it leaves alone.
#[derive(Serialize, JsonSchema)]
pub struct PlanJson {
    counts: PlanCounts,
    /// Every path that was changed, or with `dry_run` would be: `added`, `modified`, `deleted`,
    /// `mode`, `directory_added`, `directory_deleted`.
    changes: Vec<ChangeJson>,
    /// Paths that stay by rule although the checkpoint lacks them.
    left_alone: Vec<PathName>,
    /// Paths that stay because they cannot be read.
    unreadable: Vec<PathReason>,
}

/// Numbers of files, and of the changes to modes and directories.
#[derive(Serialize, JsonSchema)]
struct PlanCounts {
    added: usize,
    modified: usize,
    deleted: usize,
    modes: usize,
    directories_added: usize,
    directories_deleted: usize,
    unchanged: usize,
}

impl PlanJson {
    fn new(plan: &RestorePlan) -> Self {
        let unreadable = plan.unreadable.iter();
        Self {
            counts: PlanCounts {
                added: plan.count(PlannedChange::Added),
                modified: plan.count(PlannedChange::Modified),
                deleted: plan.count(PlannedChange::Deleted),
                modes: plan.count(PlannedChange::Mode),
                directories_added: plan.count(PlannedChange::DirectoryAdded),
                directories_deleted: plan.count(PlannedChange::DirectoryDeleted),
                unchanged: plan.unchanged,
            },
            changes: plan_changes(plan),
            left_alone: paths(&plan.left_alone),
            unreadable: unreadable
                .map(|(path, why)| PathReason::new(path, why))
                .collect(),
        }
    }
}

/// Returns every path of a plan, with what is done to it.
pub fn plan_changes(plan: &RestorePlan) -> Vec<ChangeJson> {
    let changes = plan.changes().into_iter();
    changes
        .map(|(path, change)| ChangeJson::new(path, change.into_str()))
        .collect()
}

/// The patterns that limit what a command acts on.
#[derive(Serialize, JsonSchema)]
pub struct FilterJson {
    /// Patterns of `--glob`; empty for all paths.
    glob: Vec<String>,
    /// Patterns of `--exclude`.
    exclude: Vec<String>,
}

/// A session of an agent in a directory.
#[derive(Serialize, JsonSchema)]
pub struct SessionJson {
    agent_name: String,
    session: String,
    /// Whether the agent said that the session has ended.
    is_over: bool,
    prompt_count: usize,
}

impl SessionJson {
    fn new(session: &AgentSession) -> Self {
        Self {
            agent_name: session.agent.clone(),
            session: session.id.clone(),
            is_over: session.is_over,
            prompt_count: session.prompts.len(),
        }
    }
}

/// Serializes the notes of a session as [`SessionJson`].
pub fn session<S: Serializer>(notes: &AgentSession, serializer: S) -> Result<S::Ok, S::Error> {
    SessionJson::new(notes).serialize(serializer)
}

/// Serializes the notes of sessions as a list of [`SessionJson`].
pub fn sessions<S: Serializer>(notes: &[AgentSession], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(notes.iter().map(SessionJson::new))
}

/// One prompt.
#[derive(Serialize, JsonSchema)]
pub struct PromptJson {
    /// Position in the session, from 1.
    number: u32,
    /// The agent's own name of it; null if it has none.
    prompt_id: Option<String>,
    given_at: TimeText,
    /// Its first line without secrets; null if prompts are not recorded.
    line: Option<String>,
    /// The prompt before which the directory was again when this one was given; null for none.
    rewound_to: Option<u32>,
}

/// Serializes the note of a prompt as [`PromptJson`].
pub fn prompt<S: Serializer>(note: &PromptNote, serializer: S) -> Result<S::Ok, S::Error> {
    let shown = PromptJson {
        number: note.number,
        prompt_id: note.id.clone(),
        given_at: TimeText::new(note.time_ms),
        line: Some(note.line.clone()).filter(|line| !line.is_empty()),
        rewound_to: note.rewound_to,
    };
    shown.serialize(serializer)
}

/// A checkpoint that was dropped, by whatever command.
#[derive(Serialize, JsonSchema)]
pub struct Dropped {
    pub checkpoint: CheckpointRef,
    /// The policy, or `asked_for`.
    pub why: String,
}

impl Dropped {
    fn new(gone: &Evicted) -> Self {
        Self {
            checkpoint: CheckpointRef::new(&gone.checkpoint),
            why: gone.why.into_str().replace('-', "_"),
        }
    }
}

pub fn dropped(evicted: &[Evicted]) -> Vec<Dropped> {
    evicted.iter().map(Dropped::new).collect()
}

/// A checkpoint that cannot be read.
#[derive(Serialize, JsonSchema)]
pub struct DamagedRow {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    why: String,
}

/// Bits of a mode, published as octal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Octal(pub u32);

/// An answer that is one text.
#[derive(Serialize, JsonSchema)]
pub struct TextAnswer {
    pub text: String,
}

/// Publishes a type of the model in the shape of another.
macro_rules! published_as {
    ($($model:ty, $shape:ty, $make:expr;)*) => { $(
        impl $crate::model::json::Serialize for $model {
            fn serialize<S: $crate::model::json::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let make: fn(&$model) -> $shape = $make;
                make(self).serialize(serializer)
            }
        }

        impl $crate::model::json::JsonSchema for $model {
            fn inline_schema() -> bool {
                <$shape>::inline_schema()
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                <$shape>::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$shape>::json_schema(generator)
            }
        }
    )* };
}

published_as! {
    Checkpoint, CheckpointRef, CheckpointRef::new;
    RelPath, PathName, PathName::new;
    ObjectId, String, |id| id.to_hex();
    Octal, String, |mode| format!("{:04o}", mode.0);
    CheckpointTerms, TermsJson, TermsJson::new;
    Evicted, Dropped, Dropped::new;
    DamagedCheckpoint, DamagedRow, |damaged| DamagedRow {
        checkpoint: CheckpointRef::of_parts(&damaged.id, None, None),
        why: damaged.why.clone(),
    };
    Verb, &'static str, |verb| verb.into_str();
    RestorePlan, PlanJson, PlanJson::new;
    PathFilter, FilterJson, |filter| FilterJson {
        glob: patterns(filter.only.as_ref()),
        exclude: patterns(filter.except.as_ref()),
    };
    Database, DatabaseName, DatabaseName::new;
    WhyNot, String, |why| why.into_str().to_owned();
}

pub(crate) use published_as;

/// Returns the patterns of a scope as they are shown.
pub fn patterns(scope: Option<&Scope>) -> Vec<String> {
    let parts = scope.into_iter().flat_map(Scope::parts);
    parts.map(ScopePart::shown).collect()
}

/// Serializes a checkpoint as a [`CheckpointRow`].
pub fn row<S: Serializer>(found: &Option<Checkpoint>, serializer: S) -> Result<S::Ok, S::Error> {
    found.as_ref().map(CheckpointRow::new).serialize(serializer)
}

/// Returns bytes of the user as text, escaped if they are not UTF-8.
pub fn text_of(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| escape_bytes(bytes), str::to_owned)
}

/// Serializes bytes as [`text_of`] shows them.
pub fn bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text_of(bytes))
}
