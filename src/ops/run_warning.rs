//! Warnings about runs, each with a code for programs and a sentence for people.

use std::fmt;
use std::path::PathBuf;

use crate::base::shell_word::shell_word;
use crate::base::text::escape;

#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RunWarning {
    /// A file of a run was edited at the moment it was to be written.
    #[strum(serialize = "state_file_edited")]
    Edited { path: String },
    #[strum(serialize = "state_file_not_written")]
    NotWritten { path: String, why: String },
    /// A run was ended by a command that does not name it.
    #[strum(serialize = "workflow_put_aside")]
    PutAside { id: String, why: String },
    /// The file of a failed run was removed after its retention time.
    FailedFileRemoved { path: String },
    /// Git would track a file of a run.
    #[strum(serialize = "state_file_not_ignored")]
    NotIgnored {
        pattern: String,
        ignore_file: PathBuf,
    },
    /// A transition was recorded without its checkpoint.
    SnapshotLeftOut { reason: String, why: String },
}

impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { path } => {
                write!(
                    f,
                    "{} was edited in this very moment and is left to the next command",
                    escape(path)
                )
            }
            Self::NotWritten { path, why } => {
                write!(f, "{} could not be written: {why}", escape(path))
            }
            Self::PutAside { id, why } => {
                write!(
                    f,
                    "workflow {id} was put aside: {}; 'checkpoint workflow show {id}' shows it",
                    escape(why)
                )
            }
            Self::FailedFileRemoved { path } => {
                write!(f, "{} was removed: its run failed long ago", escape(path))
            }
            Self::NotIgnored {
                pattern,
                ignore_file,
            } => {
                let file = shell_word(ignore_file.as_os_str().as_encoded_bytes());
                write!(
                    f,
                    "git would take up {pattern}; to keep it out: printf '\\n{pattern}\\n' >> {file}"
                )
            }
            Self::SnapshotLeftOut { reason, why } => {
                write!(f, "no checkpoint {}: {why}", escape(reason))
            }
        }
    }
}
