//! Runs of phases: every command reads what stands, takes in what was edited by hand, makes one transition, records it as
//! one commit, and writes the files of the run's profiles.

pub mod conflict;
pub mod documents;
pub mod drift;
pub mod endings;
pub mod exchange;
pub mod git_ignored;
pub mod init;
pub mod leftovers;
pub mod look;
pub mod mend;
pub mod mini_commit;
pub mod owner;
pub mod phase;
pub mod project;
pub mod report;
pub mod resume;
pub mod rewind;
pub mod run_warning;
pub mod runs;
pub mod shims;
pub mod snapshot;
pub mod step;
pub mod sync;
pub mod verdict;
