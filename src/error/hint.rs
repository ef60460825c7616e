//! The user's next step after a failure: fixed ones stand at the variants in `kinds`, those that
//! depend on the data here.

use std::io::ErrorKind;

use strum::EnumMessage as _;

use crate::base::shell_word::shell_word;
use crate::base::text::escape_path;
use crate::error::Error;

impl Error {
    /// Returns the user's next step, if there is a single one.
    pub fn hint(&self) -> Option<String> {
        let words = match self {
            Self::NoSuchCheckpoint {
                nearest: Some(id), ..
            } => {
                format!(
                    "'checkpoint list' shows them all; the newest is {}",
                    id.short()
                )
            }
            Self::NoSuchPath { checkpoint, .. } => {
                format!(
                    "'checkpoint cat {}:' lists what it holds",
                    checkpoint.short()
                )
            }
            Self::NoStore {
                ancestor: Some(above),
                ..
            } => {
                let word = shell_word(above.as_os_str().as_encoded_bytes());
                format!("{} has one: 'checkpoint -C {word} …'", escape_path(above))
            }
            Self::NothingFound { hint, .. } => hint.clone(),
            Self::CheckInterrupted { hint, .. } => return hint.clone(),
            Self::Pinned { id } => format!("'checkpoint unpin {}' lets it go", id.short()),
            Self::Held { hold, .. } => {
                format!("checkpoint release {}", shell_word(hold.name.as_bytes()))
            }
            Self::Unguarded { command, .. } => return command.clone(),
            Self::Workflow(problem) => return problem.hint.clone(),
            Self::Io { action, source, .. } => io_hint(action, source.kind())?.to_owned(),
            Self::TreeIo { action, source, .. } => tree_hint(action, source.kind())?.to_owned(),
            Self::ConsentNeeded { can_look: true, .. } => {
                "look at it with --dry-run, then give --yes".to_owned()
            }
            _ => self.get_message()?.to_owned(),
        };
        Some(words)
    }
}

fn io_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some space; 'checkpoint prune' works with the disk full")
        }
        ErrorKind::PermissionDenied if only_reads(action) => {
            Some("it may not be read by this user")
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Some(
            "this place is not writable from here (a sandbox?); CHECKPOINT_HOME can name another",
        ),
        _ => None,
    }
}

fn only_reads(action: &str) -> bool {
    matches!(action, "read" | "look at" | "find")
}

/// Returns the hint for a file of the project, where the location of the stores is irrelevant.
fn tree_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::PermissionDenied if !only_reads(action) => Some(
            "this user may not change it: its owner and mode, those of its directory, \
             or 'lsattr' (immutable?) tell why",
        ),
        ErrorKind::ReadOnlyFilesystem => Some("its file system is mounted read-only"),
        kind => io_hint(action, kind),
    }
}
