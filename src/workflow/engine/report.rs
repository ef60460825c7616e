//! Read-only reports on runs: status, list, log and what changed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::json;
use crate::base::json::differences::{ValueDifference, differences};
use crate::error::{Code, Error, Result};
use crate::model::difference::between;
use crate::model::json::TimeText;
use crate::model::{ChangeJson, CheckpointRef, ObjectId, Pair};
use crate::ops::{Context, Side};
use crate::store::Store;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::runs::LostRun;
use crate::workflow::engine::transact::{open_imported, or_conflict};
use crate::workflow::rules::advice::{self, Advice};
use crate::workflow::rules::validate::{self, ValidationReport};
use crate::workflow::words::absent;
use crate::workflow::{Change, Conflict, Finding, Run, Runs, Workflow, plan};

/// Maximum number of transitions read from a log.
const LONGEST_LOG: usize = 100_000;

/// Status of one run.
#[derive(Serialize, JsonSchema)]
pub struct Status {
    #[serde(flatten)]
    pub run: Run,
    #[serde(flatten)]
    pub seen: Seen,
    #[serde(skip)]
    pub view: View,
}

/// Which part of a status is printed as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
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
    pub recover: Vec<String>,
    /// State files that cannot be imported.
    pub troubles: Vec<Conflict>,
    pub drift: Option<DriftJson>,
}

/// # Errors
/// There is no such run.
pub fn status(context: &Context, named: Option<&str>, view: View) -> Result<Status> {
    let (store, conflicts) = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let mut status = of_run(context, run)?;
    if view == View::Whole {
        status.seen.drift = drift_of(context, &store, &status.run.workflow);
    }
    (status.seen.troubles, status.view) = (conflicts, view);
    Ok(status)
}

/// As [`status`], of a run that is known, whatever its files are.
///
/// # Errors
/// The directory cannot be opened.
pub fn of_run(context: &Context, run: Run) -> Result<Status> {
    let workflow = &run.workflow;
    let observations = observe(context, workflow)?;
    let repairs = advice::repairs(workflow, &observations);
    let seen = Seen {
        next: advice::advice(workflow, &observations),
        report: validate::validate(workflow, &observations, context.now_ms),
        order: plan::lint(workflow),
        recover: repairs.into_iter().map(|repair| repair.what).collect(),
        troubles: Vec::new(),
        drift: None,
    };
    Ok(Status {
        run,
        seen,
        view: View::Whole,
    })
}

/// What changed since a phase began.
#[derive(Serialize, JsonSchema)]
pub struct DriftJson {
    pub phase_id: String,
    pub checkpoint: CheckpointRef,
    pub begun_at: TimeText,
    pub changes: Vec<ChangeJson>,
}

/// Returns `None` if no phase is under way, its checkpoint is gone, or files cannot be read.
fn drift_of(context: &Context, store: &Store, workflow: &Workflow) -> Option<DriftJson> {
    let mut running = workflow.running();
    let (phase, id) = running.find_map(|phase| Some((phase, phase.before_id.as_ref()?)))?;
    let inventory = store.inventory().ok()?;
    let checkpoint = inventory.get(ObjectId::from_hex(id)?)?;
    let sides = Side::of_present(context, store, checkpoint, &[]);
    let ([before, present], _) = sides.ok()?;
    let found = between(&before.snapshot, &present.snapshot, &[]).files;
    let change = |pair: &Pair| ChangeJson::new(&pair.path, pair.change().into());
    let begun_ms = phase.started_ms.unwrap_or(checkpoint.record.time_ms);
    Some(DriftJson {
        phase_id: phase.id.clone(),
        checkpoint: CheckpointRef::new(checkpoint),
        begun_at: TimeText::new(begun_ms),
        changes: found.iter().map(change).collect(),
    })
}

fn pick(store: &Store, named: Option<&str>, conflicts: &[Conflict]) -> Result<Run> {
    let picked = match named {
        None => Runs::pick_live(store, None),
        named => Runs::all(store)?.pick(named).cloned(),
    };
    or_conflict(picked, named, conflicts)
}

