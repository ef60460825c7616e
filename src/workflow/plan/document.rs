//! A plan as a document: `{"phases": [{"id", "name", "dependencies", "status", …}]}`.

use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check;
use crate::workflow::profiles::format::{
    check_version, name, or_default, parse, remove_nulls, with_fields_of, word,
};
use crate::workflow::profiles::merge::{Spelling, is_nothing, merge};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Class, Phase};
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Key among the documents of a run for the plan with which it was begun.
pub const PLAN: &str = "plan";
pub const DEPENDENCY_KEYS: &[&str] = &["dependencies", "depends_on", "dependsOn", "deps"];
const SPELLING: Spelling = Spelling {
    aliases: &[DEPENDENCY_KEYS],
    keeps_keys: false,
};

#[derive(Serialize, Deserialize)]
struct Plan {
    #[serde(rename = "type")]
    kind: Option<String>,
    project: Option<String>,
    description: Option<String>,
    branch: Option<String>,
    phases: Vec<PlannedPhase>,
}

/// A phase as in a run, of which only `id` is required.
#[derive(Default, Serialize, Deserialize)]
struct PlannedPhase {
    #[serde(deserialize_with = "name")]
    id: String,
    /// The id by default.
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    dependencies: Vec<String>,
    #[serde(default, deserialize_with = "word")]
    status: PhaseStatus,
    class: Option<Class>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    writes: Vec<String>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    commits: bool,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Not::not"
    )]
    requires_approval: bool,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    outputs: Vec<Output>,
}

#[derive(Serialize, Deserialize)]
#[serde(from = "OutputText")]
struct Output {
    path: String,
    required: bool,
}

/// An output in a plan: a path, or an object with one. An output is required by default.
#[derive(Deserialize)]
#[serde(untagged)]
enum OutputText {
    Path(String),
    Full {
        #[serde(alias = "file")]
        path: String,
        required: Option<bool>,
    },
}

impl From<OutputText> for Output {
    fn from(text: OutputText) -> Self {
        let (path, required) = match text {
            OutputText::Path(path) => (path, None),
            OutputText::Full { path, required } => (path, required),
        };
        Self {
            path,
            required: required.unwrap_or(true),
        }
    }
}

/// Reads the phases of a plan.
///
/// # Errors
/// The first error in the document, or every error in the plan.
pub fn from_document(value: &Value) -> Result<Vec<Phase>, Vec<Finding>> {
    let plan = read(value).map_err(|finding| vec![finding])?;
    let phases: Vec<Phase> = plan.phases.iter().map(with_fields_of).collect();
    let findings = check(&phases);
    if findings.is_empty() {
        Ok(phases)
    } else {
        Err(findings)
    }
}

/// Writes the current plan over the one that was read.
pub fn to_document(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(PLAN);
    let was = base.and_then(|base| read(base).ok());
    // Keys that describe the run: those of the plan, or those that say something.
    let wanted = |text: &str, known: fn(&Plan) -> &Option<String>| {
        let is_known = was.as_ref().map(|was| known(was).is_some());
        is_known
            .unwrap_or(!text.is_empty())
            .then(|| text.to_owned())
    };
    let branch = workflow.context.branch.as_deref().unwrap_or_default();
    let now = Plan {
        kind: wanted(&workflow.kind, |plan| &plan.kind),
        project: wanted(&workflow.project, |plan| &plan.project),
        description: wanted(&workflow.description, |plan| &plan.description),
        branch: wanted(branch, |plan| &plan.branch),
        phases: workflow.phases.iter().map(with_fields_of).collect(),
    };
    let json = |plan: &Plan| {
        let mut value = serde_json::to_value(plan).unwrap_or_default();
        remove_nulls(&mut value);
        value
    };
    match (base, was) {
        (Some(base), Some(was)) => merge(base, &json(&was), &json(&now), SPELLING),
        _ => json(&now),
    }
}

fn read(value: &Value) -> Result<Plan, Finding> {
    check_version(value)?;
    let mut plan: Plan = parse(value.clone(), SPELLING)?;
    for phase in plan.phases.iter_mut().filter(|phase| phase.name.is_empty()) {
        phase.name.clone_from(&phase.id);
    }
    let mut entries = value["phases"].as_array().into_iter().flatten();
    let place = entries.position(has_two_lists);
    let place = place.map(|at| format!("phases[{at}].dependencies"));
    let what = "its dependencies are given twice, and differ";
    place.map_or(Ok(plan), |place| {
        Err(Finding::new("two_lists", place, what))
    })
}

fn has_two_lists(entry: &Value) -> bool {
    let lists = DEPENDENCY_KEYS.iter().map(|key| &entry[*key]);
    let lists: Vec<&Value> = lists.filter(|list| !is_nothing(list)).collect();
    lists.windows(2).any(|pair| pair[0] != pair[1])
}
