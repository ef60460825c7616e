//! A plan as a document: `{"phases": [{"id", "name", "dependencies", "status", …}]}`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check;
use crate::workflow::profiles::format::{
    Aliases, check_version, name, or_default, parse, phase_status,
};
use crate::workflow::profiles::merge::merge;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Class, Phase, PhaseOutput};
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Key among the documents of a run for the plan with which it was begun.
pub const PLAN: &str = "plan";
pub const DEPENDENCY_KEYS: &[&str] = &["dependencies", "depends_on", "dependsOn", "deps"];
const ALIASES: Aliases = &[DEPENDENCY_KEYS];

#[derive(Serialize, Deserialize)]
struct Plan {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(default, deserialize_with = "phase_status")]
    status: PhaseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
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
        skip_serializing_if = "is_false"
    )]
    commits: bool,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "is_false"
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
    let wanted = |text: &str, was: Option<&Option<String>>| {
        let is_wanted = was.map_or(!text.is_empty(), Option::is_some);
        is_wanted.then(|| text.to_owned())
    };
    let branch = workflow.context.branch.as_deref().unwrap_or_default();
    let now = Plan {
        kind: wanted(&workflow.kind, was.as_ref().map(|was| &was.kind)),
        project: wanted(&workflow.project, was.as_ref().map(|was| &was.project)),
        description: wanted(
            &workflow.description,
            was.as_ref().map(|was| &was.description),
        ),
        branch: wanted(branch, was.as_ref().map(|was| &was.branch)),
        phases: workflow.phases.iter().map(PlannedPhase::from).collect(),
    };
    let json = |plan: &Plan| serde_json::to_value(plan).unwrap_or_default();
    match (base, was) {
        (Some(base), Some(was)) => merge(base, &json(&was), &json(&now), ALIASES),
        _ => json(&now),
    }
}

fn read(value: &Value) -> Result<Plan, Finding> {
    check_version(value)?;
    let mut plan: Plan = parse(value, ALIASES)?;
    for phase in plan.phases.iter_mut().filter(|phase| phase.name.is_empty()) {
        phase.name.clone_from(&phase.id);
    }
    let entries = value["phases"].as_array().into_iter().flatten();
    match entries.into_iter().position(has_two_lists) {
        Some(at) => Err(Finding::new(
            "two_lists",
            format!("phases[{at}].dependencies"),
            "its dependencies are given twice, and differ",
        )),
        None => Ok(plan),
    }
}

/// Whether an entry gives its dependencies twice, and the lists differ.
fn has_two_lists(entry: &Value) -> bool {
    let lists = DEPENDENCY_KEYS
        .iter()
        .filter_map(|key| entry.get(key)?.as_array());
    let lists: Vec<&Vec<Value>> = lists.filter(|list| !list.is_empty()).collect();
    lists.windows(2).any(|pair| pair[0] != pair[1])
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
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
            (json!([]), "wrong_type"),
            (json!({}), "missing_field"),
            (json!({"phases": null}), "wrong_type"),
            (json!({"phases": [{"name": "x"}]}), "missing_field"),
            (json!({"phases": [5]}), "wrong_type"),
            (
                json!({"phases": [{"id": "a"}, {"id": "b", "dependencies": ["a"], "deps": ["c"]}]}),
                "two_lists",
            ),
            (
                json!({"phases": [{"id": "a", "status": "odd"}]}),
                "unknown_status",
            ),
            (
                json!({"phases": [{"id": "a", "class": "odd"}]}),
                "wrong_type",
            ),
            (
                json!({"phases": [{"id": "a", "writes": [1]}]}),
                "wrong_type",
            ),
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
