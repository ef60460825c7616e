//! Failures of workflows, each with its code, its message and the next step.

use serde::Serialize;
use serde_json::Value;

use crate::error::sentence::{CommandWords, Sentence};

/// A failure of a workflow; `state` is the present state, for programs that must decide.
#[derive(Debug)]
pub struct WorkflowProblem {
    /// The stable code in JSON.
    pub code: &'static str,
    pub grade: Grade,
    pub what: String,
    pub hint: Option<Sentence>,
    /// The present state, for the program that has to decide.
    pub state: Option<Box<Value>>,
    /// The possible choices, as shown to programs.
    pub options: Vec<Choice>,
    /// Further data, such as both sides of a conflict.
    pub detail: Option<Box<Value>>,
}

/// Class of the failure; determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    NoSuch,
    Refused,
    Damaged,
}

/// A possible answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub key: String,
    pub label: String,
    /// The command that makes this choice.
    pub command: CommandWords,
}

impl WorkflowProblem {
    #[must_use]
    pub fn hint(mut self, hint: Sentence) -> Self {
        self.hint = Some(hint);
        self
    }

    #[must_use]
    pub fn with_state(mut self, state: &impl Serialize) -> Self {
        self.state = serde_json::to_value(state).ok().map(Box::new);
        self
    }

    #[must_use]
    pub fn with_options(mut self, options: Vec<Choice>) -> Self {
        self.options = options;
        self
    }
}
