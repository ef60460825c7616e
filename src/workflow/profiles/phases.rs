//! The phases profile: a phase file, and a file for the tasks in the phase.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::base::Spelling;
use crate::model::path_pattern::has_marks;
use crate::model::run_id;
use crate::workflow::plan::{self, DOTAGENT};
use crate::workflow::profiles::adopt::{
    PhaseListing, PhaseProgress, RunFacts, adopt, is_output_of,
};
use crate::workflow::profiles::format::{
    check_ids, check_run, known, name, new_run, project_of, sort_as_in, time_of, unless_left_out,
    with_fields_of, word,
};
use crate::workflow::rules::workflow::PHASE_FILE;
use crate::workflow::{
    Finding, Format, Phase, PhaseStatus, RunStatus, Task, TaskStatus, Time, Workflow,
};

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = "memory/state/.archive";

#[derive(Serialize, Deserialize)]
pub struct PhaseFile {
    #[serde(deserialize_with = "name")]
    workflow_id: String,
    started_at: Time,
    last_updated: Time,
    #[serde(deserialize_with = "name")]
    current_phase: String,
    #[serde(deserialize_with = "word")]
    phase_status: PhaseStatus,
    completed_phases: Vec<DonePhase>,
    user_checkpoints: Option<Vec<Approved>>,
    interruption_safe: Option<bool>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct DonePhase {
    #[serde(deserialize_with = "name")]
    phase: String,
    completed_at: Time,
    output: Option<String>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct Approved {
    #[serde(deserialize_with = "name")]
    phase: String,
    approved_at: Time,
}

impl PhaseFile {
    /// Returns every phase that the document names.
    fn names(&self) -> impl Iterator<Item = &String> {
        let completed = self.completed_phases.iter().map(|entry| &entry.phase);
        let approved = self.user_checkpoints.iter().flatten();
        let approved = approved.map(|entry| &entry.phase);
        completed.chain([&self.current_phase]).chain(approved)
    }

    fn completed(&self, id: &str) -> Option<&DonePhase> {
        self.completed_phases.iter().find(|entry| entry.phase == id)
    }

    /// Returns when a phase was approved; a document without approvals does not change that.
    fn approved(&self, id: &str, run: &Workflow) -> Option<Time> {
        let Some(approvals) = &self.user_checkpoints else {
            return run.phase(id)?.approved_ms.map(Time);
        };
        let approval = approvals.iter().find(|entry| entry.phase == id);
        approval.map(|entry| entry.approved_at)
    }

    /// Whether the run is complete: without a next phase, `complete` describes the current one.
    fn is_over(&self, run: &Workflow) -> bool {
        let current = &self.current_phase;
        self.phase_status == PhaseStatus::Complete
            && run.phases.last().is_none_or(|last| last.id == *current)
            && (DOTAGENT.last() == Some(&&**current) || self.completed(current).is_some())
    }

    /// Returns the status of a phase. `complete` describes the previous phase, while the current one
    /// is already the next and has not begun; a phase that is redone is current and listed.
    fn status_of(&self, id: &str, run: &Workflow) -> PhaseStatus {
        let is_current = self.current_phase == id;
        if is_current && self.phase_status.is_under_way() {
            self.phase_status
        } else if self.completed(id).is_some() || (is_current && self.is_over(run)) {
            PhaseStatus::Complete
        } else {
            PhaseStatus::Pending
        }
    }

    /// Returns the progress of the planned phases and of those that the document names.
    fn progress(&self, run: &Workflow) -> RunFacts {
        let mut ids = planned(run);
        if ids.is_empty() {
            ids = run.phases.iter().map(|phase| phase.id.as_str()).collect();
        }
        for name in self.names() {
            if !ids.contains(&name.as_str()) {
                ids.push(name);
            }
        }
        let phases = ids.into_iter().map(|id| PhaseProgress {
            id: id.to_owned(),
            name: run.phase(id).map(|phase| phase.name.clone()),
            status: self.status_of(id, run),
            completed: self.completed(id).map(|entry| entry.completed_at),
            output: self.completed(id).and_then(|entry| entry.output.clone()),
            approved: self.approved(id, run),
            ..PhaseProgress::default()
        });
        let over = self.is_over(run).then_some(RunStatus::Complete);
        let completed = self.completed_phases.iter();
        RunFacts {
            created: self.started_at,
            updated: self.last_updated,
            status: over.unwrap_or_default(),
            phases: phases.collect(),
            listed: completed.map(|entry| entry.phase.clone()).collect(),
            named: Some(self.current_phase.clone()),
        }
    }

    /// A document that names one of the five phases has them all.
    pub fn begin(self, root: &str) -> Workflow {
        let ids = [self.workflow_id.clone(), run_id::word(&self.workflow_id)];
        let is_usable = |id: &&String| run_id::is_legal(id) && !run_id::is_empty_word(id);
        let id = ids.iter().find(is_usable).map(String::as_str);
        let mut run = new_run(id, "develop", project_of(root), self.started_at);
        let mut names = self.names().map(|name| name.to_ascii_uppercase());
        if names.any(|name| DOTAGENT.contains(&&*name)) {
            run.phases = plan::preset("dotagent").unwrap_or_default();
        }
        run
    }
}

impl Format for PhaseFile {
    fn usual(mut self, _: &Value, run: &Workflow, _: &str) -> Self {
        self.phase_status = match self.phase_status {
            PhaseStatus::AwaitingApproval => PhaseStatus::InProgress,
            PhaseStatus::Skipped => PhaseStatus::Complete,
            status => status,
        };
        // The phases of the plan in any case.
        let respell = |name: &mut String| {
            let mut known = run.phases.iter().map(|phase| &phase.id);
            let known = known.find(|id| id.eq_ignore_ascii_case(name));
            if let Some(known) = known.filter(|_| run.phase(name).is_none()) {
                name.clone_from(known);
            }
        };
        let approved = self.user_checkpoints.iter_mut().flatten();
        let names = approved.map(|entry| &mut entry.phase);
        let names = names.chain([&mut self.current_phase]);
        let completed = self.completed_phases.iter_mut();
        names
            .chain(completed.map(|entry| &mut entry.phase))
            .for_each(respell);
        self
    }

    fn of_run(run: &Workflow, was: Option<&Self>, _: &str) -> Self {
        let listing = PhaseListing::of(run, was.map(|was| was.progress(run)));
        let current = listing.current.filter(|_| !listing.is_over);
        let current = current.or(run.phases.last());
        let current_id = current.map(|phase| phase.id.clone()).unwrap_or_default();
        let status = current.map(|phase| phase.status).unwrap_or_default();
        let same = was.filter(|_| listing.is_described);
        let has_begun = status.is_under_way() || !listing.done.is_empty();
        // A phase that is redone is listed, too.
        let again = run.running().filter(|phase| phase.completed_ms.is_some());
        let mut done: Vec<&Phase> = listing.done.into_iter().chain(again).collect();
        let known = was.map_or(&[][..], |was| &was.completed_phases[..]);
        sort_as_in(&mut done, known, |one, known| one.id == known.phase);
        if let Some(was) = same {
            // The last phase may be complete without being in the list.
            done.retain(|phase| was.completed(&phase.id).is_some());
        }
        let approval = |phase: &Phase| {
            let (phase, approved_at) = (phase.id.clone(), Time(phase.approved_ms?));
            Some(Approved { phase, approved_at })
        };
        let mut approvals: Vec<Approved> = run.phases.iter().filter_map(approval).collect();
        approvals.sort_by_key(|entry| entry.approved_at.0);
        let known = was.and_then(|was| was.user_checkpoints.as_deref());
        sort_as_in(&mut approvals, known.unwrap_or_default(), |one, known| {
            one.phase == known.phase
        });
        let completed = |phase: &Phase| completed(run, was, phase);
        Self {
            // An id that is not valid for a run stays in the document.
            workflow_id: was.map_or(&run.id, |was| &was.workflow_id).clone(),
            started_at: Time(run.created_ms),
            last_updated: Time(run.updated_ms),
            current_phase: same.map_or(current_id, |was| was.current_phase.clone()),
            phase_status: match (same, status) {
                (Some(was), _) => was.phase_status,
                _ if listing.is_over => PhaseStatus::Complete,
                (_, PhaseStatus::Failed) => PhaseStatus::Failed,
                _ if run.status == RunStatus::Failed => PhaseStatus::Failed,
                // Between two phases, too: readers resume a run only with that word.
                _ if has_begun => PhaseStatus::InProgress,
                _ => PhaseStatus::Pending,
            },
            completed_phases: done.into_iter().map(completed).collect(),
            user_checkpoints: unless_left_out(approvals, was.map(|was| &was.user_checkpoints)),
            // A flag cleared by another writer stays so until our next transition.
            interruption_safe: was.map_or(Some(true), |was| was.interruption_safe),
        }
    }

    fn adopt(&self, present: &Self, run: &mut Workflow, _: &str) -> Vec<Finding> {
        let completed = self.completed_phases.iter();
        let mut findings = check_ids("completed_phases", completed.map(|entry| &entry.phase));
        if run.documents.contains_key(PHASE_FILE) {
            let (named, known) = (&self.workflow_id, &present.workflow_id);
            findings.extend(check_run("workflow_id", named, known));
        }
        let (edited, known) = (self.progress(run), present.progress(run));
        findings.extend(adopt(run, &edited, &known));
        findings
    }
}

fn completed(run: &Workflow, was: Option<&PhaseFile>, phase: &Phase) -> DonePhase {
    let known = was.and_then(|was| was.completed(&phase.id));
    let known_at = known.map_or(Time(run.updated_ms), |entry| entry.completed_at);
    // A pattern is not a file to look for.
    let mut outputs = phase.outputs.iter().map(|output| &output.path);
    let first = outputs.find(|path| !has_marks(path.as_bytes()));
    let output = known.map_or(first, |entry| {
        let path = entry.output.as_ref()?;
        first.filter(|_| !is_output_of(phase, path)).or(Some(path))
    });
    DonePhase {
        phase: phase.id.clone(),
        completed_at: phase.completed_ms.map_or(known_at, Time),
        output: output.cloned(),
    }
}

/// Returns the current phase of the file if it has not begun, and the status in the file.
pub fn named_unbegun(run: &Workflow) -> Option<(&Phase, &'static str)> {
    let document: PhaseFile = known(run, PHASE_FILE, "")?;
    let phase = run.phase(&document.current_phase)?;
    (phase.status == PhaseStatus::Pending).then(|| (phase, document.phase_status.into_str()))
}

fn planned(run: &Workflow) -> Vec<&str> {
    let planned = run.phases.iter().filter(|phase| !phase.is_unplanned);
    planned.map(|phase| phase.id.as_str()).collect()
}

/// Returns the phases that a file may name: the planned ones, else the five.
pub fn known_names(run: &Workflow) -> Vec<&str> {
    let planned = Some(planned(run)).filter(|names| !names.is_empty());
    planned.unwrap_or(DOTAGENT.to_vec())
}

/// The task file: `{"workflow_id", "updated_at", "tasks": [{"id", …}]}`. Tasks may also be an object
/// keyed by id.
#[derive(Serialize, Deserialize)]
pub struct Execution {
    workflow_id: Option<Value>,
    /// The last change of a task.
    updated_at: Option<Time>,
    #[serde(default)]
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
        let is_list_to_be = |tasks: &&mut Value| tasks.is_object() || tasks.is_null();
        let Some(tasks) = value.get_mut("tasks").filter(is_list_to_be) else {
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

    fn adopt(&self, present: &Self, run: &mut Workflow, _: &str) -> Vec<Finding> {
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
        check_ids("tasks", self.tasks.iter().map(|task| &task.id))
    }
}

/// Reads a text, or the first one of a list.
fn first_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Array(list) => Ok(list.first().and_then(Value::as_str).map(str::to_owned)),
        value => Option::deserialize(value).map_err(serde::de::Error::custom),
    }
}
