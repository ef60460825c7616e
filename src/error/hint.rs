//! The user's next step after each failure.

use std::io::ErrorKind;

use crate::base::shell_word::shell_word;
use crate::base::text::escape_path;
use crate::error::Error;

impl Error {
    /// Returns the user's next step, if there is a single one.
    pub fn hint(&self) -> Option<String> {
        let words = match self {
            Self::NoSuchCheckpoint { nearest: Some(id), .. } => {
                format!("'checkpoint list' shows them all; the newest is {}", id.short())
            }
            Self::NoSuchPath { checkpoint, .. } => {
                format!("'checkpoint cat {}:' lists what it holds", checkpoint.short())
            }
            Self::NoStore { ancestor: Some(above), .. } => {
                let word = shell_word(above.as_os_str().as_encoded_bytes());
                format!("{} has one: 'checkpoint -C {word} …'", escape_path(above))
            }
            Self::NothingFound { hint, .. } => hint.clone(),
            Self::CheckInterrupted { hint, .. } => return hint.clone(),
            Self::Pinned { id } => format!("'checkpoint unpin {}' lets it go", id.short()),
            Self::Held { hold, .. } => format!("checkpoint release {}", shell_word(hold.name.as_bytes())),
            Self::Unguarded { command, .. } => return command.clone(),
            Self::Workflow(problem) => return problem.hint.clone(),
            Self::Io { action, source, .. } => io_hint(action, source.kind())?.to_owned(),
            Self::TreeIo { action, source, .. } => tree_hint(action, source.kind())?.to_owned(),
            _ => self.fixed_hint()?.to_owned(),
        };
        Some(words)
    }

    /// Returns the hint that is the same for each failure of a kind.
    fn fixed_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Usage { .. } => "try 'checkpoint --help'",
            Self::NoSuchCheckpoint { .. } => "'checkpoint create' makes the first one",
            Self::EvictedMeanwhile { .. } => "'checkpoint list' shows what is kept",
            Self::AmbiguousCheckpoint { .. } => "give more digits of the id",
            Self::IsDirectory { .. } => "name one of its files",
            Self::NoStore { .. } => "'checkpoint create' makes one",
            Self::NothingToTakeBack { .. } => "'checkpoint list --kind safety' shows what earlier restores left",
            Self::RootMissing { .. } => "give the directory with -C",
            Self::AmbiguousStore { .. } => "move all but one of them away",
            Self::UnsafeRoot { .. } => {
                "name a project directory with -C, or if you mean it begin with 'checkpoint create --force'"
            }
            Self::BadDestination { .. } => "name a new or empty directory elsewhere",
            Self::NothingHeld { .. } => "nothing was recorded; mend that, or name other paths",
            Self::ConsentNeeded { can_look: true, .. } => "look at it with --dry-run, then give --yes",
            Self::ConsentNeeded { can_look: false, .. } => "give --yes if that is meant",
            Self::Conflict { .. } => "move these away; a restore can be given PATHs without them",
            Self::DotGitPath { .. } => "a repository's own data is never captured and never changed",
            Self::WorkflowFile { .. } => {
                "'checkpoint workflow rewind PHASE --both' takes a workflow back, and its files with it"
            }
            Self::RestorePending { .. } => "'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
            Self::RestoreNeverBegan { .. } => "'checkpoint undo', once more, takes back the restore before it",
            Self::RelinkRefused { .. } => "nothing was changed; 'checkpoint list --all' shows every store",
            Self::SeveralHolds { .. } => "name the one that is to end",
            Self::ChangedMeanwhile { .. } => "nothing was changed; try again when nobody writes there",
            Self::DatabaseNotTaken { .. } => "nothing was recorded; mend that, or leave this --db out",
            Self::DatabaseNotHeld { .. } => {
                "nothing was changed; mend that, or restore PATHs without it; \
                 a file of SQLite that is moved away is made anew"
            }
            Self::Damaged { .. } => {
                "'checkpoint verify' names all that is damaged, \
                 'checkpoint verify --repair' mends what can be mended"
            }
            Self::StoreTooNew { .. } => "use the newer program that wrote it",
            Self::Busy { .. } => "try again, or wait longer with --lock-timeout",
            Self::BadConfig { .. } => "mend or remove that line",
            Self::NoBase => "set CHECKPOINT_HOME to a directory for the stores",
            Self::HostileStore { .. } => "look at that directory; CHECKPOINT_HOME can name another place",
            Self::StoreUnusable { .. } => {
                "'checkpoint verify --repair' keeps all that can be read; so does the next 'checkpoint create'"
            }
            Self::StoreGone { .. } => "'checkpoint create' makes a new one",
            // Without one, or with one that depends on the data.
            Self::Declined
            | Self::Interrupted { .. }
            | Self::Unexpected { .. }
            | Self::NoSuchPath { .. }
            | Self::NothingFound { .. }
            | Self::CheckInterrupted { .. }
            | Self::Pinned { .. }
            | Self::Held { .. }
            | Self::Unguarded { .. }
            | Self::Workflow(_)
            | Self::Io { .. }
            | Self::TreeIo { .. } => return None,
        })
    }
}

fn io_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some space; 'checkpoint prune' works with the disk full")
        }
        ErrorKind::PermissionDenied if only_looks(action) => Some("it may not be read by this user"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("this place is not writable from here (a sandbox?); CHECKPOINT_HOME can name another")
        }
        _ => None,
    }
}

fn only_looks(action: &str) -> bool {
    matches!(action, "read" | "look at" | "find")
}

/// Returns the hint for a file of the project, where the location of the stores is irrelevant.
fn tree_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::PermissionDenied if !only_looks(action) => Some(
            "this user may not change it: its owner and mode, those of its directory, \
             or 'lsattr' (immutable?) tell why",
        ),
        ErrorKind::ReadOnlyFilesystem => Some("its file system is mounted read-only"),
        kind => io_hint(action, kind),
    }
}
