//! The sentence of each warning, for people; the codes for programs are in `warning.rs`.

use std::fmt;
use std::path::Path;

use crate::base::cut_list::first_of;
use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_path};
use crate::error::sentence::Sentence;
use crate::model::checkpoint::message::MADE_BY_NEWER;
use crate::model::checkpoint::record::{CheckpointId, DamagedCheckpoint};
use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;

const COPY_INSIDE: &str =
    "the copy is in the working directory, so the next create captures it too";

const JOURNAL_UNREADABLE: &str = "the journal of an interrupted restore cannot be read: 'checkpoint undo' goes back to before it";
const EMPTY_AFTER_FILES: &str = "this checkpoint is empty, but the one before it had files";
const RUN_REBUILT: &str = "the damaged ref of a workflow was rebuilt";
const MANIFEST_REBUILT: &str = "the manifest was damaged or missing, and was rebuilt";
const CHANGED_WHILE_READ: &str = " changed while it was read; captured as last seen";
const DIR_NOT_HELD: &str =
    " is a file now; a directory of that name is left out, so this brings none back";
const SECRET_NOT_HELD: &str = " is not in that checkpoint, which may have left it out as a secret; \
    only the safety checkpoint holds it as it is now";
const NOT_IN_AUDIT: &str = "this create is missing from the audit trail";
const IS_LINKED: &str = " is a link, so its rules do not count, as in git; a plain file counts";
const GIT_INDEX_UNREADABLE: &str =
    "the project's git index cannot be read, so ignored files that it names are left out";

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl Warning {
    /// Returns what it says, with the command that it suggests.
    pub fn sentence(&self) -> Sentence {
        let text = match self {
            Self::Dedup { existing, reason } => unchanged(*existing, reason),
            Self::TooManyFiles { limit, .. } => too_many(*limit),
            Self::AlsoBefore { of, prompts } => also_before(of, *prompts),
            Self::OfRun(warning) => return warning.sentence(),
            Self::Disabled => "checkpoints are switched off by CHECKPOINT_DISABLE".to_owned(),
            Self::NotCaptured { path, why } => not_captured(path, why),
            Self::ChangedWhileRead { path } => format!("{path}{CHANGED_WHILE_READ}"),
            Self::DatabaseInUse { path } | Self::LogNotHeld { path } => return in_use(self, path),
            Self::RefsLost { ids } => refs_lost(ids),
            Self::RefsRestored { ids } => refs_restored(ids),
            Self::ManifestRebuilt => MANIFEST_REBUILT.to_owned(),
            Self::Adopted { count } => adopted(*count),
            Self::DirNotHeld { path } => format!("{path}{DIR_NOT_HELD}"),
            Self::SecretNotHeld { path } => format!("{path}{SECRET_NOT_HELD}"),
            Self::RefusedNow { why } => format!("this would fail now: {why}"),
            Self::AbsurdTime { id, is_old } => return absurd_time(*id, *is_old),
            Self::Unadopted { count } => unadopted(*count),
            Self::IndexesRebuilt { count } => indexes_rebuilt(*count),
            Self::WorkflowRestored { id } => format!("{RUN_REBUILT}: {id}"),
            Self::StoreReinitialized {
                whole,
                known,
                kept_as,
            } => reinitialized(*whole, *known, kept_as),
            Self::Damaged { checkpoints } => return damaged(checkpoints),
            Self::DamagedFile { path, why } => format!("{path} is damaged and not shown: {why}"),
            Self::RestorePending { target, safety } => return pending(*target, *safety),
            Self::RestoreNeverBegan { target } => never_began(*target),
            Self::JournalUnreadable => return Sentence::new(JOURNAL_UNREADABLE, &[]),
            Self::Bookkeeping { step, why } => format!("done, but {step} failed: {why}"),
            Self::Config { file, text } => format!("{}: {text}", file.display()),
            Self::IgnoreFileUnreadable { path } => rules_unread(path),
            Self::GitIndexUnreadable { why } => format!("{GIT_INDEX_UNREADABLE}: {why}"),
            Self::IgnoreFileIsLink { path } => format!("{path}{IS_LINKED}"),
            Self::RootWasRecreated => "the directory was missing, and was created again".to_owned(),
            Self::AnotherRoot { checkpoints } => return another_root(*checkpoints),
            Self::ProjectMoved {
                old_root,
                top,
                checkpoints,
            } => return moved(old_root, top.as_deref(), *checkpoints),
            Self::BelowTop { root, top } => return below_top(root, top),
            Self::BelowRoot { root, above } => return below_root(root, above),
            Self::EmptyAfterFiles => EMPTY_AFTER_FILES.to_owned(),
            Self::OverKeep { keep, kept } => over_keep(*keep, *kept),
            Self::OverMaxStoreSize {
                limit_bytes,
                needed_bytes,
                prunable,
            } => return too_large(*limit_bytes, *needed_bytes, *prunable),
            Self::LateWrites { paths, staging } => late_writes(paths, staging),
            Self::IsPartial { id } => return is_partial(*id),
            Self::ShownIsPartial { id } => format!("checkpoint {} is partial", id.short()),
            Self::StoreTooNew { found } => too_new(*found),
            Self::CopyInsideRoot => COPY_INSIDE.to_owned(),
            Self::RewordsUnreadable { why } => return rewords_unreadable(why),
            Self::HoldsUnreadable { why } => holds_unreadable(why),
            Self::AuditFailed { why } => format!("{NOT_IN_AUDIT}: {why}"),
            Self::CopiesNotMade { id, why } => return without_copies(*id, why),
            Self::DatabaseSkipped { name } => return skipped(name),
            Self::LeftBehind { id, why } => return left_behind(*id, why),
            Self::LineNotTaken { remote, line, why } => return line_not_taken(remote, line, why),
            Self::PassedOver { id, why } => format!("checkpoint {} was skipped: {why}", id.short()),
        };
        Sentence::text(text)
    }
}

