//! The pipeline profile: one file with completed, current and remaining phases.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::model::run_id;
use crate::workflow::plan;
use crate::workflow::profiles::adopt::{PhaseProgress, Progress, adopt};
use crate::workflow::profiles::format::{
    Aliases, Format, Time, duplicate, is_nothing, missing, name, project_of, read, sort_as_in,
    unless_left_out,
};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

pub const FILE: &str = ".claude/pipeline-state.json";
/// Archive folder for the files of runs.
pub const ARCHIVE: &str = ".claude/.archive";

#[derive(Serialize, Deserialize)]
pub struct Pipeline {
    /// Append-only.
    completed_phases: Vec<Entry>,
    #[serde(deserialize_with = "entry_or_nothing")]
    current_phase: Option<Entry>,
    remaining_phases: Vec<Entry>,
    context_summary: ContextSummary,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(deserialize_with = "name")]
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies: Option<Vec<String>>,
    /// As in a plan; the format itself has no such key.
    #[serde(
        default,
        deserialize_with = "known_word",
        skip_serializing_if = "Option::is_none"
    )]
    status: Option<PhaseStatus>,
}

#[derive(Serialize, Deserialize)]
struct ContextSummary {
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_decisions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_paths: Option<Vec<String>>,
    #[serde(
        default,
        deserialize_with = "text_if",
        skip_serializing_if = "Option::is_none"
    )]
    task_description: Option<String>,
}

/// One of the three places for phases in a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Completed,
    Current,
    Remaining,
}

impl Place {
    /// Returns the status of a phase in this place. Programs move entries with their old status
    /// word, so the place wins over a word that does not fit; a current one with a note has begun.
    fn status(self, entry: &Entry) -> PhaseStatus {
        match (self, entry.status) {
            (Self::Completed, Some(PhaseStatus::Skipped)) => PhaseStatus::Skipped,
            (Self::Completed, _) => PhaseStatus::Complete,
            (Self::Current, Some(PhaseStatus::Pending)) if entry.progress_description.is_none() => {
                PhaseStatus::Pending
            }
            (
                Self::Current,
                Some(status @ (PhaseStatus::Failed | PhaseStatus::AwaitingApproval)),
            ) => status,
            (Self::Current, _) => PhaseStatus::InProgress,
            (Self::Remaining, Some(status)) if status.is_under_way() => status,
            (Self::Remaining, _) => PhaseStatus::Pending,
        }
    }
}

impl Pipeline {
    /// Returns the entries with their places, completed ones first.
    fn entries(&self) -> impl Iterator<Item = (Place, &Entry)> {
        let completed = self
            .completed_phases
            .iter()
            .map(|entry| (Place::Completed, entry));
        let current = self
            .current_phase
            .iter()
            .map(|entry| (Place::Current, entry));
        let remaining = self
            .remaining_phases
            .iter()
            .map(|entry| (Place::Remaining, entry));
        completed.chain(current).chain(remaining)
    }

    fn entry(&self, id: &str) -> Option<(Place, &Entry)> {
        self.entries().find(|(_, entry)| entry.id == id)
    }

    fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        let current = self
            .completed_phases
            .iter_mut()
            .chain(&mut self.current_phase);
        current.chain(&mut self.remaining_phases)
    }

    fn listed(&self) -> Vec<&str> {
        self.completed_phases
            .iter()
            .map(|entry| entry.id.as_str())
            .collect()
    }

    /// Checks times of completion, ids and dependencies.
    fn check(&self) -> Result<(), Finding> {
        let count = self.completed_phases.len();
        let place = |at: usize| match at.checked_sub(count) {
            None => format!("completed_phases[{at}]"),
            Some(0) if self.current_phase.is_some() => "current_phase".to_owned(),
            Some(at) => {
                format!(
                    "remaining_phases[{}]",
                    at - usize::from(self.current_phase.is_some())
                )
            }
        };
        let ids: BTreeSet<&str> = self.entries().map(|(_, entry)| entry.id.as_str()).collect();
        let mut seen = BTreeSet::new();
        for (at, (status, entry)) in self.entries().enumerate() {
            if status == Place::Completed && entry.timestamp.is_none() {
                return Err(missing(&place(at), "timestamp"));
            }
            if !seen.insert(entry.id.as_str()) {
                return Err(duplicate(format!("{}.id", place(at)), &entry.id));
            }
            let mut dependencies = entry.dependencies.iter().flatten().enumerate();
            if let Some((number, id)) = dependencies.find(|(_, id)| !ids.contains(id.as_str())) {
                let place = format!("{}.dependencies[{number}]", place(at));
                return Err(plan::unknown_dependency(&entry.id, id, place));
            }
        }
        Ok(())
    }

    fn progress(&self, root: &str) -> Progress {
        let phases = self.entries().map(|(place, entry)| PhaseProgress {
            id: entry.id.clone(),
            name: Some(entry.name.clone()),
            status: place.status(entry),
            completed: entry.timestamp.filter(|_| place == Place::Completed),
            commit_sha: entry.commit_sha.clone(),
            note: entry.progress_description.clone(),
            dependencies: entry.dependencies.clone(),
            ..PhaseProgress::default()
        });
        let context = &self.context_summary;
        let paths = context.file_paths.as_ref();
        Progress {
            created: self.created_at,
            updated: self.updated_at,
            description: context.task_description.clone(),
            branch: context.branch.clone(),
            key_decisions: context.key_decisions.clone(),
            file_paths: paths.map(|paths| {
                paths
                    .iter()
                    .map(|path| relative(path, root).into_owned())
                    .collect()
            }),
            phases: phases.collect(),
            phases_at: "current_phase",
            ..Progress::default()
        }
    }
}

impl Format for Pipeline {
    const ALIASES: Aliases = &[
        plan::DEPENDENCY_KEYS,
        &["task_description", "description", "task"],
    ];

    fn checked(mut self, _: &Value, _: &Workflow, root: &str) -> Result<Self, Finding> {
        self.check()?;
        for entry in self.entries_mut() {
            entry.progress_description.take_if(|note| note.is_empty());
        }
        for path in self.context_summary.file_paths.iter_mut().flatten() {
            *path = absolute(&relative(path, root), root);
        }
        Ok(self)
    }

    fn of_run(run: &Workflow, was: Option<&Self>, root: &str) -> Self {
        let listed = was.map(Self::listed).unwrap_or_default();
        let mut done: Vec<&Phase> = run
            .phases
            .iter()
            .filter(|phase| phase.is_done_in(&listed))
            .collect();
        done.sort_by_key(|phase| phase.completed_ms);
        sort_as_in(&mut done, &listed, |phase, id| phase.id == *id);
        let current = current(run, was, listed.len() == done.len());
        let is_left = |phase: &&Phase| {
            !phase.status.is_settled() && current.is_none_or(|current| current.id != phase.id)
        };
        let written = |phase: &Phase, place: Place| entry(run, was, phase, place);
        let listed = |phases: Vec<&Phase>, place: Place| {
            phases
                .into_iter()
                .map(|phase| written(phase, place))
                .collect()
        };
        let context = was.map(|was| &was.context_summary);
        let notes = &run.context;
        let paths = notes
            .file_paths
            .iter()
            .map(|path| absolute(path, root))
            .collect();
        let decisions = context.map(|was| &was.key_decisions);
        let has_description = context.is_some_and(|was| was.task_description.is_some());
        Self {
            completed_phases: listed(done, Place::Completed),
            current_phase: current.map(|phase| written(phase, Place::Current)),
            remaining_phases: listed(
                run.phases.iter().filter(is_left).collect(),
                Place::Remaining,
            ),
            context_summary: ContextSummary {
                branch: unless_left_out(
                    notes.branch.clone().unwrap_or_default(),
                    context.map(|was| &was.branch),
                ),
                key_decisions: unless_left_out(notes.key_decisions.clone(), decisions),
                file_paths: unless_left_out(paths, context.map(|was| &was.file_paths)),
                task_description: has_description.then(|| run.description.clone()),
            },
            created_at: Time(run.created_ms),
            updated_at: Time(run.updated_ms),
        }
    }

