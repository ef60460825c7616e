//! The task file: `{"workflow_id", "updated_at", "tasks": [{"id", "name", "phase", "status", …}]}`.
//! Unknown fields are kept, and so are tasks in an object keyed by id.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::workflow::profiles::moving::take_time_if;
use crate::workflow::profiles::overlay::Overlay;
use crate::workflow::profiles::reader::{DocumentReader, Fields};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Task;
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;

const ORDER: &[&str] = &["workflow_id", "updated_at", "tasks"];
const OUTPUT_KEYS: [&str; 4] = ["output", "output_file", "output_path", "outputs"];
const TASK_ORDER: &[&str] = &[
    "id",
    "name",
    "phase",
    "status",
    "attempts",
    "started_at",
    "completed_at",
    "output",
    "agent",
    "note",
];

pub fn value(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(EXECUTION_FILE);
    let mut document = Overlay::on(base, ORDER);
    // Both files name the same run, even if our id differs.
    let named = workflow
        .documents
        .get(PHASE_FILE)
        .and_then(|phase| phase.get("workflow_id"))
        .cloned();
    document.put_or_leave(
        "workflow_id",
        named.unwrap_or_else(|| workflow.id.as_str().into()),
        true,
        |_| true,
    );
    let tasks = tasks(workflow, document.get("tasks"));
    // `updated_at` is the time of the last change of a task.
    let is_none = |stands: &Value| stands.is_null() && workflow.tasks.is_empty();
    let is_said = document
        .get("tasks")
        .map_or(workflow.tasks.is_empty(), |stands| {
            *stands == tasks || is_none(stands)
        });
    if !is_said {
        document.put("tasks", tasks, |_| false);
        document.set_time("updated_at", workflow.updated_ms);
    }
    document.finish()
}

fn tasks(workflow: &Workflow, stands: Option<&Value>) -> Value {
    if let Some(by_id) = stands.and_then(Value::as_object) {
        let mut map: Map<String, Value> = by_id.clone();
        map.retain(|id, _| workflow.task(id).is_some());
        for task in &workflow.tasks {
            map.insert(task.id.clone(), written(task, by_id.get(&task.id), false));
        }
        return Value::Object(map);
    }
    let known = stands
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let of_id = |id: &str| {
        known
            .iter()
            .find(|value| value.get(id_key(value)).and_then(Value::as_str) == Some(id))
    };
    workflow
        .tasks
        .iter()
        .map(|task| written(task, of_id(&task.id), true))
        .collect()
}

fn id_key(task: &Value) -> &'static str {
    if task.get("id").is_none() && task.get("task_id").is_some() {
        "task_id"
    } else {
        "id"
    }
}

/// Returns the key under which an entry names the output of a task.
fn output_key(has: impl Fn(&str) -> bool) -> &'static str {
    OUTPUT_KEYS
        .into_iter()
        .find(|key| has(key))
        .unwrap_or("output")
}

fn written(task: &Task, base: Option<&Value>, has_id: bool) -> Value {
    let mut entry = Overlay::on(base, TASK_ORDER);
    if has_id {
        entry.set(base.map_or("id", id_key), &*task.id);
    }
    let is_same =
        |stands: &Value| stands.as_str().and_then(TaskStatus::from_word) == Some(task.status);
    entry.put("status", task.status.into_str().into(), is_same);
    entry.put_or_leave(
        "attempts",
        task.attempts.into(),
        task.attempts == 0,
        |stands| *stands == task.attempts || (stands.is_null() && task.attempts == 0),
    );
    for (key, time_ms) in [
        ("started_at", task.started_ms),
        ("completed_at", task.completed_ms),
    ] {
        match time_ms {
            Some(time_ms) => entry.set_time(key, time_ms),
            None => clear(&mut entry, key),
        }
    }
    let output_key = output_key(|key| entry.has(key));
    for (key, text) in [
        ("name", &task.name),
        ("phase", &task.phase),
        (output_key, &task.output),
        ("agent", &task.agent),
        ("note", &task.note),
    ] {
        match text {
            Some(text) => match entry.get(key).and_then(Value::as_array) {
                Some(list) if list.first() == Some(&text.as_str().into()) => {}
                Some(_) => entry.set(key, vec![text.as_str()]),
                None => entry.set(key, text.as_str()),
            },
            None => clear(&mut entry, key),
        }
    }
    entry.finish()
}

