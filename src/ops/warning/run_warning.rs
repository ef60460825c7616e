//! Warnings about runs, each with a code for programs; their sentences are in `warning_words.rs`.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum RunWarning {
    /// A task list of another run was archived.
    #[strum(serialize = "state_file_of_other_run")]
    OfOtherRun { path: String, to: String },
    /// A run was archived by a command that does not name it.
    #[strum(serialize = "workflow_put_aside")]
    PutAside { id: String, why: String },
    /// The file with which a run was archived is back.
    #[strum(serialize = "workflow_reopened")]
    Reopened { id: String },
    /// The file of a failed run was removed after its retention time.
    FailedFileRemoved { path: String },
    /// Git would track a file of a run.
    #[strum(serialize = "state_file_not_ignored")]
    NotIgnored {
        pattern: String,
        ignore_file: PathBuf,
    },
    /// The current directory, which is not the root, has the file of a run.
    #[strum(serialize = "state_file_below")]
    FileBelow { path: String, root: PathBuf },
    /// A transition was recorded without its checkpoint.
    SnapshotLeftOut { reason: String, why: String },
}