    fn adopt(&self, ours: &Self, run: &mut Workflow, root: &str) -> Result<(), Finding> {
        let listed = self.listed();
        let lost = ours.listed().into_iter().find(|id| !listed.contains(id));
        let adopted = match lost {
            Some(id) => {
                let what = format!("'{id}' is complete but no longer listed; this list only grows");
                Err(Finding::new("append_only", "completed_phases", what))
            }
            None => adopt(run, self.progress(root), &ours.progress(root)),
        };
        // The format has no ids: a run is identified by its creation time.
        if adopted.is_err() && self.created_at != ours.created_at {
            let what = "it was begun at another time, and what was done is not in it: it is of another run";
            return Err(Finding::new("other_run", "created_at", what));
        }
        adopted?;
        plan::find_cycle(&run.phases, "remaining_phases").map_or(Ok(()), Err)
    }
}

/// Returns the phase for the one place of a current phase: one under way, else one that could begin.
fn current<'w>(run: &'w Workflow, was: Option<&Pipeline>, is_unmoved: bool) -> Option<&'w Phase> {
    let said = was.map(|was| was.current_phase.as_ref());
    let known = said.flatten().and_then(|said| run.phase(&said.id));
    if run.current().is_some() {
        return known
            .filter(|phase| phase.status.is_under_way())
            .or_else(|| run.current());
    }
    // The document says that nothing is under way, and nothing has changed since.
    let is_none = is_unmoved && said.is_some_and(|said| said.is_none());
    if is_none || run.status == RunStatus::Complete {
        return None;
    }
    let can_begin =
        |phase: &&Phase| !phase.status.is_settled() && (is_unmoved || run.unmet(phase).is_empty());
    known.filter(can_begin).or_else(|| run.next())
}

/// Describes one phase. Fields that do not belong to the place stay only where they were.
fn entry(run: &Workflow, was: Option<&Pipeline>, phase: &Phase, place: Place) -> Entry {
    let known = was.and_then(|was| was.entry(&phase.id));
    let here = known
        .filter(|(was, _)| *was == place)
        .map(|(_, entry)| entry);
    let known_time = known.and_then(|(_, entry)| entry.timestamp);
    let done_at = || {
        phase
            .completed_ms
            .map(Time)
            .or(known_time)
            .unwrap_or(Time(run.updated_ms))
    };
    let known_sha = known.and_then(|(_, entry)| entry.commit_sha.as_ref());
    let has_sha = place == Place::Completed || here.is_some_and(|entry| entry.commit_sha.is_some());
    let sha = phase.commit_sha.as_ref().filter(|_| has_sha);
    let has_note =
        place == Place::Current || here.is_some_and(|entry| entry.progress_description.is_some());
    let note = phase
        .progress
        .as_ref()
        .filter(|note| has_note && !note.is_empty());
    // Skipped phases are in no list of the document.
    let is_listed = |id: &&String| {
        let phase = run.phase(id);
        phase.is_none_or(|phase| phase.status != PhaseStatus::Skipped)
            || was.is_some_and(|was| was.listed().contains(&id.as_str()))
    };
    let dependencies: Vec<String> = phase
        .dependencies
        .iter()
        .filter(is_listed)
        .cloned()
        .collect();
    let has_dependencies = match here {
        Some(entry) if entry.dependencies.is_some() => true,
        Some(_) => place == Place::Remaining && !dependencies.is_empty(),
        None => place == Place::Remaining,
    };
    let status = known.and_then(|(was, entry)| {
        let is_same = was == place && place.status(entry) == phase.status;
        entry
            .status
            .map(|word| if is_same { word } else { phase.status })
    });
    Entry {
        id: phase.id.clone(),
        name: phase.name.clone(),
        timestamp: if place == Place::Completed {
            Some(done_at())
        } else {
            here.and_then(|entry| entry.timestamp)
        },
        commit_sha: sha.map(|sha| {
            known_sha
                .filter(|known| is_same_commit(known, sha))
                .unwrap_or(sha)
                .clone()
        }),
        progress_description: note.cloned(),
        dependencies: has_dependencies.then_some(dependencies),
        status,
    }
}

