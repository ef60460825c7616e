//! A run, its phases and tasks as JSON.

use serde_json::Value;

use crate::model::json::TimeText;
use crate::view::document::{JsonSchema, Serialize};
use crate::workflow::engine::runs::Run;
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::workflow::{Interruption, Workflow};

/// A run as it stands.
#[derive(Serialize, JsonSchema)]
pub struct RunJson {
    pub id: String,
    #[serde(rename = "type")]
    kind: String,
    project: String,
    description: String,
    /// The document formats in which it is kept too.
    profiles: Vec<&'static str>,
    status: String,
    created_at: TimeText,
    updated_at: TimeText,
    finished_at: Option<TimeText>,
    resume_count: u64,
    interrupted: Option<Interruption>,
    /// Id of the phase that is under way.
    current: Option<String>,
    completed: Vec<String>,
    remaining: Vec<String>,
    ready: Vec<String>,
    percent: usize,
    phases: Vec<PhaseJson>,
    tasks: Vec<Task>,
    branch: Option<String>,
    key_decisions: Vec<String>,
    file_paths: Vec<String>,
    /// Values of the user's own.
    state: Value,
    /// The error of the last failure, as the run keeps it.
    last_error: Option<Value>,
    /// Null for a run that was read from a file.
    pub revision: Option<String>,
    archived_as: Option<String>,
}

/// A phase of a run, and its place in the plan.
#[derive(Serialize, JsonSchema)]
pub struct PhaseJson {
    number: Option<usize>,
    /// Dependencies that are not complete.
    unmet: Vec<String>,
    #[serde(flatten)]
    phase: Phase,
}

impl RunJson {
    pub fn new(run: &Run) -> Self {
        Self {
            // A state read from a file has no revision.
            revision: (*run.tip.as_bytes() != [0; 20]).then(|| run.tip.to_hex()),
            archived_as: run.archived_as.clone(),
            ..Self::of_state(&run.workflow)
        }
    }

    pub fn of_state(workflow: &Workflow) -> Self {
        let ids = |phases: &mut dyn Iterator<Item = &Phase>| {
            phases.map(|phase| phase.id.clone()).collect::<Vec<_>>()
        };
        let phases = workflow.phases.iter();
        Self {
            id: workflow.id.clone(),
            kind: workflow.kind.clone(),
            project: workflow.project.clone(),
            description: workflow.description.clone(),
            profiles: workflow.profiles.iter().map(<&str>::from).collect(),
            status: workflow.word().to_owned(),
            created_at: TimeText::new(workflow.created_ms),
            updated_at: TimeText::new(workflow.updated_ms),
            finished_at: workflow.finished_ms.map(TimeText::new),
            resume_count: workflow.resume_count,
            interrupted: workflow.interrupted.clone(),
            current: workflow.current().map(|phase| phase.id.clone()),
            completed: ids(&mut workflow.completed()),
            remaining: ids(&mut workflow.remaining()),
            ready: ids(&mut workflow.ready().into_iter()),
            percent: workflow.percent(),
            phases: phases
                .map(|phase| PhaseJson::new(workflow, phase))
                .collect(),
            tasks: workflow.tasks.clone(),
            branch: workflow.context.branch.clone(),
            key_decisions: workflow.context.key_decisions.clone(),
            file_paths: workflow.context.file_paths.clone(),
            state: serde_json::to_value(&workflow.state).unwrap_or_default(),
            last_error: workflow.last_error.clone(),
            revision: None,
            archived_as: None,
        }
    }
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
