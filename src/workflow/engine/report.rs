//! Read-only reports on runs: status, list and log.

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::workflow::documents::drift::{self, FileDrift};
use crate::workflow::documents::import_edits::{self, Conflict, Imported};
use crate::workflow::engine::observe;
use crate::workflow::engine::runs::{LostRun, Run, Runs};
use crate::workflow::plan;
use crate::workflow::rules::advice::{self, Advice};
use crate::workflow::rules::event::Event;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::observation::Observations;
use crate::workflow::rules::recover::{self, Repair};
use crate::workflow::rules::validate::{self, ValidationReport};
use crate::workflow::rules::workflow::Workflow;

/// Maximum number of transitions read from a log.
const LONGEST_LOG: usize = 100_000;

/// Status of one run.
#[derive(Debug)]
pub struct Status {
    pub run: Run,
    pub advice: Advice,
    pub report: ValidationReport,
    pub repairs: Vec<Repair>,
    pub conflicts: Vec<Conflict>,
    pub drift: Option<FileDrift>,
    pub warnings: Vec<Warning>,
}

/// # Errors
/// There is no such run.
pub fn status(context: &Context, named: Option<&str>, with_drift: bool) -> Result<Status> {
    let Imported {
        store,
        conflicts,
        warnings,
    } = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let (report, observations) = validated(context, &run.workflow)?;
    let advice = match &run.archived_as {
        Some(name) if run.workflow.status.is_open() => advice::of_archived(name),
        _ => advice::advice(&run.workflow, &observations),
    };
    Ok(Status {
        advice,
        repairs: recover::repairs(&run.workflow, &observations),
        drift: if with_drift {
            drift::drift(context, &store, &run.workflow)?
        } else {
            None
        },
        report,
        run,
        conflicts,
        warnings,
    })
}

/// As [`status`], for a state that is in no store.
///
/// # Errors
/// The directory cannot be opened.
pub fn of_state(context: &Context, workflow: Workflow) -> Result<Status> {
    let (report, observations) = validated(context, &workflow)?;
    Ok(Status {
        advice: advice::advice(&workflow, &observations),
        repairs: recover::repairs(&workflow, &observations),
        drift: None,
        report,
        run: Run {
            tip: ObjectId::from_bytes([0; 20]),
            archived_as: None,
            workflow,
        },
        conflicts: Vec::new(),
        warnings: Vec::new(),
    })
}

/// Opens the store, with all edits by hand imported.
///
/// # Errors
/// There is no store.
pub fn open_imported(context: &Context) -> Result<Imported> {
    match import_edits::open_imported(context)? {
        Some(imported) => Ok(imported),
        None => Err(import_edits::no_workflow(context)),
    }
}

/// Picks the run. Without a name, an unreadable file is an error, because its run may be meant.
fn pick(store: &Store, named: Option<&str>, conflicts: &[Conflict]) -> Result<Run> {
    let runs = if named.is_some() {
        Runs::all(store)?
    } else {
        Runs::live(store)?
    };
    match (runs.pick(named), conflicts.first()) {
        (Ok(run), _) => Ok(run.clone()),
        (Err(_), Some(conflict)) if named.is_none() => Err(conflict.problem(None)),
        (Err(error), _) => Err(error),
    }
}

/// Validates a run against its files on disk.
///
/// # Errors
/// The directory cannot be opened.
pub fn validated(
    context: &Context,
    workflow: &Workflow,
) -> Result<(ValidationReport, Observations)> {
    let observations = if context.root.exists() {
        observe::observe(context, workflow)?
    } else {
        Observations::new()
    };
    Ok((
        validate::validate(workflow, &observations, context.now_ms),
        observations,
    ))
}

#[derive(Debug, Default)]
pub struct Listed {
    pub runs: Vec<Run>,
    pub lost: Vec<LostRun>,
    pub conflicts: Vec<Conflict>,
    pub warnings: Vec<Warning>,
}

/// # Errors
/// The refs cannot be read.
pub fn list(context: &Context, kind: Option<&str>, all: bool) -> Result<Listed> {
    let Some(Imported {
        store,
        conflicts,
        warnings,
    }) = import_edits::open_imported(context)?
    else {
        return Ok(Listed::default());
    };
    let Runs { mut runs, lost } = if all {
        Runs::all(&store)?
    } else {
        Runs::live(&store)?
    };
    runs.retain(|run| kind.is_none_or(|kind| run.workflow.kind == kind));
    Ok(Listed {
        runs,
        lost,
        conflicts,
        warnings,
    })
}

/// Returns the runs that have not ended, as they are stored; edits of their files are not looked for.
///
/// # Errors
/// The refs cannot be read.
pub fn open_runs(store: &Store) -> Result<Vec<Run>> {
    let mut runs = Runs::live(store)?.runs;
    runs.retain(|run| run.workflow.status.is_open());
    Ok(runs)
}

/// One line of the log of a run.
#[derive(Clone, Debug)]
pub struct Logged {
    pub revision: String,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    pub event: Event,
}

#[derive(Debug)]
pub struct Shown {
    pub run: Run,
    /// The newest first.
    pub log: Vec<Logged>,
    /// Why the log ends before the beginning, if it is damaged.
    pub broken: Option<String>,
    pub conflicts: Vec<Conflict>,
    pub warnings: Vec<Warning>,
}

/// # Errors
/// There is no such run.
pub fn show(context: &Context, named: Option<&str>, limit: Option<usize>) -> Result<Shown> {
    let Imported {
        store,
        conflicts,
        warnings,
    } = open_imported(context)?;
    let run = pick(&store, named, &conflicts)?;
    let line = store.workflow_line(run.tip, limit.unwrap_or(LONGEST_LOG));
    let log = line.transitions.iter().map(|transition| Logged {
        revision: transition.commit.to_hex(),
        time_ms: transition.time_ms,
        event: Event::read(&transition.message),
    });
    Ok(Shown {
        log: log.collect(),
        broken: line.broken,
        run,
        conflicts,
        warnings,
    })
}

/// A run and what a check of it found.
#[derive(Debug)]
pub struct Checked {
    pub status: Status,
    /// Phases that should come earlier.
    pub order: Vec<Finding>,
}

/// # Errors
/// There is no such run.
pub fn check(context: &Context, named: Option<&str>) -> Result<Checked> {
    let status = status(context, named, false)?;
    let order = plan::lint(&status.run.workflow);
    Ok(Checked { status, order })
}
