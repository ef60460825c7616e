//! The task file of the phases profile: `{"workflow_id", "updated_at", "tasks": [{"id", …}]}`. Tasks
//! may also be an object keyed by id.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::workflow::profiles::format::{
    Format, Found, Time, check_ids, name, or_default, time_of, unless_left_out, with_fields_of,
    word,
};
use crate::workflow::profiles::merge::Spelling;
use crate::workflow::rules::workflow::{PHASE_FILE, Task, TaskStatus, Workflow};

#[derive(Serialize, Deserialize)]
pub struct Execution {
    workflow_id: Option<Value>,
    /// The last change of a task.
    updated_at: Option<Time>,
    #[serde(default, deserialize_with = "or_default")]
    tasks: Vec<TaskEntry>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct TaskEntry {
    #[serde(deserialize_with = "name")]
    id: String,
    name: Option<String>,
    #[serde(alias = "phase_id")]
    phase: Option<String>,
    #[serde(deserialize_with = "word")]
    status: TaskStatus,
    attempts: Option<u32>,
    started_at: Option<Time>,
    completed_at: Option<Time>,
    #[serde(default, deserialize_with = "first_text")]
    output: Option<String>,
    agent: Option<String>,
    note: Option<String>,
}

impl Execution {
    fn task(&self, id: &str) -> Option<&TaskEntry> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

impl Format for Execution {
    const SPELLING: Spelling = Spelling {
        aliases: &[
            &["id", "task_id"],
            &["output", "output_file", "output_path", "outputs"],
        ],
        keeps_keys: true,
    };

    fn reshape(value: &mut Value) {
        let Some(tasks) = value.get_mut("tasks").filter(|tasks| tasks.is_object()) else {
            return;
        };
        for (id, task) in tasks.as_object_mut().into_iter().flatten() {
            if let Some(task) = task.as_object_mut() {
                task.insert("id".to_owned(), id.as_str().into());
            }
        }
        let list = tasks.as_object().into_iter().flat_map(Map::values);
        *tasks = list.cloned().collect();
    }

    fn checked(self, _: &Value, _: &Workflow, _: &str) -> Found<Self> {
        let ids: Vec<&String> = self.tasks.iter().map(|task| &task.id).collect();
        check_ids("tasks", &ids)?;
        Ok(self)
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let entry = |task: &Task| {
            let known = was.and_then(|was| was.task(&task.id));
            let attempts = known.map(|known| &known.attempts);
            TaskEntry {
                attempts: unless_left_out(task.attempts, attempts),
                ..with_fields_of(task)
            }
        };
        let tasks: Vec<TaskEntry> = run.tasks.iter().map(entry).collect();
        // Both files name the same run, even if our id differs.
        let phase_file = run.documents.get(PHASE_FILE);
        let named = phase_file.and_then(|file| file.get("workflow_id"));
        let id = || Some(named.cloned().unwrap_or_else(|| run.id.as_str().into()));
        let same = was.filter(|was| was.tasks == tasks);
        Self {
            workflow_id: was.map_or_else(id, |was| was.workflow_id.clone()),
            updated_at: same.map_or(Some(Time(run.updated_ms)), |was| was.updated_at),
            tasks,
        }
    }

    fn adopt(&self, present: &Self, run: &mut Workflow, _: &str) -> Found<()> {
        let none = TaskEntry::default();
        let task = |entry: &TaskEntry| {
            let known = run.task(&entry.id).cloned().unwrap_or_default();
            let present = present.task(&entry.id).unwrap_or(&none);
            Task {
                is_next_counted: known.is_next_counted && entry.status == TaskStatus::Pending,
                attempts: entry.attempts.unwrap_or(known.attempts),
                started_ms: time_of(entry.started_at, present.started_at, known.started_ms),
                completed_ms: time_of(entry.completed_at, present.completed_at, known.completed_ms),
                ..with_fields_of(entry)
            }
        };
        run.tasks = self.tasks.iter().map(task).collect();
        Ok(())
    }
}

/// Reads a text, or the first one of a list.
fn first_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Array(list) => Ok(list.first().and_then(Value::as_str).map(str::to_owned)),
        value => Option::deserialize(value).map_err(serde::de::Error::custom),
    }
}
