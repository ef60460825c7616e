//! The pipeline profile: one file with completed, current and remaining phases.

use std::iter::repeat;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::base::Spelling;
use crate::base::json::merge::is_nothing;
use crate::workflow::profiles::adopt::{PhaseListing, PhaseProgress, RunFacts, adopt};
use crate::workflow::profiles::format::{new_run, project_of, unless_left_out};
use crate::workflow::rules::workflow::PhaseStatus::{
    self, AwaitingApproval, Complete, Failed, InProgress, Pending, Skipped,
};
use crate::workflow::rules::workflow::from_word;
use crate::workflow::{Finding, Format, Phase, Time, Workflow, plan};

pub const FILE: &str = ".claude/pipeline-state.json";
/// Archive folder for the files of runs.
pub const ARCHIVE: &str = ".claude/.archive";
/// Path where skills look for the schema, relative to the root.
pub const SCHEMA_FILE: &str = ".claude/schemas/pipeline-state.schema.json";
/// JSON Schema, draft 2020-12, for programs that check a document before they write it. Unknown
/// fields are invalid. `current_phase` is `null` or an empty object if nothing is under way, and a
/// phase may keep the `status` from the plan.
pub const PIPELINE_SCHEMA: &str = include_str!("pipeline-state.schema.json");
const COMPLETED: &str = "completed_phases";
const DESCRIPTION_KEYS: &[&str] = &["task_description", "description", "task"];

#[derive(Serialize, Deserialize)]
pub struct Pipeline {
    /// Append-only.
    completed_phases: Vec<PhaseEntry>,
    #[serde(deserialize_with = "Option::deserialize")]
    current_phase: Option<PhaseEntry>,
    remaining_phases: Vec<PhaseEntry>,
    context_summary: ContextSummary,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, Deserialize)]
struct PhaseEntry {
    id: String,
    name: String,
    timestamp: Option<Time>,
    commit_sha: Option<String>,
    progress_description: Option<String>,
    dependencies: Option<Vec<String>>,
    /// As in a plan; the format itself has no such key.
    #[serde(default, deserialize_with = "known_word")]
    status: Option<PhaseStatus>,
}

#[derive(Serialize, Deserialize)]
struct ContextSummary {
    branch: Option<String>,
    key_decisions: Option<Vec<String>>,
    file_paths: Option<Vec<String>>,
    #[serde(default, deserialize_with = "text_if")]
    task_description: Option<String>,
}

impl PhaseEntry {
    fn note(&self) -> Option<&String> {
        let note = self.progress_description.as_ref();
        note.filter(|note| !note.is_empty())
    }

    /// Returns the status of the phase in one of the three places, which are named by their usual
    /// status. Programs move entries with their old status word, so the place wins over a word that
    /// does not fit; a current one with a note has begun.
    fn status_in(&self, place: PhaseStatus) -> PhaseStatus {
        match (place, self.status) {
            (Complete, Some(Skipped)) => Skipped,
            (InProgress, Some(Pending)) if self.note().is_none() => Pending,
            (InProgress, Some(status @ (Failed | AwaitingApproval))) => status,
            (Pending, Some(status)) if status.is_under_way() => status,
            _ => place,
        }
    }
}

impl Pipeline {
    /// Returns the entries with their places, completed ones first.
    fn entries(&self) -> impl Iterator<Item = (&PhaseEntry, PhaseStatus)> {
        let current = self.current_phase.iter().zip(repeat(InProgress));
        let completed = self.completed_phases.iter().zip(repeat(Complete));
        let remaining = self.remaining_phases.iter().zip(repeat(Pending));
        completed.chain(current).chain(remaining)
    }

    fn progress(&self) -> RunFacts {
        let before = self.completed_phases.len() + self.current_phase.iter().len();
        let name = |place, at: usize| match place {
            Complete => format!("{COMPLETED}[{at}]"),
            Pending => format!("remaining_phases[{}]", at - before),
            _ => "current_phase".to_owned(),
        };
        let entries = self.entries().enumerate();
        let phases = entries.map(|(at, (entry, place))| PhaseProgress {
            id: entry.id.clone(),
            place: name(place, at),
            name: Some(entry.name.clone()),
            status: entry.status_in(place),
            completed: entry.timestamp.filter(|_| place == Complete),
            commit_sha: entry.commit_sha.clone(),
            note: entry.note().cloned(),
            dependencies: entry.dependencies.clone(),
            ..PhaseProgress::default()
        });
        let completed = self.completed_phases.iter();
        RunFacts {
            created: self.created_at,
            updated: self.updated_at,
            phases: phases.collect(),
            listed: completed.map(|entry| entry.id.clone()).collect(),
            named: self.current_phase.as_ref().map(|entry| entry.id.clone()),
            ..RunFacts::default()
        }
    }

