//! Everything that did not stop the work: each with its word for programs and its sentence for people.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::config::Remark;
use crate::error::Error;
use crate::model::checkpoint::DamagedCheckpoint;
use crate::model::entry::WhyNot;
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::text::escape;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// No new checkpoint: the newest one is the same and was made a moment ago under this reason.
    Dedup {
        standing: ObjectId,
        reason: String,
    },
    TooManyFiles {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
    Disabled,
    NotCaptured {
        path: RelPath,
        why: WhyNot,
    },
    ChangedWhileRead {
        path: RelPath,
    },
    RefRestored {
        id: ObjectId,
    },
    /// Seen by a command that only reads.
    RefLost {
        id: ObjectId,
    },
    ManifestRebuilt,
    IndexesRebuilt {
        count: usize,
    },
    /// The store could not be used at all and was replaced by what could be read of it.
    StoreReinitialized {
        whole: usize,
        known: usize,
        kept_as: PathBuf,
    },
    DamagedCheckpoint {
        id: ObjectId,
        why: String,
    },
    RestorePending {
        target: ObjectId,
        safety: ObjectId,
    },
    JournalUnreadable,
    /// A bookkeeping step after the commit point failed; nothing is lost by it.
    Bookkeeping {
        step: &'static str,
        why: String,
    },
    Config {
        file: PathBuf,
        text: String,
    },
    GitIndexUnreadable {
        why: String,
    },
    RootWasRecreated,
    EmptyAfterFiles,
    OverKeep {
        keep: usize,
        kept: usize,
    },
    /// A program went on writing to files that a restore had replaced: what it wrote is kept in the staging directory.
    LateWrites {
        paths: Vec<RelPath>,
        staging: String,
    },
    /// What was named, or would be restored as the latest, does not hold everything.
    IsPartial {
        id: ObjectId,
    },
    StoreTooNew {
        found: u32,
    },
}

