//! A run as answers have it: as it is stored, with what is derived from it; or a row of a list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::model::json::{TimeText, published_as};
use crate::workflow::engine::runs::Run;
use crate::workflow::rules::workflow::{Phase, Workflow};

/// What is derived from the phases of a run.
#[derive(Serialize, JsonSchema)]
struct Derived {
    status: &'static str,
    /// Id of the phase that is under way.
    current: Option<String>,
    phase_count: usize,
    completed_count: usize,
    percent: usize,
    /// Null for a run that was read from a file.
    revision: Option<String>,
}

/// A run in a list and after a transition.
#[derive(Serialize, JsonSchema)]
pub struct RunRow {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    project: String,
    description: String,
    created_at: TimeText,
    updated_at: TimeText,
    is_archived: bool,
    #[serde(flatten)]
    derived: Derived,
}

/// A run as it stands.
#[derive(Serialize, JsonSchema)]
pub struct RunJson {
    #[serde(flatten)]
    workflow: Workflow,
    #[serde(flatten)]
    derived: Derived,
    completed: Vec<String>,
    remaining: Vec<String>,
    ready: Vec<String>,
}

impl Derived {
    fn new(run: &Run) -> Self {
        let workflow = &run.workflow;
        Self {
            status: workflow.word(),
            current: workflow.current().map(|phase| phase.id.clone()),
            phase_count: workflow.phases.len(),
            completed_count: workflow.completed().count(),
            percent: workflow.percent(),
            revision: run.is_recorded().then(|| run.tip.to_hex()),
        }
    }
}

impl RunJson {
    fn new(run: &Run) -> Self {
        let (workflow, id) = (&run.workflow, |phase: &Phase| phase.id.clone());
        Self {
            derived: Derived::new(run),
            completed: workflow.completed().map(id).collect(),
            remaining: workflow.remaining().map(id).collect(),
            ready: workflow.ready().into_iter().map(id).collect(),
            workflow: Workflow {
                documents: BTreeMap::new(),
                ..workflow.clone()
            },
        }
    }
}

published_as! { Run, RunJson, RunJson::new; }

impl From<&Run> for RunRow {
    fn from(run: &Run) -> Self {
        let workflow = &run.workflow;
        Self {
            id: workflow.id.clone(),
            kind: workflow.kind.clone(),
            project: workflow.project.clone(),
            description: workflow.description.clone(),
            created_at: TimeText::new(workflow.created_ms),
            updated_at: TimeText::new(workflow.updated_ms),
            is_archived: workflow.is_archived,
            derived: Derived::new(run),
        }
    }
}

/// Serializes a run as its row.
pub fn row<S: Serializer>(run: &Run, serializer: S) -> Result<S::Ok, S::Error> {
    RunRow::from(run).serialize(serializer)
}

/// Serializes runs as rows.
pub fn rows<S: Serializer>(runs: &[Run], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(RunRow::from))
}