impl RunWarning {
    fn sentence(&self) -> Sentence {
        Sentence::text(match self {
            Self::OfOtherRun { path, to } => {
                let (path, to) = (escape(path), escape(to));
                format!("{path} belonged to another workflow and is now {to}")
            }
            Self::Reopened { id } => format!("workflow {id} was reopened: its file is back"),
            Self::PutAside { id, why } => {
                return Sentence::new(
                    "workflow {} was archived: {}; 'checkpoint workflow recover {}' reopens it",
                    &[id, &escape(why), id],
                );
            }
            Self::FailedFileRemoved { path } => {
                format!("{} was removed: its run failed long ago", escape(path))
            }
            Self::NotIgnored {
                pattern,
                ignore_file,
            } => {
                let file = shell_word(ignore_file.as_os_str().as_encoded_bytes());
                format!("git would add {pattern}; to ignore it: printf '\\n{pattern}\\n' >> {file}")
            }
            Self::FileBelow { path, root } => {
                let (word, root) = (root.as_os_str().as_encoded_bytes(), escape_path(root));
                return Sentence::new(
                    "{} in this directory is not a file of {}: 'checkpoint --here workflow status' reads it, 'checkpoint -C {} workflow status' has the runs there",
                    &[&escape(path), &root, &word],
                );
            }
            Self::SnapshotLeftOut { reason, why } => {
                format!("no checkpoint {}: {why}", escape(reason))
            }
        })
    }
}

fn unchanged(since: ObjectId, reason: &str) -> String {
    let (short, reason) = (since.short(), escape(reason));
    format!("unchanged since {short} ({reason}) a moment ago: no new checkpoint")
}

fn not_captured(path: &RelPath, why: &WhyNot) -> String {
    let why = match why {
        WhyNot::Unreadable(text) => text,
        other => other.in_words(),
    };
    format!("not captured: {path} ({why})")
}

fn adopted(count: usize) -> String {
    format!("adopted {count} {} made with plain git", commits(count))
}

fn absurd_time(id: ObjectId, is_old: bool) -> Sentence {
    let what = if is_old {
        "commit {} of plain git has a time before 1970, which git refuses, so push and export leave it \
         out; 'checkpoint delete {}' removes it"
    } else {
        "commit {} of plain git has an absurd time, and counts as of the nearest year from 1 to 9999; \
         'checkpoint delete {}' removes it"
    };
    Sentence::new(what, &[&id.short(), &id.short()])
}

fn rewords_unreadable(why: &str) -> Sentence {
    Sentence::new(
        "the reasons given by reword are not shown: their file is damaged: {}; \
         'checkpoint verify --repair' puts it aside",
        &[&why],
    )
}

fn also_before(of: &str, prompts: usize) -> String {
    let plural = if prompts == 1 { "" } else { "s" };
    format!("this also takes back work of {prompts} prompt{plural} of {of}")
}

fn holds_unreadable(why: &str) -> String {
    format!("no hold is active: their file is damaged: {why}")
}

fn left_behind(id: ObjectId, why: &str) -> Sentence {
    let words = "checkpoint {} was left out, it {}";
    Sentence::new(words, &[&id.short(), &escape(why)])
}

fn line_not_taken(remote: &str, line: &str, why: &str) -> Sentence {
    let text = format!("{line} of {remote} was not taken: {}; ", escape(why));
    Sentence::text(text).then_sentence(after_bad_line(remote, line, why))
}

/// What can be done about a line that was not taken.
pub fn after_bad_line(remote: &str, line: &str, why: &str) -> Sentence {
    if why.ends_with(MADE_BY_NEWER) {
        return Sentence::new("'checkpoint fetch {}' brings it then", &[&remote]);
    }
    Sentence::new(
        "'checkpoint remote remove {} --line {}' removes it there; a push from where it was made brings it again",
        &[&remote, &line],
    )
}

fn too_many(limit: u64) -> String {
    let limit = thousands(limit);
    format!("Directory has >{limit} files — checkpoints disabled for performance.")
}

fn indexes_rebuilt(count: usize) -> String {
    let packs = if count == 1 { "pack" } else { "packs" };
    format!("the index of {count} {packs} was damaged or missing, and was rebuilt")
}

