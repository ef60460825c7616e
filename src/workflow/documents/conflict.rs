//! Conflicts that keep a profile file from being imported: it is malformed, both sides changed, or
//! it is gone.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::base::cut_list::one_of;
use crate::base::text::{escape, escape_line};
use crate::error::sentence::CommandWords;
use crate::error::{Choice, Error};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::labels::{Label, choose_for_file, choose_for_gone};
use crate::workflow::words::run_error::RunError;

/// One file that was left as it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TroubleJson")]
pub struct Conflict {
    #[serde(rename = "file")]
    pub path: String,
    /// The run that owns the file, if known.
    #[serde(rename = "workflow")]
    pub run: Option<String>,
    #[serde(rename = "conflict")]
    pub kind: ConflictKind,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Not JSON, or not in this format.
    Malformed {
        findings: Vec<Finding>,
        /// The content of the file.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        raw: Vec<u8>,
    },
    /// The file was edited while the state moved on.
    BothChanged {
        #[serde(rename = "in_file")]
        file: Value,
        #[serde(rename = "in_store")]
        state: Value,
    },
    /// The file of an open run was removed by hand.
    Gone,
}

impl Conflict {
    /// Whether this must be resolved before the run can go on; a file without a known owner may
    /// concern any run.
    pub fn concerns(&self, workflow: &Workflow) -> bool {
        self.run.as_ref().is_some_and(|id| *id == workflow.id)
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.kind, ConflictKind::Gone)
    }

    /// Describes the conflict in one line.
    pub fn in_words(&self) -> String {
        self.error().to_string()
    }

    fn error(&self) -> Error {
        let path = self.path.clone();
        match &self.kind {
            ConflictKind::Malformed { findings, .. } => {
                let first = findings.first().map(in_words).unwrap_or_default();
                let flaws = one_of(first, findings.len());
                RunError::StateFileMalformed { path, flaws }.into()
            }
            ConflictKind::BothChanged { .. } => RunError::BothChanged { path }.into(),
            ConflictKind::Gone => RunError::StateFileGone { path }.into(),
        }
    }

    /// Returns the error for a command that needs this file.
    pub fn problem(&self, workflow: Option<&Workflow>) -> Error {
        let choice = |(key, label): (&str, Label)| Choice {
            key: key.to_owned(),
            label: label.to_string(),
            command: CommandWords::new(["workflow", "recover", &self.path, "--take", key]),
        };
        let options: Vec<Choice> = self.answers().into_iter().map(choice).collect();
        let hint = if self.is_gone() {
            choose_for_gone(&options)
        } else {
            choose_for_file(&self.path, &options)
        };
        let mut problem = self.error().next(hint).with_options(options);
        problem.run_details().detail = serde_json::to_value(self).ok();
        match workflow {
            Some(workflow) => problem.with_state(workflow),
            None => problem,
        }
    }

    fn answers(&self) -> Vec<(&'static str, Label)> {
        match (&self.kind, &self.run) {
            (ConflictKind::Malformed { findings, .. }, Some(_)) => {
                let is_usable = findings.iter().all(|finding| finding.code == "other_run");
                let file = is_usable.then_some(("file", Label::FileOfThisRun));
                let others = [("state", Label::State), ("none", Label::NeitherNorRun)];
                file.into_iter().chain(others).collect()
            }
            (ConflictKind::Malformed { .. }, None) => vec![("none", Label::Neither)],
            (ConflictKind::Gone, _) => vec![("none", Label::Ended), ("state", Label::StateOfGone)],
            (ConflictKind::BothChanged { .. }, _) => {
                vec![("file", Label::File), ("state", Label::State)]
            }
        }
    }
}

fn lossy<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(bytes))
}

pub fn in_words(finding: &Finding) -> String {
    let what = escape_line(&finding.what);
    if finding.place.is_empty() {
        what
    } else {
        format!("{}: {what}", escape(&finding.place))
    }
}

/// Joins the findings in one line.
pub fn joined(findings: &[Finding]) -> String {
    let listed: Vec<String> = findings.iter().map(in_words).collect();
    listed.join("; ")
}
