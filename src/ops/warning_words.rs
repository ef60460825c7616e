//! The sentence of each warning, for people; the codes for programs are in `warning.rs`.

use std::fmt;
use std::path::Path;

use crate::base::cut_list::first_of;
use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_path};
use crate::model::checkpoint::record::{CheckpointId, DamagedCheckpoint};
use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::run_warning::RunWarning;
use crate::ops::warning::Warning;

const COPY_INSIDE: &str =
    "the copy is in the working directory, so the next create captures it too";

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dedup { existing, reason } => {
                write!(f, "unchanged since {} ({}) a moment ago: no new checkpoint", existing.short(), escape(reason))
            }
            Self::TooManyFiles { limit, .. } => {
                write!(f, "Directory has >{} files — checkpoints disabled for performance.", thousands(*limit))
            }
            Self::OfRun(warning) => write!(f, "{warning}"),
            Self::Disabled => f.write_str("checkpoints are switched off by CHECKPOINT_DISABLE"),
            Self::NotCaptured { path, why: WhyNot::Unreadable(text) } => write!(f, "not captured: {path} ({text})"),
            Self::NotCaptured { path, why } => write!(f, "not captured: {path} ({})", why.in_words()),
            Self::ChangedWhileRead { path } => write!(f, "{path} changed while it was read; captured as last seen"),
            Self::RefsLost { ids } => f.write_str(&refs_lost(ids)),
            Self::RefsRestored { ids } => f.write_str(&refs_restored(ids)),
            Self::ManifestRebuilt => f.write_str("the manifest was damaged or missing, and was rebuilt"),
            Self::Adopted { count } => write!(f, "adopted {count} {} made with plain git", commits(*count)),
            Self::Unadopted { count } => f.write_str(&unadopted(*count)),
            Self::IndexesRebuilt { count } => {
                let packs = if *count == 1 { "pack" } else { "packs" };
                write!(f, "the index of {count} {packs} was damaged or missing, and was rebuilt")
            }
            Self::WorkflowRestored { id } => write!(f, "the ref of workflow {id} was damaged, and was rebuilt"),
            Self::StoreReinitialized { whole, known, kept_as } => f.write_str(&reinitialized(*whole, *known, kept_as)),
            Self::Damaged { checkpoints } => f.write_str(&damaged(checkpoints)),
            Self::DamagedFile { path, why } => write!(f, "{path} is damaged and not shown: {why}"),
            Self::RestorePending { target, safety } => f.write_str(&pending(*target, *safety)),
            Self::RestoreNeverBegan { target } => f.write_str(&never_began(*target)),
            Self::JournalUnreadable => f.write_str(
                "the journal of an interrupted restore cannot be read: 'checkpoint undo' goes back to before it",
            ),
            Self::Bookkeeping { step, why } => write!(f, "done, but {step} failed: {why}"),
            Self::Config { file, text } => write!(f, "{}: {text}", file.display()),
            Self::GitIndexUnreadable { why } => {
                write!(f, "the project's git index cannot be read, so ignored files that it names are left out: {why}")
            }
            Self::RootWasRecreated => f.write_str("the directory was missing, and was created again"),
            Self::AnotherRoot { checkpoints } => f.write_str(&another_root(*checkpoints)),
            Self::ProjectMoved { old_root, checkpoints } => f.write_str(&moved(old_root, *checkpoints)),
            Self::EmptyAfterFiles => f.write_str("this checkpoint is empty, but the one before it had files"),
            Self::OverKeep { keep, kept } => f.write_str(&over_keep(*keep, *kept)),
            Self::OverMaxStoreSize { limit_bytes, needed_bytes, prunable } => {
                f.write_str(&too_large(*limit_bytes, *needed_bytes, *prunable))
            }
            Self::LateWrites { paths, staging } => f.write_str(&late_writes(paths, staging)),
            Self::IsPartial { id } => {
                let short = id.short();
                write!(f, "checkpoint {short} is partial: 'checkpoint show {short}' lists what it lacks")
            }
            Self::ShownIsPartial { id } => write!(f, "checkpoint {} is partial", id.short()),
            Self::StoreTooNew { found } => {
                write!(f, "the store has the newer format {found}: it is read as far as possible, and not written")
            }
            Self::CopyInsideRoot => f.write_str(COPY_INSIDE),
            Self::RewordsUnreadable { why } => write!(
                f,
                "the reasons given by reword are not shown: their file is damaged: {why}; \
                 'checkpoint verify --repair' puts it aside"
            ),
            Self::HoldsUnreadable { why } => write!(f, "no hold is active: their file is damaged: {why}"),
            Self::AuditFailed { why } => write!(f, "this create is missing from the audit trail: {why}"),
            Self::CopiesNotMade { id, why } => f.write_str(&without_copies(*id, why)),
            Self::DatabaseSkipped { name } => f.write_str(&skipped(name)),
            Self::PassedOver { id, why } => write!(f, "checkpoint {} was skipped: {why}", id.short()),
        }
    }
}

impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Edited { path } => {
                write!(
                    f,
                    "{} is being edited, so the next command reads it",
                    escape(path)
                )
            }
            Self::NotWritten { path, why } => {
                write!(f, "{} could not be written: {why}", escape(path))
            }
            Self::PutAside { id, why } => {
                write!(
                    f,
                    "workflow {id} was archived: {}; 'checkpoint workflow show {id}' shows it",
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
                    "git would add {pattern}; to ignore it: printf '\\n{pattern}\\n' >> {file}"
                )
            }
            Self::SnapshotLeftOut { reason, why } => {
                write!(f, "no checkpoint {}: {why}", escape(reason))
            }
        }
    }
}

fn refs_lost(ids: &[ObjectId]) -> String {
    match ids {
        [id] => format!(
            "checkpoint {} has lost its ref; the next create or prune restores it",
            id.short()
        ),
        ids => {
            format!(
                "{} have lost their refs; the next create or prune restores them",
                several(ids.iter().copied())
            )
        }
    }
}

fn refs_restored(ids: &[ObjectId]) -> String {
    match ids {
        [id] => format!(
            "checkpoint {} had lost its ref, which was restored",
            id.short()
        ),
        ids => format!(
            "{} had lost their refs, which were restored",
            several(ids.iter().copied())
        ),
    }
}

fn damaged(checkpoints: &[DamagedCheckpoint]) -> String {
    if let [one] = checkpoints {
        return format!("checkpoint {} is damaged: {}", one.id.short(), one.why);
    }
    let named = several(checkpoints.iter().map(|lost| lost.id.clone()));
    format!("{named} are damaged: 'checkpoint verify' tells what is wrong with each")
}

/// `37 checkpoints (1a2b3c4d, 5e6f7a8b, 9c0d1e2f, …)`.
fn several(ids: impl IntoIterator<Item = impl Into<CheckpointId>>) -> String {
    const NAMED_CHECKPOINTS: usize = 8;
    let shorts: Vec<String> = ids.into_iter().map(|id| id.into().short()).collect();
    let named = first_of(&shorts, NAMED_CHECKPOINTS, |_| ", …".to_owned());
    format!("{} checkpoints ({named})", thousands(shorts.len() as u64))
}

fn pending(target: ObjectId, safety: ObjectId) -> String {
    format!(
        "a restore to {} was interrupted (safety checkpoint {}): \
         'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
        target.short(),
        safety.short()
    )
}

fn never_began(target: ObjectId) -> String {
    format!(
        "a restore to {} was stopped before it changed anything",
        target.short()
    )
}

fn over_keep(keep: usize, kept: usize) -> String {
    format!(
        "{kept} checkpoints remain, more than the limit of {keep}: the others are pinned, newest or needed by undo"
    )
}

fn skipped(name: &str) -> String {
    let name = escape(name);
    format!(
        "database {name} is not a file, so it was skipped; 'checkpoint cat SEL:@db/{name}' prints its content"
    )
}

fn unadopted(count: usize) -> String {
    let them = if count == 1 { "it" } else { "them" };
    format!(
        "plain git made {count} {} here; the next command that writes adopts {them}",
        commits(count)
    )
}

fn reinitialized(whole: usize, known: usize, kept_as: &Path) -> String {
    let kept_as = kept_as.display();
    if whole == 0 {
        return format!(
            "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost. The damaged one is kept as {kept_as}"
        );
    }
    format!(
        "the store was damaged and rebuilt: {whole} of {known} checkpoints were saved; \
         the damaged one is kept as {kept_as}"
    )
}

fn another_root(checkpoints: usize) -> String {
    format!(
        "the checkpoints here ({}) were made from another directory at this path: \
         'checkpoint delete --all' deletes them",
        thousands(checkpoints as u64)
    )
}

fn moved(old_root: &Path, checkpoints: usize) -> String {
    let number = if checkpoints == 1 {
        "1 checkpoint".to_owned()
    } else {
        format!("{checkpoints} checkpoints")
    };
    let word = shell_word(old_root.as_os_str().as_encoded_bytes());
    let old_root = escape_path(old_root);
    format!(
        "this directory seems to be that of {old_root}, which has {number}: 'checkpoint relink {word}' brings them here"
    )
}

fn too_large(limit_bytes: u64, needed_bytes: u64, prunable: bool) -> String {
    let (limit, needed) = (thousands(limit_bytes), thousands(needed_bytes));
    let why = if prunable {
        "'checkpoint prune' frees space"
    } else {
        "all remaining checkpoints are protected"
    };
    format!("the store takes {needed} bytes, more than the limit max_store_size of {limit}: {why}")
}

fn late_writes(paths: &[RelPath], staging: &str) -> String {
    let named: Vec<String> = paths.iter().map(RelPath::to_string).collect();
    let named = if named.is_empty() {
        "a replaced file".to_owned()
    } else {
        named.join(", ")
    };
    format!(
        "a program still wrote to {named} after it was replaced; these bytes are in no checkpoint, \
         so .checkpoint-stage-{staging}/ was kept: look at it, then remove it"
    )
}

fn without_copies(id: ObjectId, why: &str) -> String {
    let id = id.short();
    format!(
        "the plain copies were not made: {why}; the checkpoint itself is complete: 'checkpoint restore {id}' restores it"
    )
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
        let warning = Warning::TooManyFiles {
            limit: 50_000,
            largest: vec![],
        };
        let sentence = "Directory has >50,000 files — checkpoints disabled for performance.";
        assert_eq!(warning.to_string(), sentence);
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
