//! Conflicts that keep a profile file from being taken in: it is malformed, both sides changed, or
//! it is gone.

use serde_json::{Value, json};

use crate::base::cut_list::one_of;
use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_line};
use crate::error::problem::{Choice, WorkflowProblem};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::workflow::Workflow;

/// One file that was left as it is.
#[derive(Clone, Debug)]
pub struct Conflict {
    pub path: String,
    /// The run that owns the file, if known.
    pub workflow: Option<String>,
    pub kind: ConflictKind,
}

#[derive(Clone, Debug)]
pub enum ConflictKind {
    /// Not JSON, or not in this format.
    Malformed {
        findings: Vec<Finding>,
        raw: Vec<u8>,
    },
    /// The file was edited while the state moved on.
    BothChanged { file: Value, state: Value },
    /// The file of an open run was removed by hand.
    Gone,
}

impl Conflict {
    /// Whether this must be settled before the run can go on; a file without a known owner may
    /// concern any run.
    pub fn concerns(&self, workflow: &Workflow) -> bool {
        self.workflow.as_ref().is_some_and(|id| *id == workflow.id)
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.kind, ConflictKind::Gone)
    }

    /// Describes the conflict in one line.
    pub fn in_words(&self) -> String {
        match &self.kind {
            ConflictKind::Malformed { findings, .. } => {
                let first = findings.first().map(in_words).unwrap_or_default();
                format!(
                    "State file is malformed: {}: {}",
                    self.path,
                    one_of(first, findings.len())
                )
            }
            ConflictKind::BothChanged { .. } => {
                format!(
                    "{} was edited while the workflow moved on: both sides changed",
                    self.path
                )
            }
            ConflictKind::Gone => format!("{} was removed while its workflow is open", self.path),
        }
    }

    /// Returns the error for a command that needs this file.
    pub fn problem(&self, workflow: Option<&Workflow>) -> WorkflowProblem {
        let recover = format!(
            "checkpoint workflow recover {}",
            shell_word(self.path.as_bytes())
        );
        let command = |key: &str| format!("{recover} --take {key}");
        let choice = |key: &str, label: &str| Choice {
            key: key.into(),
            label: label.into(),
            command: command(key),
        };
        let mut problem = match &self.kind {
            ConflictKind::Malformed { .. } => {
                WorkflowProblem::damaged("state_file_malformed", self.in_words())
            }
            ConflictKind::BothChanged { .. } => {
                WorkflowProblem::refused("both_changed", self.in_words())
            }
            ConflictKind::Gone => WorkflowProblem::refused("state_file_gone", self.in_words()),
        };
        problem.detail = Some(Box::new(self.detail()));
        problem.options = match (&self.kind, &self.workflow) {
            (ConflictKind::Malformed { findings, .. }, Some(_)) => {
                let is_usable = findings.iter().all(|finding| finding.code == "other_run");
                let file = is_usable.then(|| choice("file", "take it as of this run"));
                let others = [
                    choice(
                        "state",
                        "archive the file, and write it anew from the recorded state",
                    ),
                    choice("none", "archive the file and its run, and start fresh"),
                ];
                file.into_iter().chain(others).collect()
            }
            (ConflictKind::Malformed { .. }, None) => {
                vec![choice("none", "archive the file, and start fresh")]
            }
            (ConflictKind::Gone, _) => vec![
                choice("none", "the run has ended: it goes to the archive"),
                choice("state", "go on with the run, and write the file anew"),
            ],
            (ConflictKind::BothChanged { .. }, _) => vec![
                choice("file", "go on with what the file says"),
                choice(
                    "state",
                    "archive the file, and write it anew from the recorded state",
                ),
            ],
        };
        let told = |choice: &Choice| format!("'{}': {}", choice.command, choice.label);
        let ways: Vec<String> = problem.options.iter().map(told).collect();
        let ways = ways.join("; ");
        let hint = match &self.kind {
            ConflictKind::Gone => format!("nothing was changed; choose: {ways}"),
            _ => format!(
                "the file is left as it is, and '{recover} -n' shows it; mend it, or choose: {ways}"
            ),
        };
        let problem = problem.hint(hint);
        match workflow {
            Some(workflow) => problem.with_state(workflow),
            None => problem,
        }
    }

    /// Returns all details as JSON.
    pub fn detail(&self) -> Value {
        match &self.kind {
            ConflictKind::Malformed { findings, raw } => json!({
                "path": self.path,
                "findings": findings.iter().map(told).collect::<Vec<_>>(),
                "raw": String::from_utf8_lossy(raw),
            }),
            ConflictKind::BothChanged { file, state } => {
                json!({"path": self.path, "file": file, "state": state})
            }
            ConflictKind::Gone => json!({"path": self.path}),
        }
    }
}

pub fn told(finding: &Finding) -> Value {
    json!({"code": finding.code, "place": finding.place, "what": finding.what})
}

pub fn in_words(finding: &Finding) -> String {
    let what = escape_line(&finding.what);
    if finding.place.is_empty() {
        what
    } else {
        format!("{}: {what}", escape(&finding.place))
    }
}
