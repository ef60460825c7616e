//! The task file of the phases profile: `{"workflow_id", "updated_at", "tasks": [{"id", …}]}`. Tasks
//! may also be an object keyed by id.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::workflow::profiles::format::{
    Aliases, Format, Time, duplicate, name, or_default, unknown_status, unless_left_out,
};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Task;
use crate::workflow::rules::profile::PHASE_FILE;
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;

#[derive(Serialize, Deserialize)]
pub struct Execution {
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<Value>,
    /// The last change of a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Time>,
    #[serde(default, deserialize_with = "or_default")]
    tasks: Vec<Entry>,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Entry {
    #[serde(deserialize_with = "name")]
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    #[serde(deserialize_with = "status")]
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Time>,
    #[serde(
        default,
        deserialize_with = "first_text",
        skip_serializing_if = "Option::is_none"
    )]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Execution {
    fn task(&self, id: &str) -> Option<&Entry> {
        self.tasks.iter().find(|task| task.id == id)
    }
}

impl Entry {
    fn of(task: &Task, was: Option<&Self>) -> Self {
        Self {
            id: task.id.clone(),
            name: task.name.clone(),
            phase: task.phase.clone(),
            status: task.status,
            attempts: unless_left_out(task.attempts, was.map(|was| &was.attempts)),
            started_at: task.started_ms.map(Time),
            completed_at: task.completed_ms.map(Time),
            output: task.output.clone(),
            agent: task.agent.clone(),
            note: task.note.clone(),
        }
    }

    fn adopt(&self, ours: &Self, task: &mut Task) {
        task.status = self.status;
        task.is_next_counted &= task.status == TaskStatus::Pending;
        task.attempts = self.attempts.unwrap_or(task.attempts);
        if self.started_at != ours.started_at {
            task.started_ms = self.started_at.map(|time| time.0);
        }
        if self.completed_at != ours.completed_at {
            task.completed_ms = self.completed_at.map(|time| time.0);
        }
        task.name.clone_from(&self.name);
        task.phase.clone_from(&self.phase);
        task.output.clone_from(&self.output);
        task.agent.clone_from(&self.agent);
        task.note.clone_from(&self.note);
    }
}

impl Format for Execution {
    const ALIASES: Aliases = &[
        &["id", "task_id"],
        &["output", "output_file", "output_path", "outputs"],
    ];

    fn reshaped(value: &Value) -> Cow<'_, Value> {
        let Some(by_id) = value.get("tasks").and_then(Value::as_object) else {
            return Cow::Borrowed(value);
        };
        let with_id = |(id, task): (&String, &Value)| {
            let mut task = task.clone();
            if let Some(task) = task.as_object_mut() {
                task.insert("id".to_owned(), id.as_str().into());
            }
            task
        };
        let mut listed = value.clone();
        listed["tasks"] = by_id.iter().map(with_id).collect();
        Cow::Owned(listed)
    }

    fn checked(self, _: &Value, _: &Workflow, _: &str) -> Result<Self, Finding> {
        let mut seen = BTreeSet::new();
        let twice = self.tasks.iter().position(|task| !seen.insert(&task.id));
        twice.map_or(Ok(()), |at| {
            Err(duplicate(format!("tasks[{at}]"), &self.tasks[at].id))
        })?;
        Ok(self)
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let entry = |task: &Task| Entry::of(task, was.and_then(|was| was.task(&task.id)));
        let tasks: Vec<Entry> = run.tasks.iter().map(entry).collect();
        // Both files name the same run, even if our id differs.
        let named = run
            .documents
            .get(PHASE_FILE)
            .and_then(|phase| phase.get("workflow_id"));
        let id = || Some(named.cloned().unwrap_or_else(|| run.id.as_str().into()));
        let same = was.filter(|was| was.tasks == tasks);
        Self {
            workflow_id: was.map_or_else(id, |was| was.workflow_id.clone()),
            updated_at: same.map_or(Some(Time(run.updated_ms)), |was| was.updated_at),
            tasks,
        }
    }

    fn adopt(&self, ours: &Self, run: &mut Workflow, _: &str) -> Result<(), Finding> {
        let none = Entry::default();
        let task = |entry: &Entry| {
            let known = run.task(&entry.id).cloned();
            let mut task = known.unwrap_or_else(|| Task::new(&entry.id));
            entry.adopt(ours.task(&entry.id).unwrap_or(&none), &mut task);
            task
        };
        run.tasks = self.tasks.iter().map(task).collect();
        Ok(())
    }
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<TaskStatus, D::Error> {
    let word = String::deserialize(from)?;
    TaskStatus::from_word(&word).ok_or_else(|| unknown_status(&word, "task"))
}

/// Reads a text, or the first one of a list.
fn first_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Array(list) => Ok(list.first().and_then(Value::as_str).map(str::to_owned)),
        value => Option::deserialize(value).map_err(serde::de::Error::custom),
    }
}
