//! A file of a run that cannot be understood: it stays as it is until the user decides.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::cut_list::one_of;
use crate::base::text::{escape, escape_line};
use crate::error::{Choice, CommandWords, Error, Sentence};
use crate::workflow::documents::OUT_OF_REACH;
use crate::workflow::words::{listed, malformed};
use crate::workflow::{Finding, Workflow};

/// One file that is malformed, and was left as it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    pub file: String,
    /// The run that owns the file, if known.
    pub workflow: Option<String>,
    pub findings: Vec<Finding>,
    /// The content of the file.
    pub raw: String,
}

impl Conflict {
    pub fn concerns(&self, workflow: &Workflow) -> bool {
        self.workflow.as_ref().is_some_and(|id| *id == workflow.id)
    }

    /// Whether a word of the user means the file: its path, or the id of its run.
    pub fn is_named(&self, word: &str) -> bool {
        self.file == word || self.workflow.as_deref() == Some(word)
    }

    /// Describes the conflict in one line.
    pub fn in_words(&self) -> String {
        let flaws = in_line(&self.findings);
        format!("State file is malformed: {}: {flaws}", self.file)
    }

    /// Returns the error for a command that needs this file.
    pub fn problem(&self) -> Error {
        let problem = malformed("state_file_malformed", self.in_words());
        if self.findings.iter().any(|found| found.code == OUT_OF_REACH) {
            return problem.advise("nothing was changed; put a directory in its place");
        }
        let choice = |key: &str, label: &str| Choice {
            key: key.to_owned(),
            label: label.to_owned(),
            command: CommandWords::new(["workflow", "recover", &self.file, "--take", key]),
        };
        let rewrite = "archive the file, and write it again from the recorded state";
        let mut options = Vec::from_iter(self.workflow.as_ref().map(|_| choice("state", rewrite)));
        let run = self.workflow.as_ref().map_or("", |_| " and its run");
        options.push(choice(
            "none",
            &format!("archive the file{run}, and start fresh"),
        ));
        let hint = Sentence::new(
            "the file was not changed, and 'checkpoint workflow recover {} -n' shows it; fix it, or choose: ",
            &[&self.file],
        );
        let hint = hint.then_sentence(listed(&options));
        let mut problem = problem.next(hint).with_options(options);
        problem.run_details().detail = serde_json::to_value(self).ok();
        problem
    }
}

/// Formats the first finding, and the number of others.
pub fn in_line(findings: &[Finding]) -> String {
    let first = findings.first().map(in_words).unwrap_or_default();
    one_of(first, findings.len())
}

/// Formats all findings in one line.
pub fn all_in_words(findings: &[Finding]) -> String {
    let findings: Vec<String> = findings.iter().map(in_words).collect();
    findings.join("; ")
}

pub fn in_words(finding: &Finding) -> String {
    let what = escape_line(&finding.what);
    if finding.place.is_empty() {
        what
    } else {
        format!("{}: {what}", escape(&finding.place))
    }
}
