//! The answers of the workflow commands, as they are published.

use serde_json::Value;

use crate::model::json::{ChangeJson, CheckpointRef, Dropped, TimeText};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::workflow::run_json::{PhaseJson, RunJson};
use crate::workflow::engine::runs::LostRun;
use crate::workflow::rules::event::Event;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Task;

/// A run after a transition.
#[derive(Serialize, JsonSchema)]
pub struct RunStepAnswer {
    #[serde(flatten)]
    pub run: RunJson,
    pub event: Event,
    /// What the checkpoints of this step pushed out.
    pub dropped: Vec<Dropped>,
}

/// A phase or a task after a transition.
#[derive(Serialize, JsonSchema)]
pub struct StepAnswer {
    pub workflow: String,
    pub revision: String,
    /// Status of the run.
    pub status: String,
    pub event: Event,
    /// What the checkpoints of this step pushed out.
    pub dropped: Vec<Dropped>,
    /// The phase concerned; of a task the one that it is part of.
    pub phase: Option<PhaseJson>,
    pub task: Option<Task>,
}

/// What to do next.
#[derive(Serialize, JsonSchema)]
pub struct AdviceJson {
    pub action: &'static str,
    pub words: String,
    pub phase_id: Option<String>,
    /// The command that the words name, as words to run.
    pub command: Option<Vec<String>>,
}

/// What a check of a run found.
#[derive(Serialize, JsonSchema)]
pub struct ReportJson {
    pub valid: bool,
    pub errors: Vec<Finding>,
    pub remarks: Vec<Finding>,
}

/// A state file that cannot be imported.
#[derive(Serialize, JsonSchema)]
pub struct TroubleJson {
    pub file: String,
    pub what: String,
    pub workflow: Option<String>,
    /// What is wrong with the file, if it cannot be read as a run.
    pub findings: Option<Value>,
    /// Its content, if it cannot be read as a run.
    pub raw: Option<Value>,
    /// The run as the file and as the store have it, if both changed.
    pub in_file: Option<Value>,
    pub in_store: Option<Value>,
}

/// What changed since a phase began.
#[derive(Serialize, JsonSchema)]
pub struct DriftJson {
    pub phase_id: String,
    pub checkpoint: CheckpointRef,
    pub begun_at: TimeText,
    pub changes: Vec<ChangeJson>,
}

/// What was seen of a run.
#[derive(Serialize, JsonSchema)]
pub struct StatusParts {
    pub next: AdviceJson,
    #[serde(flatten)]
    pub report: ReportJson,
    /// What `workflow recover` would do.
    pub recover: Vec<String>,
    pub troubles: Vec<TroubleJson>,
    pub drift: Option<DriftJson>,
}

/// How a run stands.
#[derive(Serialize, JsonSchema)]
pub struct RunStatusAnswer {
    #[serde(flatten)]
    pub run: RunJson,
    #[serde(flatten)]
    pub seen: StatusParts,
}

/// What a user would be asked before a run is resumed.
#[derive(Serialize)]
pub struct Undecided {
    pub question: String,
    pub last_activity_at: TimeText,
    #[serde(flatten)]
    pub seen: StatusParts,
}

/// The next step of a run.
#[derive(Serialize, JsonSchema)]
pub struct NextAnswer {
    pub id: String,
    pub next: AdviceJson,
    #[serde(flatten)]
    pub report: ReportJson,
    pub recover: Vec<String>,
    /// Phases that may start; null without `--parallel`.
    pub ready: Option<Vec<PhaseJson>>,
}

/// All runs.
#[derive(Serialize, JsonSchema)]
pub struct RunListAnswer {
    pub workflows: Vec<RunRow>,
    pub damaged: Vec<LostRun>,
    pub troubles: Vec<TroubleJson>,
}

/// A run as a row of a list.
#[derive(Serialize, JsonSchema)]
pub struct RunRow {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub description: String,
    pub status: String,
    pub is_archived: bool,
    pub created_at: TimeText,
    pub updated_at: TimeText,
    pub current: Option<String>,
    pub phase_count: usize,
    pub completed_count: usize,
    pub percent: usize,
    pub revision: String,
}

/// A run and its log.
#[derive(Serialize, JsonSchema)]
pub struct RunShowAnswer {
    #[serde(flatten)]
    pub run: RunJson,
    /// Newest first.
    pub log: Vec<LogRow>,
    /// Why the log ends early.
    pub log_broken: Option<String>,
    pub troubles: Vec<TroubleJson>,
}

/// A transition.
#[derive(Serialize, JsonSchema)]
pub struct LogRow {
    #[serde(flatten)]
    pub event: Event,
    pub revision: String,
    pub time: TimeText,
}

/// What a check of a run found.
#[derive(Serialize, JsonSchema)]
pub struct CheckAnswer {
    pub id: String,
    #[serde(flatten)]
    pub seen: StatusParts,
    /// Phases that should come earlier.
    pub order: Vec<Finding>,
}

/// A run that was resumed.
#[derive(Serialize, JsonSchema)]
pub struct ResumeAnswer {
    #[serde(flatten)]
    pub run: RunJson,
    /// What was decided: `resumed`, `abandoned` and so on.
    pub done: &'static str,
    #[serde(flatten)]
    pub report: ReportJson,
    pub drift: Option<DriftJson>,
    pub last_activity_at: TimeText,
    /// What was put right first.
    pub recovered: Vec<String>,
    pub next: AdviceJson,
}

/// What `workflow recover` put right: a run, or with `file` a state file.
#[derive(Serialize, JsonSchema)]
pub struct RecoverAnswer {
    pub run: Option<RunJson>,
    pub recovered: Vec<String>,
    pub dry_run: bool,
    pub file: Option<String>,
    pub put_aside: Option<String>,
    pub started: Option<String>,
}

/// A run that was taken back.
#[derive(Serialize, JsonSchema)]
pub struct RewindAnswer {
    #[serde(flatten)]
    pub run: RunJson,
    pub to_phase_id: String,
    pub dry_run: bool,
    pub state_rewound: bool,
    /// What was done to the files; null if they were not taken back.
    pub rewound: Option<RewoundFiles>,
}

/// What a rewind did to the files.
#[derive(Serialize, JsonSchema)]
pub struct RewoundFiles {
    pub restored_from: CheckpointRef,
    pub safety: Option<CheckpointRef>,
    pub changes: Vec<ChangeJson>,
}

/// A document of a run, as another program reads it.
#[derive(Serialize, JsonSchema)]
pub struct DocumentAnswer {
    pub document: Value,
    pub troubles: Vec<TroubleJson>,
}

/// The tasks of a run.
#[derive(Serialize, JsonSchema)]
pub struct TaskListAnswer {
    pub id: String,
    pub tasks: Vec<Task>,
    pub troubles: Vec<TroubleJson>,
}
