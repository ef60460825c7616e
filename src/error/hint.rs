//! The user's next step after a failure: fixed ones stand at the variants in `kinds`, those that
//! depend on the data here.

use std::io::ErrorKind;

use strum::EnumMessage as _;

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::error::kinds::more_changed;
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::words::Instead;
use crate::model::checkpoint::mismatch::{Candidate, Mismatch};
use crate::model::state::object_id::ObjectId;

impl Error {
    /// Returns the user's next step, if there is a single one.
    pub fn hint(&self) -> Option<Sentence> {
        Some(match self {
            Self::NoSuchCheckpoint { query, why } => match mismatch_hint(query, why) {
                Some(words) => words,
                None => self.fixed_hint()?,
            },
            Self::RestorePending {
                can_resume: false, ..
            } => Sentence::new("'checkpoint undo' takes it back", &[]),
            Self::NoSuchPath { path, .. } if path.contains(['*', '?', '[']) => {
                Sentence::text("PATHs are literal; give a pattern with --glob")
            }
            Self::NoFileNamed { id } => {
                Sentence::new("'checkpoint ls {}' lists them", &[&id.short()])
            }
            Self::NoSuchPath { checkpoint, .. } => Sentence::new(
                "'checkpoint ls {}' lists what it holds",
                &[&checkpoint.short()],
            ),
            Self::CheckpointNotPath {
                checkpoint, other, ..
            } => Sentence::command(CommandWords::new([
                "diff".to_owned(),
                checkpoint.short(),
                other.short(),
            ])),
            Self::NotRecorded { disabled } => not_recorded(*disabled),
            Self::NothingToTakeBack { had_restores, .. } => nothing_left(*had_restores),
            Self::NoStore { instead, .. } => without_store(instead),
            Self::NothingFound { hint, .. }
            | Self::Conflict { hint, .. }
            | Self::UnclearWords { hint, .. }
            | Self::DamageFound { hint, .. }
            | Self::DiskFull { hint, .. } => hint.clone(),
            Self::InterruptedLate { hint, .. } => return hint.clone(),
            Self::StoppedAfter { hint, .. } => hint.clone()?.map_text(more_changed),
            Self::RemoteFailed {
                of_push: true,
                remote,
                why,
                ..
            } => after_push(remote, why),
            Self::Pinned { id } => {
                Sentence::new("'checkpoint unpin {}' removes the pin", &[&id.short()])
            }
            Self::NoSuchHold { active, .. } if active.is_empty() => {
                Sentence::text("no hold is active")
            }
            Self::NoSuchHold { active, .. } => {
                let names: Vec<String> = active.iter().map(|name| escape(name)).collect();
                Sentence::text(format!("active: {}", names.join(", ")))
            }
            Self::Held { hold, .. } => {
                Sentence::command(CommandWords::new(["release", &*hold.name]))
            }
            Self::Unguarded { command, .. } => Sentence::command(command.clone()?),
            Self::Workflow(problem) => return problem.hint.clone(),
            Self::Io { action, source, .. } => io_hint(action, source.kind())?,
            Self::TreeIo { action, source, .. } => tree_hint(action, source.kind())?,
            Self::PlanNeeded { command } => Sentence::text("nothing was changed; ")
                .then_command(command.clone())
                .then_sentence(Sentence::text(" shows and names it")),
            Self::ConsentNeeded { can_look: true, .. } => {
                Sentence::text("nothing was changed; add --yes to confirm, --dry-run to look first")
            }
            _ => self.fixed_hint()?,
        })
    }

    /// Returns the next step that stands at the variant.
    fn fixed_hint(&self) -> Option<Sentence> {
        Some(Sentence::new(self.get_message()?, &[]))
    }
}

fn not_recorded(disabled: bool) -> Sentence {
    Sentence::text(if disabled {
        "CHECKPOINT_DISABLE is set"
    } else {
        "--max-files N raises the limit, an exclude leaves folders out"
    })
}

fn nothing_left(had_restores: bool) -> Sentence {
    let hint = if had_restores {
        "'checkpoint list --restores' shows the earlier ones"
    } else {
        "'checkpoint list' shows what can be restored"
    };
    Sentence::new(hint, &[])
}

