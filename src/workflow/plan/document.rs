//! A plan as a document: `{"phases": [{"id", "name", "dependencies", "status", …}]}`.

use serde_json::{Map, Value, json};

use super::check;
use crate::workflow::profiles::overlay::Overlay;
use crate::workflow::profiles::reader::{DocumentReader, Fields};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::Flaw;

/// Key among the documents of a run for the plan with which it was begun.
pub const PLAN: &str = "plan";
/// Fields of a plan: four that describe its run, and the phases.
const ORDER: [&str; 5] = ["type", "project", "description", "branch", "phases"];
const DEPENDENCY_KEYS: [&str; 4] = ["dependencies", "depends_on", "dependsOn", "deps"];
const PHASE_ORDER: &[&str] = &[
    "id",
    "name",
    "dependencies",
    "status",
    "class",
    "writes",
    "commits",
    "requires_approval",
    "outputs",
];

/// Reads the phases of a plan. Only `id` is required; missing fields get their defaults.
///
/// # Errors
/// Every finding about the document.
pub fn from_document(value: &Value) -> Result<Vec<Phase>, Vec<Finding>> {
    let mut reader = DocumentReader::default();
    let Some(fields) = reader.versioned(value) else {
        return reader.finish(None);
    };
    for key in &ORDER[..4] {
        reader.text_if(&fields, key);
    }
    let list = reader.list(&fields, "phases");
    let phases: Vec<Option<Phase>> = list
        .iter()
        .map(|(place, value)| phase(&mut reader, place, value))
        .collect();
    let phases: Option<Vec<Phase>> = phases.into_iter().collect();
    // Places are only right if no phase was left out.
    if let Some(phases) = &phases {
        reader.add(check(phases));
    }
    reader.finish(phases)
}

/// Writes the current plan over the one that was read.
pub fn to_document(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(PLAN);
    let mut plan = Overlay::on(base, &ORDER);
    let branch = workflow.context.branch.clone().unwrap_or_default();
    let [kind, project] = [&workflow.kind, &workflow.project];
    let said = [kind, project, &workflow.description, &branch];
    for (key, text) in ORDER.into_iter().zip(said) {
        if plan.has(key) || (base.is_none() && !text.is_empty()) {
            plan.set(key, text.as_str());
        }
    }
    let known = base
        .and_then(|base| base.get("phases"))
        .and_then(Value::as_array);
    let of_id = |id: &str| {
        known?
            .iter()
            .find(|value| value.get("id").and_then(Value::as_str) == Some(id))
    };
    let phases: Vec<Value> = workflow
        .phases
        .iter()
        .map(|phase| written(phase, of_id(&phase.id)))
        .collect();
    plan.set("phases", phases);
    plan.finish()
}

fn phase(reader: &mut DocumentReader, place: &str, value: &Value) -> Option<Phase> {
    let fields = reader.object(value, place)?;
    let id = reader.name(&fields, "id")?;
    let name = reader.text_if(&fields, "name").unwrap_or(id);
    let mut phase = Phase::new(id, name);
    phase.dependencies = reader
        .texts_if(&fields, dependency_key(Some(fields.map)))
        .unwrap_or_default();
    check_one_list(reader, &fields);
    phase.writes = reader.texts_if(&fields, "writes").unwrap_or_default();
    phase.commits = reader.flag_if(&fields, "commits").unwrap_or_default();
    phase.requires_approval = reader
        .flag_if(&fields, "requires_approval")
        .unwrap_or_default();
    if let Some(word) = reader.text_if(&fields, "status") {
        match PhaseStatus::from_word(word) {
            Some(status) => phase.status = status,
            None => reader.flaw(Flaw::UnknownStatus(word.to_owned()), fields.place("status")),
        }
    }
    if let Some(word) = reader.text_if(&fields, "class") {
        phase.class = word.parse().ok();
        if phase.class.is_none() {
            reader.flaw(Flaw::UnknownClass(word.to_owned()), fields.place("class"));
        }
    }
    phase.outputs = outputs(reader, &fields);
    Some(phase)
}

/// Returns the key under which an entry lists its dependencies: the first with a non-empty list.
pub fn dependency_key(entry: Option<&Map<String, Value>>) -> &'static str {
    let value = |key: &&str| entry.and_then(|entry| entry.get(*key));
    let says = |key: &&str| {
        value(key)
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    let mut keys = DEPENDENCY_KEYS.into_iter();
    let said = keys
        .clone()
        .find(says)
        .or_else(|| keys.find(|key| value(key).is_some()));
    said.unwrap_or("dependencies")
}

/// Reports entries whose dependency lists disagree.
fn check_one_list(reader: &mut DocumentReader, fields: &Fields<'_>) {
    let lists = DEPENDENCY_KEYS
        .into_iter()
        .filter_map(|key| fields.map.get(key)?.as_array());
    let lists: Vec<&Vec<Value>> = lists.filter(|list| !list.is_empty()).collect();
    if lists.windows(2).any(|pair| pair[0] != pair[1]) {
        let key = dependency_key(Some(fields.map));
        reader.flaw(Flaw::TwoLists, fields.place(key));
    }
}