/// Whether one commit id abbreviates the other.
fn is_same_commit(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    one == other
        || (one.len().min(other.len()) >= SHORTEST
            && (one.starts_with(&other) || other.starts_with(&one)))
}

/// Makes a run without phases. The document has no id; the run gets a new one.
///
/// # Errors
/// The first error in the document.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Finding> {
    let document: Pipeline = read(value, &Workflow::default(), root)?;
    let created_ms = document.created_at.0;
    let named = value
        .get("workflow_id")
        .or_else(|| value.get("checkpoint_id"));
    let named = named
        .and_then(Value::as_str)
        .filter(|id| run_id::is_legal(id));
    let project = project_of(root);
    let id = named.map_or_else(
        || run_id::make("pipeline", project, created_ms),
        str::to_owned,
    );
    Ok(Workflow::new(
        id,
        "pipeline".to_owned(),
        project.to_owned(),
        created_ms,
    ))
}

fn entry_or_nothing<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Entry>, D::Error> {
    let value = Value::deserialize(from)?;
    if is_nothing(&value) {
        return Ok(None);
    }
    Entry::deserialize(value)
        .map(Some)
        .map_err(D::Error::custom)
}

/// Reads a status, leaving out words that are none.
fn known_word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PhaseStatus>, D::Error> {
    Ok(text_if(from)?.and_then(|word| PhaseStatus::from_word(&word)))
}

/// Reads a text, leaving out other values.
fn text_if<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(from)?.as_str().map(str::to_owned))
}

/// Whether a root is spelled as on Windows; so are then the absolute paths of the document.
fn is_of_windows(root: &str) -> bool {
    let has_drive = matches!(root.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    has_drive || root.starts_with(r"\\")
}

/// Returns the path as in the run, with slashes: relative if below the root, else unchanged.
fn relative<'p>(path: &'p str, root: &str) -> Cow<'p, str> {
    if !is_of_windows(root) {
        return below(path, root).into();
    }
    let slashed = path.replace('\\', "/");
    match below(&slashed, &root.replace('\\', "/")) {
        same if same == slashed && is_absolute(path) => path.into(),
        inside => inside.to_owned().into(),
    }
}

fn below<'p>(path: &'p str, root: &str) -> &'p str {
    let root = root.trim_end_matches('/');
    let below = path
        .strip_prefix(root)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|rest| !rest.is_empty());
    let path = if root.is_empty() {
        path
    } else {
        below.unwrap_or(path)
    };
    path.strip_prefix("./").unwrap_or(path)
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':')
}

/// Returns the path as in the document.
fn absolute(path: &str, root: &str) -> String {
    if is_absolute(path) || root.is_empty() {
        path.to_owned()
    } else if is_of_windows(root) {
        format!(r"{}\{path}", root.trim_end_matches('\\')).replace('/', r"\")
    } else {
        format!("{}/{path}", root.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_inside_and_absolute_in_the_document() {
        for (path, root, inside) in [
            ("/r/a/b", "/r", "a/b"),
            ("/r/a", "/r/", "a"),
            ("/rest/a", "/r", "/rest/a"),
            ("./a", "/r", "a"),
            ("a", "/r", "a"),
            ("/r", "/r", "/r"),
            ("/a", "", "/a"),
            (r"C:\r\a\b", r"C:\r", "a/b"),
            ("C:/r/a/b", r"C:\r", "a/b"),
            (r"a\b", r"C:\r", "a/b"),
            (r"D:\a", r"C:\r", r"D:\a"),
            (r"a\b", "/r", r"a\b"),
            (r"a\b", "/:x", r"a\b"),
            (r"/:x/a\b", "/:x", r"a\b"),
        ] {
            assert_eq!(relative(path, root), inside, "{path} {root}");
        }
        assert_eq!(absolute("a", "/r/"), "/r/a");
        assert_eq!(absolute("/x", "/r"), "/x");
        assert_eq!(absolute("C:\\x", "/r"), "C:\\x");
        assert_eq!(absolute("a/b", r"C:\r"), r"C:\r\a\b");
        assert_eq!(absolute(r"a\b", "/:x"), r"/:x/a\b");
    }
}