fn without_store(instead: &Instead) -> Sentence {
    match instead {
        Instead::Create => Sentence::new("'checkpoint create' makes one", &[]),
        Instead::Above(above) => Sentence::new(
            "they are kept for {}, above this directory: 'checkpoint -C {} list'",
            &[&escape_path(above), &above.as_os_str().as_encoded_bytes()],
        ),
        Instead::Former(old) => Sentence::new(
            "'checkpoint relink {}' brings those of {} here",
            &[&old.as_os_str().as_encoded_bytes(), &escape_path(old)],
        ),
        Instead::OtherRoot => Sentence::text("name a project directory with -C"),
        Instead::OtherStore => Sentence::new("'checkpoint list --all' shows every store", &[]),
    }
}

fn mismatch_hint(query: &str, why: &Mismatch) -> Option<Sentence> {
    let reason = |c: &Candidate| shell_word(c.reason.as_bytes());
    let newest = |newest: &Option<ObjectId>| Some(newest.as_ref()?.short());
    Some(Sentence::text(match why {
        Mismatch::Unknown { newest: id } | Mismatch::NorPath { newest: id } => {
            return Some(Sentence::new(
                "'checkpoint list' shows them all; the newest is {}",
                &[&newest(id)?],
            ));
        }
        Mismatch::AllScoped { newest } => {
            return Some(Sentence::new(
                "'checkpoint list' shows them all; the newest is {}",
                &[&newest.short()],
            ));
        }
        Mismatch::OfRemote { name } => {
            let hint = "'checkpoint list --remote {}' shows what is here of it";
            return Some(Sentence::new(hint, &[name]));
        }
        Mismatch::NotFetched { name } => {
            let hint = "nothing of it is here; 'checkpoint fetch {}' brings what is there";
            return Some(Sentence::new(hint, &[name]));
        }
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
        Mismatch::NoPrompt => "'checkpoint rewind' lists the prompts".to_owned(),
        Mismatch::FirstGone { oldest } => {
            format!("the oldest of that session is {}", oldest.short())
        }
        Mismatch::TooFar { count } => format!("the oldest is latest~{}", count - 1),
        Mismatch::TooOld { oldest, age } => {
            format!("the oldest is {}, made {age} ago", oldest.short())
        }
    }))
}

/// Whether a typed time is a time of day alone.
fn is_clock(typed: &str) -> bool {
    typed.bytes().all(|b| b.is_ascii_digit() || b == b':')
}

fn join_or(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" or ")
}

/// Git refuses every push where something that a ref there needs is missing.
fn after_push(remote: &str, why: &str) -> Sentence {
    let words = if why.contains("missing necessary objects") {
        "nothing was sent; a line there is broken: 'checkpoint fetch {}' names it"
    } else {
        "nothing was sent; fix this, then run 'checkpoint push {}' again"
    };
    Sentence::new(words, &[&remote])
}

/// Returns the hint for a file outside the project: of a store or of the configuration.
fn io_hint(action: &str, kind: ErrorKind) -> Option<Sentence> {
    let words = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on that disk",
        ErrorKind::PermissionDenied if only_reads(action) => "this user may not read it",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "this user or sandbox may not write there; CHECKPOINT_HOME can name another place"
        }
        _ => return None,
    };
    Some(Sentence::new(words, &[]))
}

fn only_reads(action: &str) -> bool {
    matches!(action, "read" | "look at" | "find")
}

/// Returns the hint for a file of the project. A change that fails there is taken back as a whole.
fn tree_hint(action: &str, kind: ErrorKind) -> Option<Sentence> {
    let words = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "nothing was changed; free some space on that disk"
        }
        ErrorKind::PermissionDenied if !only_reads(action) => {
            "nothing was changed; its owner and mode, those of its directory, \
             or 'lsattr' (immutable?) tell why"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "nothing was changed; 'checkpoint restore SEL --to DIR' writes elsewhere"
        }
        kind => return io_hint(action, kind),
    };
    Some(Sentence::new(words, &[]))
}