    /// The format has no ids; the run gets a new one.
    pub fn begin(self, value: &Value, root: &str) -> Workflow {
        let named = value.get("workflow_id").or(value.get("checkpoint_id"));
        let id = named.and_then(Value::as_str);
        new_run(id, "pipeline", project_of(root), self.created_at)
    }
}

impl Format for Pipeline {
    const SPELLING: Spelling = Spelling {
        aliases: &[plan::DEPENDENCY_KEYS, DESCRIPTION_KEYS],
        keeps_keys: false,
    };

    fn reshape(value: &mut Value) {
        let current = value.get_mut("current_phase");
        if let Some(current) = current.filter(|current| is_nothing(current)) {
            *current = Value::Null;
        }
    }

    fn usual(mut self, _: &Value, _: &Workflow, root: &str) -> Self {
        for entry in &mut self.remaining_phases {
            entry.dependencies.get_or_insert_default();
        }
        for path in self.context_summary.file_paths.iter_mut().flatten() {
            *path = absolute(&relative(path, root), root);
        }
        self
    }

    fn of_run(run: &Workflow, was: Option<&Self>, root: &str) -> Self {
        let listing = PhaseListing::of(run, was.map(Self::progress));
        let has_none = was.is_some_and(|was| was.current_phase.is_none());
        let has_none = listing.is_over || listing.is_described && has_none;
        let current = listing.current.filter(|_| !has_none);
        let is_left = |phase: &&Phase| {
            !phase.status.is_settled() && current.is_none_or(|current| current.id != phase.id)
        };
        let entry = |place| move |phase| entry(run, was, phase, place);
        let context = was.map(|was| &was.context_summary);
        let branch = run.branch.clone().unwrap_or_default();
        let decisions = run.key_decisions.clone();
        let paths = run.file_paths.iter().map(|path| absolute(path, root));
        let left = run.phases.iter().filter(is_left);
        let description = context.and_then(|was| was.task_description.as_ref());
        Self {
            completed_phases: listing.done.into_iter().map(entry(Complete)).collect(),
            current_phase: current.map(entry(InProgress)),
            remaining_phases: left.map(entry(Pending)).collect(),
            context_summary: ContextSummary {
                branch: unless_left_out(branch, context.map(|was| &was.branch)),
                key_decisions: unless_left_out(decisions, context.map(|was| &was.key_decisions)),
                file_paths: unless_left_out(paths.collect(), context.map(|was| &was.file_paths)),
                task_description: description.map(|_| run.description.clone()),
            },
            created_at: Time(run.created_ms),
            updated_at: Time(run.updated_ms),
        }
    }

    fn adopt(&self, present: &Self, run: &mut Workflow, root: &str) -> Vec<Finding> {
        let (edited, known) = (self.progress(), present.progress());
        let lost = known.listed.iter().filter(|id| !edited.listed.contains(id));
        let lost = lost.map(|id| {
            let what = format!("'{id}' is complete but no longer listed; this list only grows");
            Finding::new("append_only", COMPLETED, what)
        });
        let others = adopt(run, &edited, &known).into_iter();
        let others = others.filter(|finding| finding.place != COMPLETED);
        let mut findings: Vec<Finding> = lost.chain(others).collect();
        // The format has no ids: a run is identified by its creation time.
        let is_lack = |one: &Finding| matches!(one.code, "append_only" | "phase_vanished");
        if findings.iter().any(is_lack) && self.created_at != present.created_at {
            let what = "it was begun at another time and lacks what was done: it is of another run";
            return vec![Finding::new("other_run", "created_at", what)];
        }
        let untimed = edited.phases.iter().zip(&self.completed_phases);
        let untimed = untimed.filter(|(_, entry)| entry.timestamp.is_none());
        findings.extend(untimed.map(|(phase, _)| {
            let (place, what) = (&phase.place, "the field 'timestamp' is missing");
            Finding::new("missing_field", format!("{place}.timestamp"), what)
        }));
        let context = &self.context_summary;
        let branch = context.branch.clone().or(run.branch.take());
        run.branch = branch.filter(|branch| !branch.is_empty());
        if let Some(decisions) = &context.key_decisions {
            run.key_decisions.clone_from(decisions);
        }
        if let Some(paths) = &context.file_paths {
            run.file_paths = paths.iter().map(|path| relative(path, root)).collect();
        }
        if let Some(description) = &context.task_description {
            run.description.clone_from(description);
        }
        findings
    }
}

