//! The state of a run at one moment: its phases and tasks, with the words for their status, and the
//! findings on it. What is done, what is next, what may run in parallel, and when the commit after every
//! third phase is due, is derived and never stored.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr};

use crate::base::Malformed;
use crate::base::json::{has_exponent, parse};
use crate::base::time::json::{Always, Maybe};
use crate::model::path_pattern::may_meet;
use crate::model::run_id;

/// Newest known value of `state_version`; a larger one is rejected.
pub const SCHEMA: u32 = 1;

/// State of a run, as it is stored and published. Times are milliseconds since 1970 here, and text
/// there; checkpoints and commits are 40 hex digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Workflow {
    pub state_version: u32,
    /// `<type>_<project>_<YYYYMMDD_HHMMSS>` by default.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub description: String,
    /// Profile in whose files the run is kept, too.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Profile>,
    /// `open`, `complete`, `failed` or `abandoned`.
    #[serde(rename = "outcome")]
    #[schemars(with = "String")]
    pub status: RunStatus,
    #[serde(rename = "created_at", with = "Always")]
    pub created_ms: i64,
    #[serde(rename = "updated_at", with = "Always")]
    pub updated_ms: i64,
    #[serde(rename = "finished_at", with = "Maybe")]
    pub finished_ms: Option<i64>,
    /// Put away: it can be read, and reopened.
    pub is_archived: bool,
    pub resume_count: u64,
    /// Set by an interruption, cleared by a resume.
    pub interrupted: Option<Interruption>,
    /// In the order of the plan.
    pub phases: Vec<Phase>,
    pub tasks: Vec<Task>,
    pub branch: Option<String>,
    pub key_decisions: Vec<String>,
    /// Relative to the root, or absolute where they lie outside it.
    pub file_paths: Vec<String>,
    /// Free state, for the user's programs.
    pub state: Map<String, Value>,
    /// As given: text, or any value from a document of another program.
    pub last_error: Option<Value>,
    pub mini_commits: Vec<MiniCommit>,
    /// Documents of the profile as last read or written, by path in the project: unknown fields
    /// and the order of keys are kept. They are not published.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub documents: BTreeMap<String, Value>,
}

/// When and why a run was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interruption {
    pub reason: String,
    #[serde(rename = "interrupted_at", with = "Always")]
    pub at_ms: i64,
}

/// A checkpoint made after every third phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MiniCommit {
    /// Number of completed phases at the time.
    pub completed_count: usize,
    pub checkpoint_id: Option<String>,
    /// Commit id in the project's own repository, if requested.
    pub commit_sha: Option<String>,
}

impl Workflow {
    /// Makes a run in which nothing has begun.
    pub fn new(id: String, kind: String, project: String, now_ms: i64) -> Self {
        Self {
            state_version: SCHEMA,
            id,
            kind,
            project,
            created_ms: now_ms,
            updated_ms: now_ms,
            ..Self::default()
        }
    }

    /// Serializes the state as it is stored.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// The state is invalid or of a newer schema; the text says why.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Malformed> {
        // Nearly all states: read at once, which takes a fraction of the time.
        let is_whole = |read: &Self| {
            let values = read.documents.values().chain(read.state.values());
            (1..=SCHEMA).contains(&read.state_version)
                && !values.chain(&read.last_error).any(has_exponent)
        };
        if let Some(read) = serde_json::from_slice(bytes).ok().filter(is_whole) {
            return Ok(read);
        }
        let value: Value = parse(bytes).map_err(|why| why.to_string())?;
        let schema = value["state_version"].as_u64();
        let schema = schema.ok_or("it names no version")?;
        if schema > u64::from(SCHEMA) {
            return Err(format!("it has version {schema}; this program knows {SCHEMA}").into());
        }
        let mut read = Self::deserialize(&value).map_err(|why| why.to_string())?;
        // Numbers of other programs keep their spelling.
        for (path, document) in &mut read.documents {
            document.clone_from(&value["documents"][path]);
        }
        if let Some(state) = value["state"].as_object() {
            read.state.clone_from(state);
        }
        read.last_error = read.last_error.map(|_| value["last_error"].clone());
        Ok(read)
    }

    /// Returns the id in a document of another program: not ours if it is no valid ref name or was
    /// taken. One that begins like an option could not be typed.
    pub fn id_in_document(&self) -> Option<&str> {
        let keys = ["workflow_id", "checkpoint_id"];
        let documents = self.documents.values();
        let mut ids = documents.flat_map(|document| keys.map(|key| document.get(key)?.as_str()));
        ids.find_map(|id| id.filter(|id| !id.starts_with('-')))
    }

    /// Returns the id under which a run is shown: that in its document, unless another run has it.
    pub fn named(&self) -> &str {
        let own = self.id_in_document();
        own.filter(|id| !run_id::is_variant(&self.id, id))
            .unwrap_or(&self.id)
    }

    pub fn phase(&self, id: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    pub fn phase_mut(&mut self, id: &str) -> Option<&mut Phase> {
        self.phases.iter_mut().find(|phase| phase.id == id)
    }

    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// Returns the position of a phase in the plan, from 1.
    pub fn number_of(&self, id: &str) -> Option<usize> {
        Some(self.phases.iter().position(|phase| phase.id == id)? + 1)
    }
}

