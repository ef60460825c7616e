//! A plan as a document: `{"phases": [{"id", "name", "dependencies", "status", …}]}`.

use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::check;
use crate::workflow::profiles::format::{
    check_version, name, parse, remove_nulls, with_fields_of, word,
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
    #[serde(default)]
    name: String,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default, deserialize_with = "word")]
    status: PhaseStatus,
    class: Option<Class>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    commits: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    requires_approval: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<Output>,
}

#[derive(Serialize, Deserialize)]
struct Output {
    #[serde(alias = "file")]
    path: String,
    required: bool,
}

/// Reads the phases of a plan.
///
/// # Errors
/// The first error in the document, or every error in the plan.
pub fn from_document(value: &Value) -> Result<Vec<Phase>, Vec<Finding>> {
    let plan = read(value).map_err(|finding| vec![finding])?;
    let phases: Vec<Phase> = plan.phases.iter().map(with_fields_of).collect();
    let findings = check(&phases);
    findings.is_empty().then_some(phases).ok_or(findings)
}

/// Writes the current plan over the one that was read.
pub fn to_document(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(PLAN);
    let was = base.and_then(|base| Some((base, to_json(&read(base).ok()?))));
    let mut now = to_json(&Plan {
        kind: Some(workflow.kind.clone()),
        project: Some(workflow.project.clone()),
        description: Some(workflow.description.clone()),
        branch: workflow.context.branch.clone(),
        phases: workflow.phases.iter().map(with_fields_of).collect(),
    });
    // Keys that describe the run: those of the plan, or those that say something.
    let is_wanted = |key: &str, value: &Value| match &was {
        Some((_, was)) => was.get(key).is_some(),
        None => key == "phases" || !is_nothing(value),
    };
    if let Some(fields) = now.as_object_mut() {
        fields.retain(|key, value| is_wanted(key, value));
    }
    match was {
        Some((base, was)) => merge(base, &was, &now, SPELLING),
        None => now,
    }
}

fn to_json(plan: &Plan) -> Value {
    let mut value = serde_json::to_value(plan).unwrap_or_default();
    remove_nulls(&mut value);
    value
}

fn read(value: &Value) -> Result<Plan, Finding> {
    check_version(value)?;
    let mut usual = value.clone();
    remove_nulls(&mut usual);
    let phases = usual.get_mut("phases").and_then(Value::as_array_mut);
    phases.into_iter().flatten().for_each(name_outputs);
    let mut plan: Plan = parse(usual, SPELLING)?;
    for phase in plan.phases.iter_mut().filter(|phase| phase.name.is_empty()) {
        phase.name.clone_from(&phase.id);
    }
    let mut entries = value["phases"].as_array().into_iter().flatten();
    if let Some(at) = entries.position(has_two_lists) {
        let what = "its dependencies are given twice, and differ";
        let place = format!("phases[{at}].dependencies");
        return Err(Finding::new("two_lists", place, what));
    }
    Ok(plan)
}

/// Gives the outputs of a phase, which may be paths, the usual shape; they are required by default.
fn name_outputs(phase: &mut Value) {
    let outputs = phase.get_mut("outputs").and_then(Value::as_array_mut);
    for output in outputs.into_iter().flatten() {
        if output.is_string() {
            *output = json!({ "path": output });
        }
        if let Some(output) = output.as_object_mut() {
            output.entry("required").or_insert(true.into());
        }
    }
}

fn has_two_lists(entry: &Value) -> bool {
    let lists = DEPENDENCY_KEYS.iter().map(|key| &entry[*key]);
    let lists: Vec<&Value> = lists.filter(|list| !is_nothing(list)).collect();
    lists.windows(2).any(|pair| pair[0] != pair[1])
}
