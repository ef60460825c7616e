//! Reasons that logs and warnings give: why a run ended, what a repair found, what was left out.

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

/// What an interruption left, and what the repair makes of it.
#[derive(Debug, thiserror::Error)]
pub enum RepairReason {
    #[error("task {task} was running and its output {path} is there: it is {status}")]
    OutputThere {
        task: String,
        path: String,
        status: &'static str,
    },
    #[error("task {task} was running and {why}: it is pending again, for attempt {attempt}")]
    TaskCutOff {
        task: String,
        why: CutOff,
        attempt: u32,
    },
    #[error("phase {0} was in progress and all that it had to write is there: it is done")]
    PhaseDone(String),
    #[error(
        "phase {0} was in progress and all that it had to write is there: it waits for its approval"
    )]
    PhaseLacksApproval(String),
    #[error(
        "phase {0} was cut off at its approval: what it made is there and is shown again, not made again"
    )]
    CutOffAtApproval(String),
}

/// Why a running task counts as cut off.
#[derive(Debug, thiserror::Error)]
pub enum CutOff {
    #[error("its output {0} was cut off")]
    Output(String),
    #[error("its output {path} says '{status}'")]
    Status { path: String, status: String },
    #[error("its output {0} is missing")]
    Missing(String),
    #[error("its output {0} is outside this directory")]
    Outside(String),
    #[error("its output is not known")]
    Unknown,
}

/// What a task failed with whose output says so.
pub fn as_output_says(path: &str) -> String {
    format!("as {path} says")
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