/// A phase of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phase {
    pub id: String,
    pub name: String,
    #[schemars(with = "String")]
    pub status: PhaseStatus,
    /// A file names the phase, but neither the plan nor the format of the file knows it.
    pub is_unplanned: bool,
    /// Ids of the phases that must be settled before it.
    pub dependencies: Vec<String>,
    /// Class of its output; `None` if the plan gives none.
    #[schemars(with = "Option<String>")]
    pub class: Option<Class>,
    /// Patterns of the files that it writes; unknown if empty.
    pub writes: Vec<String>,
    /// The phase commits in the project's own repository.
    pub commits: bool,
    pub requires_approval: bool,
    #[serde(rename = "approved_at", with = "Maybe")]
    pub approved_ms: Option<i64>,
    #[serde(rename = "started_at", with = "Maybe")]
    pub started_ms: Option<i64>,
    #[serde(rename = "completed_at", with = "Maybe")]
    pub completed_ms: Option<i64>,
    /// Note on the progress.
    pub progress: Option<String>,
    /// Commit id in the project's own repository.
    pub commit_sha: Option<String>,
    /// Commit id of the project's HEAD at the start.
    pub head: Option<String>,
    pub outputs: Vec<PhaseOutput>,
    /// Number of starts.
    pub attempts: u32,
    pub last_error: Option<String>,
    /// Checkpoint of the files before the phase.
    pub before_id: Option<String>,
    /// Checkpoint of the files after the phase.
    pub after_id: Option<String>,
}

/// A file that a phase produces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PhaseOutput {
    /// Relative to the root. `*` in the last component is a wildcard; a trailing slash means a
    /// non-empty directory.
    #[serde(rename = "file", alias = "path")]
    pub path: String,
    /// The phase is not complete without it.
    pub required: bool,
    /// SHA-256 of the content when the phase was completed.
    pub sha256: Option<String>,
}

/// What a phase makes, hardest to make again first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Class {
    Issues,
    Commits,
    Files,
    Docs,
    Other,
}

impl Phase {
    pub fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub fn lacks_approval(&self) -> bool {
        self.requires_approval && self.approved_ms.is_none()
    }

    /// Whether the task list is an output of the phase.
    pub fn is_of_tasks(&self) -> bool {
        let mut outputs = self.outputs.iter();
        outputs.any(|output| output.path == EXECUTION_FILE)
    }

    /// Makes the phase pending again; the checkpoint before it and the number of attempts stay.
    pub fn reset(&mut self) {
        self.status = PhaseStatus::Pending;
        (self.started_ms, self.completed_ms, self.approved_ms) = (None, None, None);
        (self.progress, self.last_error) = (None, None);
        (self.commit_sha, self.head, self.after_id) = (None, None, None);
        for output in &mut self.outputs {
            output.sha256 = None;
        }
    }
}

/// A part of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Task {
    pub id: String,
    pub name: Option<String>,
    #[serde(rename = "phase_id", alias = "phase")]
    pub phase: Option<String>,
    #[schemars(with = "String")]
    pub status: TaskStatus,
    /// Number of starts; includes the next one if `is_next_counted`.
    pub attempts: u32,
    /// `attempts` includes the next start.
    pub is_next_counted: bool,
    #[serde(rename = "started_at", with = "Maybe")]
    pub started_ms: Option<i64>,
    #[serde(rename = "completed_at", with = "Maybe")]
    pub completed_ms: Option<i64>,
    /// Path of the file that the task writes, relative to the root.
    pub output: Option<String>,
    pub agent: Option<String>,
    pub note: Option<String>,
}

/// Stored status of a run. All other progress is derived from its phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    #[default]
    Open,
    Complete,
    Failed,
    Abandoned,
}

