//! The commands of a run: each reads the state, makes one transition and records it.

pub mod import_export;
pub mod init_run;
pub mod make_mini_commit;
pub mod observe;
pub mod phase_transitions;
pub mod repair_run;
pub mod report;
pub mod resume;
pub mod rewind;
pub mod run_checkpoint;
pub mod run_json;
pub mod run_lifecycle;
pub mod runs;
pub mod step;
pub mod transition;
