//! Reasons that logs and warnings give: why a run ended, what was left out.

/// Why a run was ended by a command that does not name it.
#[derive(Debug, thiserror::Error)]
pub enum EndReason {
    #[error("{0} was archived by hand")]
    PutAside(String),
    #[error("{0} was removed by hand")]
    Removed(String),
    #[error("{0} was removed, and another run began")]
    RemovedAndReplaced(String),
    #[error("{0} was replaced by hand")]
    Replaced(String),
    #[error("its file was damaged")]
    FileDamaged,
    #[error("nothing happened in it for {days} days")]
    Idle { days: i64 },
    #[error("started fresh")]
    StartedFresh,
}

/// Why no checkpoint is made when a phase begins.
pub fn phase_under_way(id: &str) -> String {
    format!("phase {id} is under way beside it")
}

/// Why new files are not noted.
pub fn too_many_files(count: usize) -> String {
    format!("{count} are too many; name those that matter with --file")
}

/// Why a run of a newer version cannot be read.
pub fn newer_schema(found: u64, known: u32) -> String {
    format!("it has schema {found}; this program knows {known}")
}

/// Why a run whose ref is damaged cannot be read.
pub const REF_WITHOUT_COMMIT: &str = "its ref does not name a commit";

/// What a rewind of the state asks consent for.
pub fn take_back(run: &str, to: &str) -> String {
    format!("take workflow {run} back to before {to}")
}

// Steps after the commit point, as the warning names them if they fail.
pub const MOVING_FILES: &str = "moving the files of the run that has ended";
pub const NOTING_NEW_FILES: &str = "noting which files are new";
pub const MINI_COMMIT: &str = "making the checkpoint of every third phase";
pub const REMOVING_FAILED: &str = "removing the file of the run that had failed";
pub const EXPIRING: &str = "archiving what is too old";
pub const TRIMMING_ARCHIVES: &str = "deleting old archives";