/// Sets a present key to `null`, since readers may expect the key.
fn clear(entry: &mut Overlay, key: &str) {
    if entry.has(key) {
        entry.set(key, Value::Null);
    }
}

/// # Errors
/// Every finding about the document.
pub fn take(workflow: &mut Workflow, value: &Value) -> Result<(), Vec<Finding>> {
    let mut reader = DocumentReader::default();
    let Some(fields) = reader.document(value) else {
        return reader.finish(None);
    };
    reader.time_if(&fields, "updated_at");
    let mut seen = BTreeSet::new();
    let mut tasks = Vec::new();
    for (place, id, entry) in listed(&mut reader, &fields) {
        let Some(entry) = reader.object(entry, &place) else {
            continue;
        };
        let id = id.or_else(|| {
            reader.name(
                &entry,
                if entry.get("task_id").is_some() {
                    "task_id"
                } else {
                    "id"
                },
            )
        });
        let Some(id) = id else { continue };
        if !seen.insert(id) {
            reader.note(
                "duplicate_id",
                place,
                format!("the task '{id}' is listed twice"),
            );
            continue;
        }
        let known = workflow.task(id).cloned().unwrap_or_else(|| Task::new(id));
        tasks.extend(task(&mut reader, &entry, known));
    }
    workflow.tasks = reader.finish(Some(tasks))?;
    Ok(())
}

/// Returns the tasks with their places, and their ids if those are the keys.
fn listed<'v>(
    reader: &mut DocumentReader,
    fields: &Fields<'v>,
) -> Vec<(String, Option<&'v str>, &'v Value)> {
    if let Some(by_id) = fields.get("tasks").and_then(Value::as_object) {
        return by_id
            .iter()
            .map(|(id, task)| (format!("tasks.{id}"), Some(id.as_str()), task))
            .collect();
    }
    let list = reader.list_if(fields, "tasks").unwrap_or_default();
    list.into_iter()
        .map(|(place, task)| (place, None, task))
        .collect()
}

fn task(reader: &mut DocumentReader, fields: &Fields<'_>, known: Task) -> Option<Task> {
    let mut task = known;
    let word = reader.text(fields, "status")?;
    match TaskStatus::from_word(word) {
        Some(status) => task.status = status,
        None => reader.note(
            "unknown_status",
            fields.place("status"),
            format!("'{word}' is not a status of a task"),
        ),
    }
    task.is_next_counted &= task.status == TaskStatus::Pending;
    if let Some(attempts) = fields.get("attempts") {
        let attempts = reader.number(attempts, &fields.place("attempts"))?;
        task.attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    }
    for (key, slot) in [
        ("started_at", &mut task.started_ms),
        ("completed_at", &mut task.completed_ms),
    ] {
        let said_ms = reader.time_if(fields, key);
        if fields.map.get(key).is_some_and(Value::is_null) {
            *slot = None;
        }
        take_time_if(slot, said_ms);
    }
    let output_key = output_key(|key| fields.map.contains_key(key));
    for (key, slot) in [
        ("name", &mut task.name),
        ("phase", &mut task.phase),
        (output_key, &mut task.output),
        ("agent", &mut task.agent),
        ("note", &mut task.note),
    ] {
        let said = match fields.get(key) {
            Some(Value::Array(list)) if key == output_key => list.first().and_then(Value::as_str),
            _ => reader.text_if(fields, key),
        };
        let said = said.map(str::to_owned);
        if said.is_some() || fields.map.get(key).is_some_and(Value::is_null) {
            *slot = said;
        }
    }
    Some(task)
}
