//! A run as answers have it: a row after a transition and in a list, else the whole.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::model::json::{TimeText, published_as};
use crate::workflow::engine::runs::Run;
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::workflow::{Interruption, Workflow};

/// A run in a list and after a transition.
#[derive(Serialize, JsonSchema)]
pub struct RunRow {
    /// The name that selects it.
    id: String,
    #[serde(rename = "type")]
    kind: String,
    project: String,
    description: String,
    status: &'static str,
    created_at: TimeText,
    updated_at: TimeText,
    /// Id of the phase that is under way.
    current: Option<String>,
    phase_count: usize,
    completed_count: usize,
    percent: usize,
    is_archived: bool,
    /// Null for a run that was read from a file.
    revision: Option<String>,
}

/// A run as it stands.
#[derive(Serialize, JsonSchema)]
pub struct RunJson {
    #[serde(flatten)]
    row: RunRow,
    /// The document formats in which it is kept too.
    profiles: Vec<&'static str>,
    finished_at: Option<TimeText>,
    resume_count: u64,
    interrupted: Option<Interruption>,
    completed: Vec<String>,
    remaining: Vec<String>,
    ready: Vec<String>,
    phases: Vec<PhaseJson>,
    tasks: Vec<Task>,
    branch: Option<String>,
    key_decisions: Vec<String>,
    file_paths: Vec<String>,
    /// Values of the user's own.
    state: Map<String, Value>,
    /// The error of the last failure, as the run keeps it.
    last_error: Option<Value>,
}

/// A phase of a run, and its place in the plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PhaseJson {
    number: Option<usize>,
    /// Dependencies that are not complete.
    unmet: Vec<String>,
    #[serde(flatten)]
    pub phase: Phase,
}

impl RunRow {
    fn new(workflow: &Workflow) -> Self {
        Self {
            id: workflow.id.clone(),
            kind: workflow.kind.clone(),
            project: workflow.project.clone(),
            description: workflow.description.clone(),
            status: workflow.word(),
            created_at: TimeText::new(workflow.created_ms),
            updated_at: TimeText::new(workflow.updated_ms),
            current: workflow.current().map(|phase| phase.id.clone()),
            phase_count: workflow.phases.len(),
            completed_count: workflow.completed().count(),
            percent: workflow.percent(),
            is_archived: false,
            revision: None,
        }
    }
}

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        Self {
            id: run.id().to_owned(),
            is_archived: !run.is_live(),
            revision: (*run.tip.as_bytes() != [0; 20]).then(|| run.tip.to_hex()),
            ..Self::new(&run.workflow)
        }
    }
}

impl From<&Workflow> for RunJson {
    fn from(workflow: &Workflow) -> Self {
        let ids = |phases: &mut dyn Iterator<Item = &Phase>| {
            phases.map(|phase| phase.id.clone()).collect::<Vec<_>>()
        };
        let phase = |phase| PhaseJson::new(workflow, phase);
        Self {
            row: RunRow::new(workflow),
            profiles: workflow.profiles.iter().map(<&str>::from).collect(),
            finished_at: workflow.finished_ms.map(TimeText::new),
            resume_count: workflow.resume_count,
            interrupted: workflow.interrupted.clone(),
            completed: ids(&mut workflow.completed()),
            remaining: ids(&mut workflow.remaining()),
            ready: ids(&mut workflow.ready().into_iter()),
            phases: workflow.phases.iter().map(phase).collect(),
            tasks: workflow.tasks.clone(),
            branch: workflow.context.branch.clone(),
            key_decisions: workflow.context.key_decisions.clone(),
            file_paths: workflow.context.file_paths.clone(),
            state: workflow.state.clone(),
            last_error: workflow.last_error.clone(),
        }
    }
}

published_as! { Run, RunJson, |run| RunJson {
    row: RunRow::from(run),
    ..RunJson::from(&run.workflow)
}; }

/// Serializes a run as its row.
pub fn row<S: Serializer>(run: &Run, serializer: S) -> Result<S::Ok, S::Error> {
    RunRow::from(run).serialize(serializer)
}

/// Serializes runs as rows.
pub fn rows<S: Serializer>(runs: &[Run], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(RunRow::from))
}

impl PhaseJson {
    pub fn new(workflow: &Workflow, phase: &Phase) -> Self {
        Self {
            number: workflow.number_of(&phase.id),
            unmet: workflow.unmet(phase),
            phase: phase.clone(),
        }
    }
}
