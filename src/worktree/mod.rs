//! The user's directory: scanned, filtered by rules, and changed. Knows no store.

pub mod apply;
pub mod files;
pub mod git;
pub mod root;
pub mod rules;
pub mod scan;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(not(feature = "sqlite"))]
#[path = "sqlite_absent.rs"]
pub mod sqlite;
pub mod sys;
pub mod tree_handle;

pub use apply::apply_steps::{
    AppliedStep, ApplyPlan, Expect, Graft, GraftedDir, Removal, WriteStep,
};
pub use apply::materialize::WantedTree;
pub use apply::stage::Stage;
pub use apply::transaction::Applied;
pub use git::find_index::Repository;
pub use root::Root;
pub use rules::rule_set::{RuleSources, RuleVerdict, Rules};
pub use scan::read::{BlobSink, ReadOutcome, SinkError};
pub use scan::touched::Touched;
pub use scan::walk::{PendingDir, ScanOptions, Shared};
pub use tree_handle::{StatReader, WorkTree};