impl RunStatus {
    pub fn is_open(self) -> bool {
        self == Self::Open
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PhaseStatus {
    #[default]
    #[serde(alias = "todo", alias = "not_started")]
    Pending,
    #[serde(alias = "running", alias = "started", alias = "active")]
    InProgress,
    #[serde(alias = "awaiting_user")]
    AwaitingApproval,
    #[serde(alias = "completed", alias = "done")]
    Complete,
    #[serde(alias = "error")]
    Failed,
    Skipped,
}

impl PhaseStatus {
    /// Whether nothing is left to do, so that dependents may begin.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Complete | Self::Skipped)
    }

    /// Whether it has begun and is not settled; failed ones count.
    pub fn is_under_way(self) -> bool {
        !self.is_settled() && self != Self::Pending
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    #[serde(alias = "todo", alias = "queued")]
    Pending,
    #[serde(alias = "in_progress", alias = "started", alias = "partial")]
    Running,
    #[serde(alias = "completed", alias = "done", alias = "success")]
    Complete,
    #[serde(alias = "error", alias = "timeout", alias = "timed_out")]
    #[serde(alias = "cancelled", alias = "canceled", alias = "aborted")]
    Failed,
    Blocked,
}

/// Reads a status in any spelling.
pub fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    let word = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    serde_json::from_value(Value::from(word)).ok()
}

pub const PHASE_FILE: &str = "memory/state/phase.json";
pub const EXECUTION_FILE: &str = "memory/state/execution.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Profile {
    /// `memory/state/phase.json` and `execution.json`.
    Phases,
    /// `.claude/pipeline-state.json`.
    Pipeline,
    /// `.claude/checkpoints/<id>.json`.
    Registry,
}

/// One error in a document or a run, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable code in JSON.
    pub code: &'static str,
    /// A place in the document, such as `completed_phases[1].timestamp`, or a path.
    pub place: String,
    pub what: String,
}

impl Finding {
    pub fn new(code: &'static str, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            code,
            place: place.into(),
            what: what.into(),
        }
    }
}

/// Number of phases between two of these commits.
pub const EVERY: usize = 3;

/// What is derived from the phases.
impl Workflow {
    /// Whether it has neither ended nor been archived.
    pub fn is_open(&self) -> bool {
        !self.is_archived && self.status.is_open()
    }

