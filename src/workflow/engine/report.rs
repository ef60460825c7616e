//! Read-only reports on runs: status, list and log.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Code, Result};
use crate::model::difference::between;
use crate::model::json::{ChangeJson, CheckpointRef, TimeText};
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::diff::diff_side::Side;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::sync::{Imported, open_imported};
use crate::workflow::engine::observe;
use crate::workflow::engine::run_json::{self, RunRow};
use crate::workflow::engine::runs::{LostRun, Run, Runs};
use crate::workflow::engine::transact::or_conflict;
use crate::workflow::plan;
use crate::workflow::rules::advice::{self, Advice};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::observation::Observations;
use crate::workflow::rules::recover;
use crate::workflow::rules::validate::{self, ValidationReport};
use crate::workflow::rules::workflow::{Finding, Workflow};

/// Maximum number of transitions read from a log.
const LONGEST_LOG: usize = 100_000;

/// Status of one run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RunStatusAnswer")]
pub struct Status {
    #[serde(flatten)]
    pub run: Run,
    #[serde(flatten)]
    pub seen: Seen,
    #[serde(skip)]
    pub view: View,
}

/// Which part of a status is printed as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Whole,
    Next,
    /// The phases that may start side by side.
    Ready,
    Check,
    Tasks,
}

/// What was seen of a run and its files.
#[derive(Serialize, JsonSchema)]
pub struct Seen {
    pub next: Advice,
    #[serde(flatten)]
    pub report: ValidationReport,
    /// Phases that should come earlier.
    pub order: Vec<Finding>,
    /// What `workflow recover` would do.
    #[serde(rename = "recover")]
    pub repairs: Vec<String>,
    /// State files that cannot be imported.
    #[serde(rename = "troubles")]
    pub conflicts: Vec<Conflict>,
    pub drift: Option<FileDrift>,
}

impl Status {
    /// Returns what a user would be shown and asked before the run is resumed.
    pub fn detail(&self, question: &str) -> Value {
        let mut detail = serde_json::to_value(&self.seen).unwrap_or_default();
        detail["question"] = question.into();
        detail
    }
}

/// # Errors
/// There is no such run.
pub fn status(context: &Context, named: Option<&str>, view: View) -> Result<Status> {
    let Imported { store, conflicts } = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let mut status = of_run(context, run)?;
    if view == View::Whole {
        status.seen.drift = drift_of(context, &store, &status.run.workflow);
    }
    (status.seen.conflicts, status.view) = (conflicts, view);
    Ok(status)
}

/// As [`status`], for a state that is in no store.
///
/// # Errors
/// The directory cannot be opened.
pub fn of_state(context: &Context, workflow: Workflow) -> Result<Status> {
    let run = Run {
        tip: ObjectId::from_bytes([0; 20]),
        workflow,
    };
    of_run(context, run)
}

fn of_run(context: &Context, run: Run) -> Result<Status> {
    let workflow = &run.workflow;
    let observations = if context.root.exists() {
        observe::observe(context, workflow)?
    } else {
        Observations::new()
    };
    let next = if !run.is_live() && workflow.status.is_open() {
        Advice::of_archived(&workflow.id)
    } else {
        advice::advice(workflow, &observations)
    };
    let repairs = recover::repairs(workflow, &observations);
    let seen = Seen {
        next,
        report: validate::validate(workflow, &observations, context.now_ms),
        order: plan::lint(workflow),
        repairs: repairs.into_iter().map(|repair| repair.what).collect(),
        conflicts: Vec::new(),
        drift: None,
    };
    let view = View::default();
    Ok(Status { run, seen, view })
}

/// What changed since a phase began.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DriftJson")]
pub struct FileDrift {
    pub phase_id: String,
    pub checkpoint: CheckpointRef,
    pub begun_at: TimeText,
    pub changes: Vec<ChangeJson>,
}

/// Returns `None` if no phase is under way, its checkpoint is gone, or files cannot be read.
fn drift_of(context: &Context, store: &Store, workflow: &Workflow) -> Option<FileDrift> {
    let mut running = workflow.running();
    let (phase, id) = running.find_map(|phase| Some((phase, phase.before_id.as_ref()?)))?;
    let inventory = store.inventory().ok()?;
    let checkpoint = inventory.get(ObjectId::from_hex(id)?)?;
    let sides = Side::of_present(context, store, &checkpoint, &[]);
    let ([before, present], _) = sides.ok()?;
    let found = between(&before.snapshot, &present.snapshot, &[]).files;
    let changes = found.iter().map(|pair| {
        let change = match (&pair.before, &pair.after) {
            (None, _) => "added",
            (_, None) => "deleted",
            _ => "modified",
        };
        ChangeJson::new(&pair.path, change)
    });
    let begun_ms = phase.started_ms.unwrap_or(checkpoint.record.time_ms);
    Some(FileDrift {
        phase_id: phase.id.clone(),
        checkpoint: CheckpointRef::new(&checkpoint),
        begun_at: TimeText::new(begun_ms),
        changes: changes.collect(),
    })
}

fn pick(store: &Store, named: Option<&str>, conflicts: &[Conflict]) -> Result<Run> {
    let mut runs = Runs::all(store)?;
    runs.runs.retain(|run| named.is_some() || run.is_live());
    or_conflict(runs.pick(named).cloned(), named, conflicts)
}

/// All runs.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "RunListAnswer")]
pub struct Listed {
    #[serde(rename = "workflows", serialize_with = "run_json::rows")]
    #[schemars(with = "Vec<RunRow>")]
    pub runs: Vec<Run>,
    /// Number of archived runs, where none is live.
    #[serde(rename = "archived_count")]
    pub archived: usize,
    #[serde(rename = "damaged")]
    pub lost: Vec<LostRun>,
    #[serde(rename = "troubles")]
    pub conflicts: Vec<Conflict>,
}

/// # Errors
/// The refs cannot be read.
pub fn list(context: &Context, all: bool) -> Result<Listed> {
    let Imported { store, conflicts } = match open_imported(context) {
        Err(error) if error.code.exit == Code::NOTHING_FOUND.exit => return Ok(Listed::default()),
        imported => imported?,
    };
    let Runs { mut runs, lost } = Runs::all(&store)?;
    let count = runs.len();
    runs.retain(|run| all || run.is_live());
    Ok(Listed {
        archived: if runs.is_empty() { count } else { 0 },
        runs,
        lost,
        conflicts,
    })
}

/// One line of the log of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LogRow")]
pub struct Logged {
    #[serde(flatten)]
    pub event: Change,
    pub revision: String,
    pub time: TimeText,
}

/// A run and its log.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RunShowAnswer")]
pub struct Shown {
    #[serde(flatten)]
    pub run: Run,
    /// Newest first.
    pub log: Vec<Logged>,
    /// Why the log ends before the beginning, if it is damaged.
    #[serde(rename = "log_broken")]
    pub broken: Option<String>,
    #[serde(rename = "troubles")]
    pub conflicts: Vec<Conflict>,
}

/// # Errors
/// There is no such run.
pub fn show(context: &Context, named: Option<&str>, limit: Option<usize>) -> Result<Shown> {
    let Imported { store, conflicts } = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let line = store.workflow_line(run.tip, limit.unwrap_or(LONGEST_LOG));
    let log = line.transitions.iter().map(|transition| Logged {
        revision: transition.commit.to_hex(),
        time: TimeText::new(transition.time_ms),
        event: Change::read(&transition.message),
    });
    Ok(Shown {
        log: log.collect(),
        broken: line.broken,
        run,
        conflicts,
    })
}