/// Describes one phase. Fields that do not belong to the place stay only where they were.
fn entry(run: &Workflow, was: Option<&Pipeline>, phase: &Phase, place: PhaseStatus) -> PhaseEntry {
    let entries = || was.into_iter().flat_map(Pipeline::entries);
    let known = entries().find(|(entry, _)| entry.id == phase.id);
    let here = known.and_then(|(entry, was)| (was == place).then_some(entry));
    let has = |own, has: fn(&PhaseEntry) -> bool| place == own || here.is_some_and(has);
    let has_sha = has(Complete, |entry| entry.commit_sha.is_some());
    let has_note = has(InProgress, |entry| entry.progress_description.is_some());
    let has_dependencies = has(Pending, |entry| entry.dependencies.is_some());
    // Skipped phases are in no list of the document.
    let is_listed = |id: &&String| {
        let is_skipped = run.phase(id).is_some_and(|one| one.status == Skipped);
        !is_skipped || entries().any(|(entry, place)| entry.id == **id && place == Complete)
    };
    let dependencies = phase.dependencies.iter().filter(is_listed);
    let time = here.and_then(|entry| entry.timestamp);
    let done_at = phase.completed_ms.map(Time).or(time);
    let note = phase.progress.clone().filter(|note| !note.is_empty());
    let no_note = here.and_then(|entry| entry.progress_description.clone());
    let no_note = no_note.filter(String::is_empty);
    let is_same = here.is_some_and(|entry| entry.status_in(place) == phase.status);
    let status = known.and_then(|(entry, _)| entry.status);
    PhaseEntry {
        id: phase.id.clone(),
        name: phase.name.clone(),
        timestamp: match place {
            Complete => done_at.or(Some(Time(run.updated_ms))),
            _ => time,
        },
        commit_sha: phase.commit_sha.clone().filter(|_| has_sha),
        progress_description: note.or(no_note).filter(|_| has_note),
        dependencies: has_dependencies.then(|| dependencies.cloned().collect()),
        status: status.map(|word| if is_same { word } else { phase.status }),
    }
}

/// Reads a status, leaving out unknown words.
fn known_word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PhaseStatus>, D::Error> {
    let word = Option::<String>::deserialize(from)?;
    Ok(word.and_then(|word| from_word(&word)))
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

/// Returns the path as in the run, with slashes: relative if below the root.
fn relative(path: &str, root: &str) -> String {
    let from = if is_of_windows(root) { "\\" } else { "/" };
    let (path, top) = (path.replace(from, "/"), root.replace(from, "/"));
    let rest = path.strip_prefix(top.trim_end_matches('/'));
    let below = rest.and_then(|rest| rest.strip_prefix('/'));
    let below = below.filter(|rest| !rest.is_empty() && !top.is_empty());
    let path = below.unwrap_or(&path);
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

/// Returns the path as in the document.
fn absolute(path: &str, root: &str) -> String {
    let is_absolute = path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':');
    match root.trim_end_matches(['/', '\\']) {
        _ if is_absolute || root.is_empty() => path.to_owned(),
        top if is_of_windows(root) => format!("{top}/{path}").replace('/', r"\"),
        top => format!("{top}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    #[test]
    fn paths_are_relative_inside_and_absolute_in_the_document() {
        for (path, root, inside) in
            rows::<(&str, &str, &str)>(include_str!("tests/pipeline.json"), "relative")
        {
            assert_eq!(relative(path, root), inside, "{path} {root}");
        }
        assert_eq!(absolute("a", "/r/"), "/r/a");
        assert_eq!(absolute("/x", "/r"), "/x");
        assert_eq!(absolute("C:\\x", "/r"), "C:\\x");
        assert_eq!(absolute("a/b", r"C:\r"), r"C:\r\a\b");
        assert_eq!(absolute(r"a\b", "/:x"), r"/:x/a\b");
    }
}
