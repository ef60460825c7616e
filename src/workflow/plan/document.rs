//! A plan as a document: `{"phases": [{"id", "name", "dependencies", "status", …}]}`.

use std::ops::Not;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check;
use crate::workflow::profiles::format::{
    Spelling, check_version, name, or_default, parse, remove_nulls, word,
};
use crate::workflow::profiles::merge::merge;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Class, Phase, PhaseOutput};
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

/// Only `id` is required.
#[derive(Serialize, Deserialize)]
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

impl From<PlannedPhase> for Phase {
    fn from(planned: PlannedPhase) -> Self {
        let output = |Output { path, required }| PhaseOutput {
            path,
            required,
            sha256: None,
        };
        Self {
            id: planned.id,
            name: planned.name,
            dependencies: planned.dependencies,
            status: planned.status,
            class: planned.class,
            writes: planned.writes,
            commits: planned.commits,
            requires_approval: planned.requires_approval,
            outputs: planned.outputs.into_iter().map(output).collect(),
            ..Self::default()
        }
    }
}

impl From<&Phase> for PlannedPhase {
    fn from(phase: &Phase) -> Self {
        let output = |output: &PhaseOutput| Output {
            path: output.path.clone(),
            required: output.required,
        };
        Self {
            id: phase.id.clone(),
            name: phase.name.clone(),
            dependencies: phase.dependencies.clone(),
            status: phase.status,
            class: phase.class,
            writes: phase.writes.clone(),
            commits: phase.commits,
            requires_approval: phase.requires_approval,
            outputs: phase.outputs.iter().map(output).collect(),
        }
    }
}

/// Reads the phases of a plan.
///
/// # Errors
/// The first error in the document, or every error in the plan.
pub fn from_document(value: &Value) -> Result<Vec<Phase>, Vec<Finding>> {
    let plan = read(value).map_err(|finding| vec![finding])?;
    let phases: Vec<Phase> = plan.phases.into_iter().map(Phase::from).collect();
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
        phases: workflow.phases.iter().map(PlannedPhase::from).collect(),
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
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn back(value: &Value) -> Value {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        workflow.phases = from_document(value).unwrap();
        workflow.documents.insert(PLAN.to_owned(), value.clone());
        to_document(&workflow)
    }

    #[test]
    fn a_plan_comes_back_as_it_was_given() {
        let plan = json!({
            "goal": "x",
            "phases": [
                {"id": "a", "name": "A", "status": "todo", "dependencies": [], "owner": {"z": 1, "a": 2}},
                {"name": "B", "id": "b", "class": "commits", "writes": ["src/**"], "commits": true, "outputs": ["o.json"]},
                {"id": "c", "requires_approval": true, "outputs": [{"path": "d/", "required": false, "k": 1}],
                 "dependencies": null, "commits": null},
                {"id": "d", "status": "completed", "depends_on": ["a", "b"]},
            ],
        });
        assert_eq!(back(&plan).to_string(), plan.to_string());
    }

    #[test]
    fn a_plan_says_how_far_it_is() {
        let plan =
            json!({"phases": [{"id": "a", "name": "A", "status": "pending"}, {"id": "b", "x": 1}]});
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        workflow.phases = from_document(&plan).unwrap();
        workflow.documents.insert(PLAN.to_owned(), plan);
        workflow.phases[0].status = PhaseStatus::Complete;
        workflow.phases[1].commits = true;
        workflow.phases.push(Phase::new("c", "C"));
        let expected = json!({"phases": [
            {"id": "a", "name": "A", "status": "complete"},
            {"id": "b", "x": 1, "commits": true},
            {"id": "c", "name": "C", "dependencies": [], "status": "pending"},
        ]});
        assert_eq!(to_document(&workflow), expected);
    }

    #[test]
    fn unsound_plan_is_refused_with_code() {
        for (plan, code) in [
            (json!([]), "bad_value"),
            (json!({}), "missing_field"),
            (json!({"phases": null}), "bad_value"),
            (json!({"phases": [{"name": "x"}]}), "missing_field"),
            (json!({"phases": [5]}), "bad_value"),
            (
                json!({"phases": [{"id": "a", "status": "odd"}]}),
                "bad_value",
            ),
            (
                json!({"phases": [{"id": "a", "class": "odd"}]}),
                "bad_value",
            ),
            (json!({"phases": [{"id": "a", "writes": [1]}]}), "bad_value"),
            (
                json!({"phases": [{"id": "a", "dependencies": ["a"]}]}),
                "cycle",
            ),
            (json!({"phases": [], "version": "2.1"}), "version_mismatch"),
        ] {
            assert_eq!(from_document(&plan).unwrap_err()[0].code, code, "{plan}");
        }
    }
}