    /// Returns the status word of the run: the stored one, else derived from its phases.
    pub fn word(&self) -> &'static str {
        match self.status {
            RunStatus::Complete => "complete",
            RunStatus::Failed => "failed",
            RunStatus::Abandoned => "abandoned",
            RunStatus::Open if self.interrupted.is_some() => "interrupted",
            RunStatus::Open => match self.current() {
                Some(phase) if phase.status == PhaseStatus::AwaitingApproval => "awaiting_approval",
                None if self.completed().next().is_none() => "pending",
                _ => "in_progress",
            },
        }
    }

    /// Returns the phase under way; of several, the first in the plan.
    pub fn current(&self) -> Option<&Phase> {
        self.running().next()
    }

    /// Returns all phases under way, in the order of the plan.
    pub fn running(&self) -> impl Iterator<Item = &Phase> {
        let phases = self.phases.iter();
        phases.filter(|phase| phase.status.is_under_way())
    }

    /// Returns completed phases, in the order of completion.
    pub fn completed(&self) -> impl Iterator<Item = &Phase> {
        let mut done: Vec<&Phase> = self.of(PhaseStatus::Complete).collect();
        done.sort_by_key(|phase| phase.completed_ms);
        done.into_iter()
    }

    /// Returns pending phases, in the order of the plan.
    pub fn remaining(&self) -> impl Iterator<Item = &Phase> {
        self.of(PhaseStatus::Pending)
    }

    /// Returns the phases with a status, in the order of the plan.
    pub fn of(&self, status: PhaseStatus) -> impl Iterator<Item = &Phase> {
        let phases = self.phases.iter();
        phases.filter(move |phase| phase.status == status)
    }

    pub fn is_all_settled(&self) -> bool {
        !self.phases.is_empty() && self.phases.iter().all(|phase| phase.status.is_settled())
    }

    /// Marks an open run as complete if all its phases are settled.
    pub fn end_if_settled(&mut self, now_ms: i64) {
        if self.status.is_open() && self.is_all_settled() {
            self.end(RunStatus::Complete, now_ms);
        }
    }

    /// Returns the dependencies of a phase that are not settled.
    pub fn unmet(&self, phase: &Phase) -> Vec<String> {
        let is_settled = |phase: &Phase| phase.status.is_settled();
        let is_met = |id: &&String| self.phase(id).is_some_and(is_settled);
        let unmet = phase.dependencies.iter().filter(|id| !is_met(id));
        unmet.cloned().collect()
    }

    /// Returns the tasks of a phase. A task without a known phase belongs to the task phase, or to
    /// every phase if there is none.
    pub fn tasks_of<'w>(&'w self, phase: &'w Phase) -> impl Iterator<Item = &'w Task> {
        let takes_others = phase.is_of_tasks() || !self.phases.iter().any(Phase::is_of_tasks);
        let tasks = self.tasks.iter();
        tasks.filter(move |task| match task.phase.as_deref() {
            Some(id) if self.phase(id).is_some() => id == phase.id,
            _ => takes_others,
        })
    }

    /// Returns the phase to work on: the one under way, else the first with settled dependencies.
    pub fn next(&self) -> Option<&Phase> {
        self.current()
            .or_else(|| self.remaining().find(|phase| self.unmet(phase).is_empty()))
    }

    /// Returns phases that may begin in parallel with those under way: dependencies settled, no
    /// shared files, and at most one that commits.
    pub fn ready(&self) -> Vec<&Phase> {
        let mut beside: Vec<&Phase> = self.running().collect();
        let mut ready = Vec::new();
        for phase in self.remaining() {
            let may_run_beside = |other: &&Phase| may_run_in_parallel(phase, other);
            if self.unmet(phase).is_empty() && beside.iter().all(may_run_beside) {
                beside.push(phase);
                ready.push(phase);
            }
        }
        ready
    }

    /// Returns the percentage of settled phases.
    pub fn percent(&self) -> usize {
        let is_settled = |phase: &&Phase| phase.status.is_settled();
        let settled = self.phases.iter().filter(is_settled).count();
        let percent = (settled * 100).checked_div(self.phases.len());
        percent.unwrap_or_default()
    }

    /// Returns the phases that the checkpoint due now covers, numbered from 1 in order of completion;
    /// missed ones are included.
    pub fn mini_commit_due(&self) -> Option<RangeInclusive<usize>> {
        self.due(0, |_| true)
    }

    /// As [`Self::mini_commit_due`], for the commit in the project's own repository, once `more`
    /// phases are done.
    pub fn project_commit_due(&self, more: usize) -> Option<RangeInclusive<usize>> {
        self.due(more, |made| made.commit_sha.is_some())
    }

    fn due(&self, more: usize, counts: fn(&&MiniCommit) -> bool) -> Option<RangeInclusive<usize>> {
        let last = (self.completed().count() + more) / EVERY * EVERY;
        let made = self.mini_commits.iter().filter(counts);
        let made = made.map(|made| made.completed_count).max();
        let first = made.unwrap_or_default() + 1;
        (last >= first).then_some(first..=last)
    }

    /// Returns the commit message; phases are numbered in order of completion.
    pub fn mini_commit_message(&self, range: &RangeInclusive<usize>) -> String {
        let phases = match (range.start(), range.end()) {
            (first, last) if first == last => format!("phase {first}"),
            (first, last) => format!("phases {first}-{last}"),
        };
        let mut message = format!("checkpoint: {phases} complete\n\nCompleted:\n");
        let numbered = self.completed().zip(1..);
        for (phase, number) in numbered.filter(|(_, number)| range.contains(number)) {
            let name: Vec<&str> = phase.name.split_whitespace().collect();
            message += &format!("- Phase {number}: {}\n", name.join(" "));
        }
        let phases = self.phases.iter();
        let remaining = phases.filter(|phase| !phase.status.is_settled()).count();
        let author = "Co-Authored-By: Claude <noreply@anthropic.com>";
        message + &format!("\nRemaining: {remaining} phases\n\n{author}\n")
    }
}