impl Warning {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Dedup { .. } => "dedup",
            Self::TooManyFiles { .. } => "too_many_files",
            Self::Disabled => "disabled",
            Self::NotCaptured { .. } => "not_captured",
            Self::ChangedWhileRead { .. } => "changed_while_read",
            Self::RefRestored { .. } => "ref_restored",
            Self::RefLost { .. } => "ref_lost",
            Self::ManifestRebuilt => "manifest_rebuilt",
            Self::IndexesRebuilt { .. } => "indexes_rebuilt",
            Self::StoreReinitialized { .. } => "store_reinitialized",
            Self::DamagedCheckpoint { .. } => "damaged_checkpoint",
            Self::RestorePending { .. } => "restore_pending",
            Self::JournalUnreadable => "journal_unreadable",
            Self::Bookkeeping { .. } => "bookkeeping",
            Self::Config { .. } => "config",
            Self::GitIndexUnreadable { .. } => "git_index_unreadable",
            Self::RootWasRecreated => "root_recreated",
            Self::EmptyAfterFiles => "empty_after_files",
            Self::OverKeep { .. } => "over_keep",
            Self::LateWrites { .. } => "late_writes",
            Self::IsPartial { .. } => "partial",
            Self::StoreTooNew { .. } => "store_too_new",
        }
    }

    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::NotCaptured { path, .. } | Self::ChangedWhileRead { path } => Some(path),
            _ => None,
        }
    }

    pub fn bookkeeping(step: &'static str) -> impl FnOnce(Error) -> Warning {
        move |why| Warning::Bookkeeping { step, why: why.to_string() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dedup { standing, reason } => {
                write!(f, "nothing changed since {} ({}) a moment ago", standing.short(), escape(reason))
            }
            Self::TooManyFiles { limit, .. } => {
                write!(f, "Directory has >{} files — checkpoints disabled for performance.", thousands(*limit))
            }
            Self::Disabled => f.write_str("checkpoints are switched off by CHECKPOINT_DISABLE"),
            Self::NotCaptured { path, why: WhyNot::Unreadable(text) } => write!(f, "not captured: {path} ({text})"),
            Self::NotCaptured { path, why } => write!(f, "not captured: {path} ({})", why.in_words()),
            Self::ChangedWhileRead { path } => write!(f, "{path} changed while it was read; captured as last seen"),
            Self::RefLost { id } => {
                write!(f, "checkpoint {} has lost its ref; the next create or prune gives it back", id.short())
            }
            Self::RefRestored { id } => write!(f, "checkpoint {} had lost its ref and has it back", id.short()),
            Self::ManifestRebuilt => f.write_str("the manifest was damaged or gone and was written anew"),
            Self::IndexesRebuilt { count } => {
                write!(f, "the index of {count} packs was damaged or gone and was made anew")
            }
            Self::StoreReinitialized { whole, known, kept_as } => f.write_str(&reinitialized(*whole, *known, kept_as)),
            Self::DamagedCheckpoint { id, why } => write!(f, "checkpoint {} is damaged: {why}", id.short()),
            Self::RestorePending { target, safety } => write!(
                f,
                "a restore to {} was interrupted (safety checkpoint {}): \
                 'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
                target.short(),
                safety.short()
            ),
            Self::JournalUnreadable => f.write_str(
                "the journal of an interrupted restore cannot be read: 'checkpoint undo' goes back to before it",
            ),
            Self::Bookkeeping { step, why } => write!(f, "all is done and safe, but {step} failed: {why}"),
            Self::Config { file, text } => write!(f, "{}: {text}", file.display()),
            Self::GitIndexUnreadable { why } => {
                write!(f, "the project's git index cannot be read, so ignored files that it names are left out: {why}")
            }
            Self::RootWasRecreated => f.write_str("the directory was gone and was made again"),
            Self::EmptyAfterFiles => f.write_str("this checkpoint is empty, and the one before it had files"),
            Self::OverKeep { keep, kept } => {
                write!(f, "{kept} checkpoints stay although {keep} are to be kept: the others are protected")
            }
            Self::LateWrites { paths, staging } => {
                let named: Vec<String> = paths.iter().map(RelPath::to_string).collect();
                let named = if named.is_empty() { "a replaced file".to_owned() } else { named.join(", ") };
                write!(
                    f,
                    "a program still wrote to {named} after it was replaced; \
                     these bytes are in no checkpoint, so .checkpoint-stage-{staging}/ is kept: look at it, then remove it"
                )
            }
            Self::IsPartial { id } => {
                let short = id.short();
                write!(f, "checkpoint {short} is partial: 'checkpoint show {short}' names what it could not hold")
            }
            Self::StoreTooNew { found } => {
                write!(f, "the store has the newer format {found}: it is read as far as possible, nothing is written")
            }
        }
    }
}

fn reinitialized(whole: usize, known: usize, kept_as: &Path) -> String {
    let kept = kept_as.display();
    if whole == 0 {
        // The first two sentences are agreed word for word.
        return format!(
            "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost. The damaged one is kept as {kept}"
        );
    }
    format!(
        "the store was damaged and was made anew: {whole} of {known} checkpoints kept; the damaged one is kept as {kept}"
    )
}

impl From<&Remark> for Warning {
    fn from(remark: &Remark) -> Self {
        Self::Config { file: remark.file.clone(), text: remark.text.clone() }
    }
}

impl From<&DamagedCheckpoint> for Warning {
    fn from(damaged: &DamagedCheckpoint) -> Self {
        Self::DamagedCheckpoint { id: damaged.id, why: damaged.why.clone() }
    }
}

/// `50,000`: digits in groups of three.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_gate_speaks_the_agreed_sentence() {
        let warning = Warning::TooManyFiles { limit: 50_000, largest: vec![] };
        let sentence = "Directory has >50,000 files — checkpoints disabled for performance.";
        assert_eq!(warning.to_string(), sentence);
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