fn too_new(found: u32) -> String {
    format!(
        "the store has the newer format {found}: it is read as far as possible, and not written"
    )
}

fn is_partial(id: ObjectId) -> Sentence {
    Sentence::new(
        "checkpoint {} is partial: 'checkpoint show {}' lists what it lacks",
        &[&id.short(), &id.short()],
    )
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

fn damaged(checkpoints: &[DamagedCheckpoint]) -> Sentence {
    if let [one] = checkpoints {
        let short = one.id.short();
        return Sentence::text(format!("checkpoint {short} is damaged: {}", one.why));
    }
    let named = several(checkpoints.iter().map(|lost| lost.id.clone()));
    Sentence::new(
        "{} are damaged: 'checkpoint verify' tells what is wrong with each",
        &[&named],
    )
}

/// `37 checkpoints (1a2b3c4d, 5e6f7a8b, 9c0d1e2f, …)`.
fn several(ids: impl IntoIterator<Item = impl Into<CheckpointId>>) -> String {
    const NAMED_CHECKPOINTS: usize = 8;
    let shorts: Vec<String> = ids.into_iter().map(|id| id.into().short()).collect();
    let named = first_of(&shorts, NAMED_CHECKPOINTS, |_| ", …".to_owned());
    format!("{} checkpoints ({named})", thousands(shorts.len() as u64))
}

fn pending(target: ObjectId, safety: ObjectId) -> Sentence {
    Sentence::new(
        "a restore to {} was interrupted (safety checkpoint {}): \
         'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
        &[&target.short(), &safety.short()],
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

fn skipped(name: &str) -> Sentence {
    Sentence::new(
        "database {} is not a file, so it was skipped; 'checkpoint cat SEL:@db/{}' prints its content",
        &[&escape(name), &name],
    )
}

fn in_use(warning: &Warning, path: &RelPath) -> Sentence {
    let what = match warning {
        Warning::LogNotHeld { .. } => {
            "{} was recorded in use and without its log, so its last changes may be missing; \
             'checkpoint create --db {}' holds it whole"
        }
        _ => {
            "{} is a database in use, and may not be whole as a file; \
             'checkpoint create --db {}' holds it whole"
        }
    };
    Sentence::new(what, &[&path.to_string(), &path.as_bytes()])
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

fn another_root(checkpoints: usize) -> Sentence {
    Sentence::new(
        "the checkpoints here ({}) were made from another directory at this path; \
         the next checkpoint records this one beside them",
        &[&thousands(checkpoints as u64)],
    )
}

fn moved(old_root: &Path, top: Option<&Path>, checkpoints: usize) -> Sentence {
    let number = if checkpoints == 1 {
        "1 checkpoint".to_owned()
    } else {
        format!("{checkpoints} checkpoints")
    };
    let word = old_root.as_os_str().as_encoded_bytes();
    if let Some(top) = top {
        return Sentence::new(
            "{} seems to be the former {}, which has {}: 'checkpoint -C {} relink {}' brings them there",
            &[
                &escape_path(top),
                &escape_path(old_root),
                &number,
                &top.as_os_str().as_encoded_bytes(),
                &word,
            ],
        );
    }
    Sentence::new(
        "this directory seems to be that of {}, which has {}: 'checkpoint relink {}' brings them here",
        &[&escape_path(old_root), &number, &word],
    )
}

fn rules_unread(path: &Path) -> String {
    let path = escape_path(path);
    format!("{path} cannot be read, so its rules do not count")
}

fn below_top(root: &Path, top: &Path) -> Sentence {
    Sentence::new(
        "checkpoints here hold only {}, and commands here use only these; \
         'checkpoint -C {} create' saves the whole repository",
        &[&escape_path(root), &top.as_os_str().as_encoded_bytes()],
    )
}

fn below_root(root: &Path, above: &Path) -> Sentence {
    let [own, its] = [root, above].map(|dir| dir.as_os_str().as_encoded_bytes());
    Sentence::new(
        "commands in {} use only its own checkpoints from now on, and no longer those of {}; \
         'checkpoint -C {} create' adds to those, 'checkpoint -C {} delete --all' undoes this",
        &[&escape_path(root), &escape_path(above), &its, &own],
    )
}

fn too_large(limit_bytes: u64, needed_bytes: u64, prunable: bool) -> Sentence {
    let why = if prunable {
        "'checkpoint prune' frees space"
    } else {
        "all remaining checkpoints are protected"
    };
    let sizes = Sentence::new(
        "the store takes {} bytes, more than the limit max_store_size of {}: ",
        &[&thousands(needed_bytes), &thousands(limit_bytes)],
    );
    sizes.then_sentence(Sentence::new(why, &[]))
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

fn without_copies(id: ObjectId, why: &str) -> Sentence {
    Sentence::new(
        "the plain copies were not made: {}; the checkpoint itself is complete: 'checkpoint restore {}' restores it",
        &[&why, &id.short()],
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
