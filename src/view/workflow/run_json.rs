//! A run, its phases and tasks as JSON.

use serde_json::Value;

use crate::model::json::TimeText;
use crate::view::document::{JsonSchema, Serialize};
use crate::workflow::engine::runs::Run;
use crate::workflow::rules::phase::{Phase, PhaseOutput, Task};
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
    interrupted: Option<InterruptionJson>,
    /// Id of the phase that is under way.
    current: Option<String>,
    completed: Vec<String>,
    remaining: Vec<String>,
    ready: Vec<String>,
    percent: usize,
    phases: Vec<PhaseJson>,
    tasks: Vec<TaskJson>,
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

/// When and why a run was interrupted.
#[derive(Serialize, JsonSchema)]
struct InterruptionJson {
    reason: String,
    interrupted_at: TimeText,
}

/// A phase of a run.
#[derive(Serialize, JsonSchema)]
pub struct PhaseJson {
    number: Option<usize>,
    id: String,
    name: String,
    status: &'static str,
    dependencies: Vec<String>,
    /// Dependencies that are not complete.
    unmet: Vec<String>,
    writes: Vec<String>,
    commits: bool,
    requires_approval: bool,
    approved_at: Option<TimeText>,
    started_at: Option<TimeText>,
    completed_at: Option<TimeText>,
    progress: Option<String>,
    commit_sha: Option<String>,
    attempts: u32,
    last_error: Option<String>,
    outputs: Vec<OutputJson>,
    /// Id of the checkpoint before it.
    before_id: Option<String>,
    after_id: Option<String>,
}

/// A file that a phase has to write.
#[derive(Serialize, JsonSchema)]
struct OutputJson {
    file: String,
    required: bool,
}

/// A part of a phase.
#[derive(Serialize, JsonSchema)]
pub struct TaskJson {
    id: String,
    name: Option<String>,
    phase_id: Option<String>,
    status: &'static str,
    attempts: u32,
    started_at: Option<TimeText>,
    completed_at: Option<TimeText>,
    output: Option<String>,
    agent: Option<String>,
    note: Option<String>,
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
        let interrupted = |cut: &Interruption| InterruptionJson {
            reason: cut.reason.clone(),
            interrupted_at: TimeText::new(cut.at_ms),
        };
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
            interrupted: workflow.interrupted.as_ref().map(interrupted),
            current: workflow.current().map(|phase| phase.id.clone()),
            completed: ids(&mut workflow.completed()),
            remaining: ids(&mut workflow.remaining()),
            ready: ids(&mut workflow.ready().into_iter()),
            percent: workflow.percent(),
            phases: phases
                .map(|phase| PhaseJson::new(workflow, phase))
                .collect(),
            tasks: workflow.tasks.iter().map(TaskJson::new).collect(),
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
        let output = |output: &PhaseOutput| OutputJson {
            file: output.path.clone(),
            required: output.required,
        };
        Self {
            number: workflow.number_of(&phase.id),
            id: phase.id.clone(),
            name: phase.name.clone(),
            status: phase.status.into_str(),
            dependencies: phase.dependencies.clone(),
            unmet: workflow.unmet(phase),
            writes: phase.writes.clone(),
            commits: phase.commits,
            requires_approval: phase.requires_approval,
            approved_at: phase.approved_ms.map(TimeText::new),
            started_at: phase.started_ms.map(TimeText::new),
            completed_at: phase.completed_ms.map(TimeText::new),
            progress: phase.progress.clone(),
            commit_sha: phase.commit_sha.clone(),
            attempts: phase.attempts,
            last_error: phase.last_error.clone(),
            outputs: phase.outputs.iter().map(output).collect(),
            before_id: phase.before.clone(),
            after_id: phase.after.clone(),
        }
    }
}

impl TaskJson {
    pub fn new(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            name: task.name.clone(),
            phase_id: task.phase.clone(),
            status: task.status.into_str(),
            attempts: task.attempts,
            started_at: task.started_ms.map(TimeText::new),
            completed_at: task.completed_ms.map(TimeText::new),
            output: task.output.clone(),
            agent: task.agent.clone(),
            note: task.note.clone(),
        }
    }
}
