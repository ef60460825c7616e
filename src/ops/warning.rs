//! Everything that did not stop the work: each with its word for programs and its sentence for people.

use std::fmt;
use std::path::PathBuf;

use crate::config::Remark;
use crate::error::Error;
use crate::model::checkpoint::DamagedCheckpoint;
use crate::model::entry::WhyNot;
use crate::model::object_id::ObjectId;
use crate::model::rel_path::RelPath;
use crate::model::shell::quote;
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
    /// Commits of plain git became checkpoints.
    Adopted {
        count: usize,
    },
    /// The same, seen by a command that only reads.
    Unadopted {
        count: usize,
    },
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
    /// The content of one file of a checkpoint cannot be read.
    DamagedFile {
        path: RelPath,
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
    /// The checkpoints of a place that is gone may be those of this directory.
    ProjectMoved {
        old_root: PathBuf,
        checkpoints: usize,
    },
    EmptyAfterFiles,
    OverKeep {
        keep: usize,
        kept: usize,
    },
    /// The store takes more room than it may.
    OverMaxStoreSize {
        limit_bytes: u64,
        needed_bytes: u64,
    },
    /// Dropped after the result was told, so that the store fits.
    EvictedForSize {
        ids: Vec<ObjectId>,
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
    /// A copy was written into the working directory.
    CopyInsideRoot,
    /// One of several checkpoints could not be looked at.
    PassedOver {
        id: ObjectId,
        why: String,
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
            Self::Adopted { .. } => "adopted",
            Self::Unadopted { .. } => "not_adopted_yet",
            Self::IndexesRebuilt { .. } => "indexes_rebuilt",
            Self::StoreReinitialized { .. } => "store_reinitialized",
            Self::DamagedCheckpoint { .. } => "damaged_checkpoint",
            Self::DamagedFile { .. } => "damaged_file",
            Self::RestorePending { .. } => "restore_pending",
            Self::JournalUnreadable => "journal_unreadable",
            Self::Bookkeeping { .. } => "bookkeeping",
            Self::Config { .. } => "config",
            Self::GitIndexUnreadable { .. } => "git_index_unreadable",
            Self::RootWasRecreated => "root_recreated",
            Self::ProjectMoved { .. } => "project_moved",
            Self::EmptyAfterFiles => "empty_after_files",
            Self::OverKeep { .. } => "over_keep",
            Self::OverMaxStoreSize { .. } => "over_max_store_size",
            Self::EvictedForSize { .. } => "evicted_for_size",
            Self::LateWrites { .. } => "late_writes",
            Self::IsPartial { .. } => "partial",
            Self::StoreTooNew { .. } => "store_too_new",
            Self::CopyInsideRoot => "copy_inside_root",
            Self::PassedOver { .. } => "passed_over",
        }
    }

    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::NotCaptured { path, .. } | Self::ChangedWhileRead { path } | Self::DamagedFile { path, .. } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether even a program that reads one document must be told beside it: it happened after that was written.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::EvictedForSize { .. })
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
            Self::Adopted { count } => write!(f, "took over {count} {} that plain git made", commits(*count)),
            Self::Unadopted { count } => {
                let them = if *count == 1 { "it" } else { "them" };
                write!(
                    f,
                    "plain git made {count} {} here; the next command that writes takes {them} over",
                    commits(*count)
                )
            }
            Self::IndexesRebuilt { count } => {
                write!(f, "the index of {count} packs was damaged or gone and was made anew")
            }
            Self::StoreReinitialized { whole: 0, kept_as, .. } => write!(
                f,
                "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost. \
                 The damaged one is kept as {}",
                kept_as.display()
            ),
            Self::StoreReinitialized { whole, known, kept_as } => write!(
                f,
                "the store was damaged and was made anew: {whole} of {known} checkpoints kept; \
                 the damaged one is kept as {}",
                kept_as.display()
            ),
            Self::DamagedCheckpoint { id, why } => write!(f, "checkpoint {} is damaged: {why}", id.short()),
            Self::DamagedFile { path, why } => write!(f, "{path} is damaged and not shown: {why}"),
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
            Self::ProjectMoved { old_root, checkpoints } => write!(
                f,
                "this directory looks like {}, which has moved and has {checkpoints} {}: 'checkpoint relink {}' takes them over",
                old_root.display(),
                if *checkpoints == 1 { "checkpoint" } else { "checkpoints" },
                quote(old_root.as_os_str().as_encoded_bytes())
            ),
            Self::EmptyAfterFiles => f.write_str("this checkpoint is empty, and the one before it had files"),
            Self::OverKeep { keep, kept } => {
                write!(f, "{kept} checkpoints stay although {keep} are to be kept: the others are protected")
            }
            Self::OverMaxStoreSize { limit_bytes, needed_bytes } => write!(
                f,
                "the store takes {} bytes although max_store_size is {}: a prune drops what is not protected, the rest stays",
                thousands(*needed_bytes),
                thousands(*limit_bytes)
            ),
            Self::EvictedForSize { ids } => {
                let ids: Vec<String> = ids.iter().map(|id| id.short()).collect();
                write!(f, "evicted by max_store_size: {}", ids.join(" "))
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
            Self::CopyInsideRoot => {
                f.write_str("the copy lies in the working directory: the next create captures it too")
            }
            Self::PassedOver { id, why } => write!(f, "checkpoint {} was passed over: {why}", id.short()),
        }
    }
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

fn commits(count: usize) -> &'static str {
    if count == 1 { "commit" } else { "commits" }
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
