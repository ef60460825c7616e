//! What is wrong with a run, its plan or its files: each flaw with its sentence and its code.

use crate::workflow::rules::finding::Finding;

/// A flaw, which [`Self::at`] makes a finding. Its code is the name of the variant, unless one is
/// given.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Flaw {
    // Of a plan.
    #[error("the id is empty")]
    #[strum(serialize = "bad_name")]
    EmptyId,
    #[error("the id has control characters in it")]
    #[strum(serialize = "bad_name")]
    ControlsInId,
    #[error("another phase has the id '{0}' already")]
    DuplicateId(String),
    #[error("'{phase}' depends on '{id}', and no phase has that id")]
    UnknownDependency { phase: String, id: String },
    #[error("the dependencies form a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("its dependencies are given twice, and differ")]
    TwoLists,
    #[error("'{0}' is not a status of a phase")]
    UnknownStatus(String),
    #[error("'{0}' is not a class of phases")]
    UnknownClass(String),
    #[error(
        "'{phase}' makes {class} and comes after '{early}', which makes {other}; {class} are harder to make again, so put it first"
    )]
    PhaseOrder {
        phase: String,
        class: &'static str,
        early: String,
        other: &'static str,
    },

    // Of a document that keeps a run.
    #[error("{0}")]
    NoJson(String),
    #[error("unknown format")]
    UnknownFormat,
    #[error("unknown format; --type names the format")]
    #[strum(serialize = "unknown_format")]
    UnknownFormatAndType,
    #[error("it belongs to run '{named}', not to '{run}'")]
    OtherRun { named: String, run: String },
}

impl Flaw {
    pub fn at(self, place: impl Into<String>) -> Finding {
        let what = self.to_string();
        Finding::new((&self).into(), place, what)
    }
}