/// All runs.
#[derive(Default, Serialize, JsonSchema)]
pub struct Listed {
    pub workflows: Vec<Run>,
    /// Number of archived runs, where none is live.
    pub archived_count: usize,
    pub damaged: Vec<LostRun>,
    pub troubles: Vec<Conflict>,
}

/// # Errors
/// The refs cannot be read.
pub fn list(context: &Context, all: bool) -> Result<Listed> {
    let (store, conflicts) = match open_imported(context) {
        Err(error) if error.code.exit == Code::NOTHING_FOUND.exit => return Ok(Listed::default()),
        imported => imported?,
    };
    let Runs { mut runs, lost } = Runs::all(&store)?;
    let count = runs.len();
    runs.retain(|run| all || run.is_live());
    Ok(Listed {
        archived_count: if runs.is_empty() { count } else { 0 },
        workflows: runs,
        damaged: lost,
        troubles: conflicts,
    })
}

/// One line of the log of a run.
#[derive(Serialize, JsonSchema)]
pub struct LogRow {
    #[serde(flatten)]
    pub event: Change,
    pub revision: String,
    pub time: TimeText,
}

/// A run and its log.
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    #[serde(flatten)]
    pub run: Run,
    /// Newest first.
    pub log: Vec<LogRow>,
    /// Why the log ends before the beginning, if it is damaged.
    pub log_broken: Option<String>,
    pub troubles: Vec<Conflict>,
}

/// # Errors
/// There is no such run.
pub fn show(context: &Context, named: Option<&str>, limit: Option<usize>) -> Result<Shown> {
    let (store, conflicts) = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let line = store.workflow_line(run.tip, limit.unwrap_or(LONGEST_LOG));
    let log = line.transitions.iter().map(|transition| LogRow {
        revision: transition.commit.to_hex(),
        time: TimeText::new(transition.time_ms),
        event: Change::read(&transition.message),
    });
    Ok(Shown {
        log: log.collect(),
        log_broken: line.broken,
        run,
        troubles: conflicts,
    })
}

/// What changed in a run between two of its revisions.
#[derive(Serialize, JsonSchema)]
pub struct ComparedRun {
    pub id: String,
    pub from_revision: String,
    pub to_revision: String,
    pub differences: Vec<ValueDifference>,
}

/// Compares two states of a run, named by the beginnings of their revisions; `@` is the newest, `@~1`
/// the one before.
///
/// # Errors
/// No run has both of them, or one is damaged.
pub fn compare(context: &Context, from: &str, to: &str) -> Result<ComparedRun> {
    let store = open_imported(context)?.0;
    let find = |run: &Run, named: &str| {
        let line = store.workflow_line(run.tip, LONGEST_LOG).transitions;
        let mut ids = line.iter().map(|one| one.commit);
        match named.strip_prefix('@') {
            Some("") => ids.next(),
            Some(back) => ids.nth(back.strip_prefix('~')?.parse().ok()?),
            None => ids.find(|id| id.to_hex().starts_with(named)),
        }
    };
    let mut all = Runs::all(&store)?.runs;
    // Where neither names a run, it is the one that is meant without a name.
    if from.starts_with('@') && to.starts_with('@') {
        all.truncate(1);
    }
    let both = |run: &Run| find(run, from).zip(find(run, to));
    let found = all.iter().find_map(|run| Some((run, both(run)?)));
    let (run, (from, to)) = found.ok_or_else(|| {
        let is_unknown = |named: &&str| all.iter().all(|run| find(run, named).is_none());
        let unknown = [from, to].into_iter().find(is_unknown);
        let which = unknown.map_or("both revisions".into(), |one| format!("the revision {one}"));
        let what = format!("no workflow has {which}");
        absent("no_such_revision", what).advise("'checkpoint workflow show' lists those of a run")
    })?;
    // What the state repeats, and what every transition changes.
    let state = |revision| {
        let mut workflow = run.at(&store, revision)?.workflow;
        (workflow.documents, workflow.updated_ms) = Default::default();
        Ok::<_, Error>(json::value(&workflow).unwrap_or_default())
    };
    Ok(ComparedRun {
        id: run.workflow.named().to_owned(),
        from_revision: from.to_hex(),
        to_revision: to.to_hex(),
        differences: differences(&state(from)?, &state(to)?),
    })
}
