//! Pure data and rules: no file access, no clock, no git library.

pub mod checkpoint;
pub mod command_end;
pub mod default_rules;
pub mod difference;
pub mod git_index;
pub mod json;
pub mod patch;
pub mod path_pattern;
pub mod restore_plan;
pub mod run_id;
pub mod session;
pub mod stat_cache;
pub mod state;
pub mod transition;

pub use checkpoint::hold::Hold;
pub use checkpoint::line::{Line, LineEntry};
pub use checkpoint::record::{
    Checkpoint, CheckpointId, CheckpointKind, CheckpointTerms, CheckpointType, Coverage,
    DamagedCheckpoint, Expiry, KeepClass, Operation, Record, Verb,
};
pub use checkpoint::retention::{Evicted, EvictionReason, KeepReason, Policy, PolicyChange};
pub use checkpoint::selector::{Candidate, Mismatch, SelectorProblem};
pub use checkpoint::undo_stack::{RestoreStory, Steps, ToldStory, UndoStep};
pub use command_end::CommandEnd;
pub use difference::{ChangeCounts, ChangeKind, OtherDifferences, Pair, TreeChange};
pub use git_index::IndexNames;
pub use json::{ChangeJson, CheckpointRef, CheckpointRow, Octal, PathName, PathReason, TextAnswer};
pub use path_pattern::PathPattern;
pub use restore_plan::{Blocker, PlannedChange, PlannedWrite, Refusal, RestorePlan, RestoreScope};
pub use session::notes::{AgentSession, PromptNote, SessionNotes};
pub use session::provenance::{Moment, OriginStore, Provenance};
pub use stat_cache::cached_block::{BlockPlace, CachedBlock, CachedDir};
pub use stat_cache::cached_listing::{CacheBytes, CachedListing};
pub use stat_cache::summary::Summary;
pub use state::database::{Database, Databases, Held};
pub use state::entry::{Entry, FileView, Kind, ListedFile, ListedUncaptured, Name, Stat, WhyNot};
pub use state::listing::{Files, ListedDir, Listing};
pub use state::meta::{IgnoreFileAbove, Meta, RuleRecord, RulesStamp};
pub use state::object_id::ObjectId;
pub use state::rel_path::RelPath;
pub use state::scope::{PathFilter, Scope, ScopePart};
pub use state::snapshot::{Snapshot, UncapturedEntry};
pub use state::state_document::StateDocument;

#[cfg(test)]
pub(crate) mod tests;