fn outputs(reader: &mut DocumentReader, fields: &Fields<'_>) -> Vec<PhaseOutput> {
    let list = reader.list_if(fields, "outputs").unwrap_or_default();
    list.iter()
        .filter_map(|(place, value)| output(reader, place, value))
        .collect()
}

/// Reads an output: a path, or an object with one. An output is required by default.
fn output(reader: &mut DocumentReader, place: &str, value: &Value) -> Option<PhaseOutput> {
    if let Some(path) = value.as_str() {
        return Some(PhaseOutput {
            path: path.to_owned(),
            required: true,
            sha256: None,
        });
    }
    let fields = reader.object(value, place)?;
    let path = reader.name(&fields, "path")?.to_owned();
    Some(PhaseOutput {
        path,
        required: reader.flag_if(&fields, "required").unwrap_or(true),
        sha256: None,
    })
}

fn written(phase: &Phase, base: Option<&Value>) -> Value {
    let mut entry = Overlay::on(base, PHASE_ORDER);
    entry.set("id", &*phase.id);
    entry.put_or_leave(
        "name",
        phase.name.as_str().into(),
        phase.name == phase.id,
        |stands| *stands == phase.name,
    );
    let dependencies = json!(phase.dependencies);
    let key = dependency_key(base.and_then(Value::as_object));
    entry.put_or_leave(
        key,
        dependencies.clone(),
        phase.dependencies.is_empty(),
        means(&dependencies),
    );
    let is_same =
        |stands: &Value| stands.as_str().and_then(PhaseStatus::from_word) == Some(phase.status);
    entry.put_or_leave(
        "status",
        phase.status.into_str().into(),
        phase.status == PhaseStatus::Pending,
        is_same,
    );
    if let Some(class) = phase.class {
        entry.set("class", class.into_str());
    }
    unless_usual(
        &mut entry,
        "writes",
        &json!(phase.writes),
        phase.writes.is_empty(),
    );
    unless_usual(&mut entry, "commits", &phase.commits.into(), !phase.commits);
    unless_usual(
        &mut entry,
        "requires_approval",
        &phase.requires_approval.into(),
        !phase.requires_approval,
    );
    write_outputs(&mut entry, phase);
    entry.finish()
}

fn write_outputs(entry: &mut Overlay, phase: &Phase) {
    let bare = |output: &PhaseOutput| PhaseOutput {
        sha256: None,
        ..output.clone()
    };
    let outputs: Vec<PhaseOutput> = phase.outputs.iter().map(bare).collect();
    let said = entry.get("outputs").map(|stands| {
        let list = stands.as_array().cloned().unwrap_or_default();
        list.iter()
            .filter_map(|value| output(&mut DocumentReader::default(), "", value))
            .collect::<Vec<_>>()
    });
    if said.unwrap_or_default() == outputs {
        return;
    }
    let value = |output: &PhaseOutput| json!({"path": output.path, "required": output.required});
    entry.set("outputs", outputs.iter().map(value).collect::<Vec<_>>());
}

/// Writes a key of ours, unless it is absent and the value is the default.
fn unless_usual(entry: &mut Overlay, key: &str, value: &Value, is_usual: bool) {
    if entry.has(key) || !is_usual {
        entry.put(key, value.clone(), means(value));
    }
}

/// Tells whether a document's value is equal to this one, or `null` for the default.
fn means(value: &Value) -> impl FnOnce(&Value) -> bool {
    let is_usual = *value == json!([]) || *value == json!(false);
    move |stands: &Value| stands == value || (stands.is_null() && is_usual)
}

#[cfg(test)]
mod tests {
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
    fn all_that_is_wrong_with_a_plan_is_said() {
        let codes = |value: Value| {
            from_document(&value)
                .unwrap_err()
                .iter()
                .map(|f| f.code)
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(json!([])), ["wrong_type"]);
        assert_eq!(codes(json!({})), ["missing_field"]);
        assert_eq!(codes(json!({"phases": null})), ["wrong_type"]);
        assert_eq!(
            codes(json!({"phases": [{"name": "x"}, 5]})),
            ["missing_field", "wrong_type"]
        );
        let unlike = json!({"id": "b", "dependencies": ["a"], "deps": ["c"]});
        assert_eq!(
            codes(json!({"phases": [{"id": "a"}, unlike, {"id": "c"}]})),
            ["two_lists"]
        );
        let wrong = json!({"id": "a", "status": "odd", "class": "odd", "dependencies": ["a"], "writes": [1]});
        assert_eq!(
            codes(json!({"phases": [wrong]})),
            ["wrong_type", "unknown_status", "unknown_class", "cycle"]
        );
    }
}