/// Whether two phases neither share files nor both commit. What a phase without patterns writes is
/// unknown, and counts as nothing.
pub fn may_run_in_parallel(one: &Phase, other: &Phase) -> bool {
    !(one.commits && other.commits || may_meet(&one.writes, &other.writes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back_and_a_newer_schema_is_refused() {
        let mut workflow = Workflow::new("a_b_20260101_000000".into(), "a".into(), "b".into(), 5);
        workflow.phases.push(Phase::new("one", "One"));
        workflow.state.insert("z".into(), Value::from(1));
        workflow.state.insert("a".into(), Value::Null);
        let text = workflow.to_json();
        assert_eq!(Workflow::from_json(text.as_bytes()), Ok(workflow));
        let newer = text.replacen("\"state_version\": 1", "\"state_version\": 2", 1);
        let why = Workflow::from_json(newer.as_bytes()).unwrap_err();
        assert!(why.to_string().contains("version 2"), "{why}");
        assert!(Workflow::from_json(b"{}").is_err());
    }

    /// Phases `id:what it writes`, with `!` if it commits and `<a` if it depends on `a`.
    fn with(words: &str) -> Workflow {
        let mut workflow = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        for word in words.split(' ') {
            let (id, writes) = word.split_once(':').unwrap();
            let (writes, dependency) = writes.split_once('<').unwrap_or((writes, ""));
            let mut phase = Phase::new(id, id);
            phase.dependencies = dependency
                .split_terminator(' ')
                .map(str::to_owned)
                .collect();
            phase.writes = vec![writes.trim_end_matches('!').to_owned()];
            phase.commits = writes.ends_with('!');
            workflow.phases.push(phase);
        }
        workflow
    }

    fn ready(workflow: &Workflow) -> Vec<&str> {
        workflow.ready().iter().map(|phase| &*phase.id).collect()
    }

    #[test]
    fn side_by_side_goes_what_shares_no_file_and_no_commit() {
        let mut workflow = with("a:src/a/** b:src/b/*.rs! c:src/a/x d:docs<a e:e!");
        assert_eq!(ready(&workflow), ["a", "b"]);
        workflow.phases[0].status = PhaseStatus::Complete;
        assert_eq!(ready(&workflow), ["b", "c", "d"]);
        workflow.phases[1].status = PhaseStatus::InProgress;
        assert_eq!(ready(&workflow), ["c", "d"]);
        let next = workflow.next().map(|phase| &*phase.id);
        assert_eq!((next, workflow.percent()), (Some("b"), 20));
    }

    #[test]
    fn a_skipped_phase_is_settled() {
        let mut workflow = with("a:a b:b<a");
        assert_eq!(workflow.word(), "pending");
        workflow.phases[0].status = PhaseStatus::Skipped;
        assert_eq!(ready(&workflow), ["b"]);
        workflow.phases[1].status = PhaseStatus::Complete;
        assert!(workflow.is_all_settled());
    }

    /// Eight phases, of which the first are done.
    fn with_done(completed: usize) -> Workflow {
        let mut workflow = with("1:x 2:x 3:x 4:x 5:x 6:x 7:x 8:x");
        for (phase, number) in workflow.phases.iter_mut().zip(1..) {
            phase.name = format!("Name\n{number}");
        }
        for (phase, number) in workflow.phases[..completed].iter_mut().zip(1..) {
            (phase.status, phase.completed_ms) = (PhaseStatus::Complete, Some(number));
        }
        workflow
    }

    fn mini_commit(count: usize, checkpoint: Option<&str>, commit: Option<&str>) -> MiniCommit {
        MiniCommit {
            completed_count: count,
            checkpoint_id: checkpoint.map(str::to_owned),
            commit_sha: commit.map(str::to_owned),
        }
    }

    #[test]
    fn a_mini_commit_is_due_after_every_third_phase_and_stays_due_until_it_is_made() {
        for (completed, due) in [
            (0, None),
            (2, None),
            (3, Some(1..=3)),
            (4, Some(1..=3)),
            (6, Some(1..=6)),
        ] {
            assert_eq!(with_done(completed).mini_commit_due(), due, "{completed}");
        }
        let mut workflow = with_done(5);
        workflow.mini_commits.push(mini_commit(3, None, None));
        assert_eq!(workflow.mini_commit_due(), None);
        workflow.phases[5].status = PhaseStatus::Complete;
        assert_eq!(workflow.mini_commit_due(), Some(4..=6));
    }

    #[test]
    fn the_commit_in_the_project_stays_due_when_the_checkpoint_is_made() {
        let mut workflow = with_done(6);
        workflow.mini_commits.push(mini_commit(6, Some("c"), None));
        let due = (workflow.mini_commit_due(), workflow.project_commit_due(0));
        assert_eq!(due, (None, Some(1..=6)));
        workflow.mini_commits.push(mini_commit(3, None, Some("a")));
        assert_eq!(workflow.project_commit_due(0), Some(4..=6));
    }

    #[test]
    fn the_message_of_a_mini_commit_names_the_phases_and_what_remains() {
        let message = with_done(6).mini_commit_message(&(4..=6));
        let expected = "checkpoint: phases 4-6 complete\n\nCompleted:\n- Phase 4: Name 4\n- Phase 5: Name 5\n\
            - Phase 6: Name 6\n\nRemaining: 2 phases\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n";
        assert_eq!(message, expected);
    }
}
