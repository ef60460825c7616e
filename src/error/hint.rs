//! The user's next step after a failure: fixed ones stand at the variants in `kinds`, those that
//! depend on the data here.

use std::io::ErrorKind;
use std::path::Path;

use strum::EnumMessage as _;

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::error::kinds::more_changed;
use crate::error::words::Instead;
use crate::model::checkpoint::mismatch::{Candidate, Mismatch};
use crate::model::state::object_id::ObjectId;

impl Error {
    /// Returns the user's next step, if there is a single one.
    pub fn hint(&self) -> Option<String> {
        let words = match self {
            Self::NoSuchCheckpoint { query, why } => match mismatch_hint(query, why) {
                Some(words) => words,
                None => self.get_message()?.to_owned(),
            },
            Self::NoSuchPath { path, .. } if path.contains(['*', '?', '[']) => {
                "PATHs are literal; give a pattern with --glob".to_owned()
            }
            Self::NoFileNamed { id } => format!("'checkpoint ls {}' lists them", id.short()),
            Self::NoSuchPath { checkpoint, .. } => {
                format!("'checkpoint ls {}' lists what it holds", checkpoint.short())
            }
            Self::PathNotCheckpoint {
                command: Some(command),
                ..
            } => command.clone(),
            Self::CheckpointNotPath {
                checkpoint, other, ..
            } => format!("checkpoint diff {} {}", checkpoint.short(), other.short()),
            Self::NoStore { instead, .. } => without_store(instead),
            Self::BelowRoot { above, .. } => {
                let word = shell_word(above.as_os_str().as_encoded_bytes());
                format!(
                    "'checkpoint -C {word} …' uses those; --here begins new ones in this directory"
                )
            }
            Self::NothingFound { hint, .. } | Self::UnclearWords { hint, .. } => hint.clone(),
            Self::InterruptedLate { hint, .. } => return hint.clone(),
            Self::StoppedAfter { hint, .. } => more_changed(hint.as_ref()?),
            Self::Pinned { id } => format!("'checkpoint unpin {}' removes the pin", id.short()),
            Self::NoSuchHold { active, .. } if active.is_empty() => "no hold is active".to_owned(),
            Self::NoSuchHold { active, .. } => {
                let names: Vec<String> = active.iter().map(|name| escape(name)).collect();
                format!("active: {}", names.join(", "))
            }
            Self::Held { hold, .. } => {
                format!("checkpoint release {}", shell_word(hold.name.as_bytes()))
            }
            Self::Unguarded { command, .. } => return command.clone(),
            Self::Workflow(problem) => return problem.hint.clone(),
            Self::Io { action, source, .. } => io_hint(action, source.kind())?.to_owned(),
            Self::TreeIo { action, source, .. } => tree_hint(action, source.kind())?.to_owned(),
            Self::ConsentNeeded { can_look: true, .. } => {
                "nothing was changed; add --yes to confirm, --dry-run to look first".to_owned()
            }
            _ => self.get_message()?.to_owned(),
        };
        Some(words)
    }
}

fn without_store(instead: &Instead) -> String {
    let word = |path: &Path| shell_word(path.as_os_str().as_encoded_bytes());
    match instead {
        Instead::Create => "'checkpoint create' makes one".to_owned(),
        Instead::Above(above) => format!(
            "{} has one: 'checkpoint -C {} …'",
            escape_path(above),
            word(above)
        ),
        Instead::Former(old) => format!(
            "'checkpoint relink {}' brings those of {} here",
            word(old),
            escape_path(old)
        ),
        Instead::OtherRoot => "name a project directory with -C".to_owned(),
        Instead::OtherStore => "'checkpoint list --all' shows every store".to_owned(),
    }
}

fn mismatch_hint(query: &str, why: &Mismatch) -> Option<String> {
    let reason = |c: &Candidate| shell_word(c.reason.as_bytes());
    let newest = |newest: &Option<ObjectId>| Some(newest.as_ref()?.short());
    Some(match why {
        Mismatch::Unknown { newest: id } | Mismatch::NorPath { newest: id } => format!(
            "'checkpoint list' shows them all; the newest is {}",
            newest(id)?
        ),
        Mismatch::AllScoped { newest } => format!(
            "'checkpoint list' shows them all; the newest is {}",
            newest.short()
        ),
        Mismatch::InFuture { newest: id } if is_clock(query) => format!(
            "did you mean 'yesterday {query}'? the newest is {}",
            newest(id)?
        ),
        Mismatch::InFuture { newest: id } => {
            format!("the newest is {}", newest(id)?)
        }
        Mismatch::TooShort { candidates } => {
            let named = candidates
                .iter()
                .map(|c| format!("{}, {}", c.id.short(), reason(c)));
            format!("did you mean {}?", join_or(named))
        }
        Mismatch::Reasons { candidates } => {
            format!("did you mean {}?", join_or(candidates.iter().map(reason)))
        }
        Mismatch::OtherWord { meant } => format!("did you mean {meant}?"),
        Mismatch::TooFar { count } => format!("the oldest is latest~{}", count - 1),
        Mismatch::TooOld { oldest, age } => {
            format!("the oldest is {}, made {age} ago", oldest.short())
        }
    })
}

/// Whether a typed time is a time of day alone.
fn is_clock(typed: &str) -> bool {
    typed.bytes().all(|b| b.is_ascii_digit() || b == b':')
}

fn join_or(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" or ")
}

/// Returns the hint for a file outside the project: of a store or of the configuration.
fn io_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("the disk of the store is full: 'checkpoint prune' frees space and needs none")
        }
        ErrorKind::PermissionDenied if only_reads(action) => Some("this user may not read it"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("this user or sandbox may not write there; CHECKPOINT_HOME can name another place")
        }
        _ => None,
    }
}

fn only_reads(action: &str) -> bool {
    matches!(action, "read" | "look at" | "find")
}

/// Returns the hint for a file of the project. A change that fails there is taken back as a whole.
fn tree_hint(action: &str, kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("nothing was changed; free some space on that disk")
        }
        ErrorKind::PermissionDenied if !only_reads(action) => Some(
            "nothing was changed; its owner and mode, those of its directory, \
             or 'lsattr' (immutable?) tell why",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            Some("nothing was changed; 'checkpoint restore SEL --to DIR' writes elsewhere")
        }
        kind => io_hint(action, kind),
    }
}
