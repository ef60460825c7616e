//! Conditions that did not stop the work, each with a code for programs and a sentence for people.

use std::fmt;
use std::path::{Path, PathBuf};

use strum::EnumMessage as _;

use crate::base::cut_list::first_of;
use crate::base::shell_word::shell_word;
use crate::base::text::{count, escape, escape_path, thousands};
use crate::config::ConfigProblem;
use crate::error::{Error, Sentence};
use crate::model::checkpoint::limits;
use crate::model::checkpoint::message::MADE_BY_NEWER;
use crate::model::{Checkpoint, CheckpointId, DamagedCheckpoint, ObjectId, RelPath, WhyNot};
use crate::store::{Inventory, Salvaged, Store, lock};
use crate::worktree::root;

/// The code of each is its name, unless another is given. The message is its sentence, as
/// [`Sentence::new`] reads it; [`Warning::sentence`] has the arguments.
#[derive(
    Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames, strum::EnumMessage,
)]
#[strum(serialize_all = "snake_case")]
pub enum Warning {
    /// No new checkpoint: the newest is identical and was made a moment ago with this reason.
    #[strum(message = "unchanged since {} ({}) a moment ago: no new checkpoint")]
    Dedup { existing: ObjectId, reason: String },
    #[strum(message = "Directory has >{} files — checkpoints disabled for performance.")]
    TooManyFiles {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
    #[strum(message = "checkpoints are switched off by CHECKPOINT_DISABLE")]
    Disabled,
    /// Another session in the same directory, of this agent and name, worked on this number of
    /// prompts since the state that is gone back to.
    #[strum(message = "this also takes back work of {} of {}")]
    AlsoBefore { of: String, prompts: usize },
    /// A task list of another run was archived.
    #[strum(serialize = "state_file_of_other_run")]
    #[strum(message = "{} belonged to another workflow and is now {}")]
    OfOtherRun { path: String, to: String },
    /// A run was archived by a command that does not name it.
    #[strum(serialize = "workflow_put_aside")]
    #[strum(message = "workflow {} was archived: {}; 'checkpoint workflow recover {}' reopens it")]
    PutAside { id: String, why: String },
    /// The file with which a run was archived is back.
    #[strum(serialize = "workflow_reopened")]
    #[strum(message = "workflow {} was reopened: its file is back")]
    Reopened { id: String },
    /// The file of a failed run was removed after its retention time.
    #[strum(message = "{} was removed: its run failed long ago")]
    FailedFileRemoved { path: String },
    /// Git would track a file of a run.
    #[strum(serialize = "state_file_not_ignored")]
    #[strum(message = "git would add {}; to ignore it: printf '\\n{}\\n' >> {}")]
    NotIgnored {
        pattern: String,
        ignore_file: PathBuf,
    },
    /// The current directory, which is not the root, has the file of a run.
    #[strum(serialize = "state_file_below")]
    #[strum(
        message = "{} in this directory is not a file of {}: 'checkpoint --here workflow status' reads it, 'checkpoint -C {} workflow status' has the runs there"
    )]
    FileBelow { path: String, root: PathBuf },
    /// A transition was recorded without its checkpoint.
    #[strum(message = "no checkpoint {}: {}")]
    SnapshotLeftOut { reason: String, why: String },
    #[strum(message = "not captured: {} ({})")]
    NotCaptured { path: RelPath, why: WhyNot },
    #[strum(message = "{} changed while it was read; captured as last seen")]
    ChangedWhileRead { path: RelPath },
    /// A program has this database open; as a file it may not be whole.
    #[strum(
        message = "{} is a database in use, and may not be whole as a file; 'checkpoint create --db {}' holds it whole"
    )]
    DatabaseInUse { path: RelPath },
    /// A database is restored that was in use, without its log.
    #[strum(
        message = "{} was recorded in use and without its log, so its last changes may be missing; 'checkpoint create --db {}' holds it whole"
    )]
    LogNotHeld { path: RelPath },
    #[strum(serialize = "ref_restored", message = "lost refs were restored: {}")]
    RefsRestored { ids: Vec<ObjectId> },
    /// Seen by a read-only command.
    #[strum(serialize = "ref_lost")]
    #[strum(message = "lost refs, which the next create or prune restores: {}")]
    RefsLost { ids: Vec<ObjectId> },
    #[strum(message = "the manifest was damaged or missing, and was rebuilt")]
    ManifestRebuilt,
    /// Commits of plain git were adopted as checkpoints.
    #[strum(message = "adopted {} made with plain git")]
    Adopted { count: usize },
    /// A restore deletes a file in the place of a directory that its checkpoint leaves out.
    #[strum(
        message = "{} is a file now; a directory of that name is left out, so this brings none back"
    )]
    DirNotHeld { path: RelPath },
    /// A restore deletes a file that its checkpoint may have left out for what it held then.
    #[strum(
        message = "{} is not in that checkpoint, which may have left it out as a secret; only the safety checkpoint holds it as it is now"
    )]
    SecretNotHeld { path: RelPath },
    /// What a dry run shows could not be done, such as in a store that cannot be written to.
    #[strum(message = "this would fail now: {}")]
    RefusedNow { why: String },
    /// The time of a commit of plain git is after all calendars; the nearest one is taken.
    #[strum(
        message = "commit {} of plain git has an absurd time, and counts as of the nearest year from 1 to 9999; 'checkpoint delete {}' removes it"
    )]
    AbsurdTime { id: ObjectId },
    #[strum(serialize = "absurd_time")]
    #[strum(
        message = "commit {} of plain git has a time before 1970, which git refuses, so push and export leave it out; 'checkpoint delete {}' removes it"
    )]
    AncientTime { id: ObjectId },
    /// Commits of plain git not adopted yet, seen by a read-only command.
    #[strum(serialize = "not_adopted_yet")]
    #[strum(message = "plain git made {} here, which the next command that writes adopts")]
    Unadopted { count: usize },
    #[strum(message = "the index of {} was damaged or missing, and was rebuilt")]
    IndexesRebuilt { count: usize },
    /// The torn ref of a workflow was restored from its commits.
    #[strum(message = "the damaged ref of a workflow was rebuilt: {}")]
    WorkflowRestored { id: String },
    /// The store was unusable and was replaced by what could be read of it.
    #[strum(
        message = "the store was damaged and rebuilt: {} of {} checkpoints were saved; the damaged one is kept as {}"
    )]
    StoreReinitialized {
        whole: usize,
        known: usize,
        kept_as: PathBuf,
    },
    /// One warning for all damaged checkpoints.
    #[strum(serialize = "damaged_checkpoint")]
    #[strum(message = "{} are damaged: 'checkpoint verify' tells what is wrong with each")]
    Damaged { checkpoints: Vec<DamagedCheckpoint> },
    /// The content of one file of a checkpoint cannot be read.
    #[strum(message = "{} is damaged and not shown: {}")]
    DamagedFile { path: RelPath, why: String },
    #[strum(
        message = "a restore to {} was interrupted (safety checkpoint {}): 'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back"
    )]
    RestorePending { target: ObjectId, safety: ObjectId },
    #[strum(
        message = "the journal of an interrupted restore cannot be read: 'checkpoint undo' goes back to before it"
    )]
    JournalUnreadable,
    /// A restore was killed before it changed anything; its preparations were removed.
    #[strum(message = "a restore to {} was stopped before it changed anything")]
    RestoreNeverBegan { target: ObjectId },
    /// A bookkeeping step after the commit point failed; nothing is lost.
    #[strum(message = "done, but {} failed: {}")]
    Bookkeeping { step: &'static str, why: String },
    #[strum(message = "{}: {}")]
    Config { file: PathBuf, text: String },
    /// An ignore file above the root; nothing is recorded without its rules.
    #[strum(message = "{} cannot be read, so its rules do not count")]
    IgnoreFileUnreadable { path: PathBuf },
    #[strum(
        message = "the project's git index cannot be read, so ignored files that it names are left out: {}"
    )]
    GitIndexUnreadable { why: String },
    /// A `.gitignore` is a link, which git does not follow.
    #[strum(message = "{} is a link, so its rules do not count, as in git; a plain file counts")]
    IgnoreFileIsLink { path: RelPath },
    #[strum(serialize = "root_recreated")]
    #[strum(message = "the directory was missing, and was created again")]
    RootWasRecreated,
    /// The checkpoints were made of another directory at this path.
    #[strum(
        message = "the checkpoints here ({}) were made from another directory at this path; the next checkpoint records this one beside them"
    )]
    AnotherRoot { checkpoints: usize },
    /// The checkpoints of a root that is gone may belong to this directory.
    #[strum(
        message = "this directory seems to be that of {}, which has {}: 'checkpoint relink {}' brings them here"
    )]
    ProjectMoved {
        old_root: PathBuf,
        checkpoints: usize,
    },
    /// The same, but what was moved is the repository around this directory.
    #[strum(serialize = "project_moved")]
    #[strum(
        message = "{} seems to be the former {}, which has {}: 'checkpoint -C {} relink {}' brings them there"
    )]
    TopMoved {
        old_root: PathBuf,
        top: PathBuf,
        checkpoints: usize,
    },
    /// The first checkpoint of a directory that is only a part of a repository.
    #[strum(
        message = "checkpoints here hold only {}, and commands here use only these; 'checkpoint -C {} create' saves the whole repository"
    )]
    BelowTop { root: PathBuf, top: PathBuf },
    /// The first checkpoint of a directory below a root with checkpoints.
    #[strum(
        message = "commands in {} use only its own checkpoints from now on, and no longer those of {}; 'checkpoint -C {} create' adds to those, 'checkpoint -C {} delete --all' undoes this"
    )]
    BelowRoot { root: PathBuf, above: PathBuf },
    #[strum(message = "this checkpoint is empty, but the one before it had files")]
    EmptyAfterFiles,
    #[strum(
        message = "{} checkpoints remain, more than the limit of {}: the others are pinned, newest or needed by undo"
    )]
    OverKeep { keep: usize, kept: usize },
    /// The store is larger than its limit, and a prune would help.
    #[strum(serialize = "over_max_store_size")]
    #[strum(
        message = "the store takes {} bytes, more than the limit max_store_size of {}: 'checkpoint prune' frees space"
    )]
    PrunableStore { limit_bytes: u64, needed_bytes: u64 },
    /// The store is larger than its limit, and no prune would help.
    #[strum(
        message = "the store takes {} bytes, more than the limit max_store_size of {}: all remaining checkpoints are protected"
    )]
    OverMaxStoreSize { limit_bytes: u64, needed_bytes: u64 },
    /// A program went on writing to files that a restore had replaced; its data is kept in the
    /// staging directory.
    #[strum(
        message = "a program still wrote to {} after it was replaced; these bytes are in no checkpoint, so .checkpoint-stage-{}/ was kept: look at it, then remove it"
    )]
    LateWrites {
        paths: Vec<RelPath>,
        staging: String,
    },
    /// The named checkpoint, or the latest, which a restore would use, is incomplete.
    #[strum(serialize = "partial")]
    #[strum(message = "checkpoint {} is partial: 'checkpoint show {}' lists what it lacks")]
    IsPartial { id: ObjectId },
    /// An incomplete checkpoint whose printed details name what it lacks.
    #[strum(serialize = "partial", message = "checkpoint {} is partial")]
    ShownIsPartial { id: ObjectId },
    #[strum(
        message = "the store has the newer format {}: it is read as far as possible, and not written"
    )]
    StoreTooNew { found: u32 },
    /// A copy was written into the working directory.
    #[strum(message = "the copy is in the working directory, so the next create captures it too")]
    CopyInsideRoot,
    #[strum(
        message = "the reasons given by reword are not shown: their file is damaged: {}; 'checkpoint verify --repair' puts it aside"
    )]
    RewordsUnreadable { why: String },
    /// The holds cannot be read, so none stands.
    #[strum(message = "no hold is active: their file is damaged: {}")]
    HoldsUnreadable { why: String },
    /// A line is missing from the audit trail.
    #[strum(message = "this create is missing from the audit trail: {}")]
    AuditFailed { why: String },
    /// The checkpoint was made, its plain copies were not.
    #[strum(
        message = "the plain copies were not made: {}; the checkpoint itself is complete: 'checkpoint restore {}' restores it"
    )]
    CopiesNotMade { id: ObjectId, why: String },
    /// A database that is not a file cannot be written into a directory.
    #[strum(
        message = "database {} is not a file, so it was skipped; 'checkpoint cat SEL:@db/{}' prints its content"
    )]
    DatabaseSkipped { name: String },
    /// One of several checkpoints could not be read.
    #[strum(message = "checkpoint {} was skipped: {}")]
    PassedOver { id: ObjectId, why: String },
    /// One of several checkpoints was neither sent nor taken.
    #[strum(message = "checkpoint {} was left out, it {}")]
    LeftBehind { id: ObjectId, why: String },
    /// One of several lines of a remote, whose ref there is `line`, is bad.
    #[strum(message = "{} of {} was not taken: {}; ")]
    LineNotTaken {
        remote: String,
        line: String,
        why: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl Warning {
    /// Returns what it says, with the command that it suggests.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Dedup { existing, reason } => self.say(&[&existing.short(), &escape(reason)]),
            Self::TooManyFiles { limit, .. } => self.say(&[&thousands(*limit)]),
            Self::AlsoBefore { of, prompts } => {
                self.say(&[&count(*prompts, "prompt", "prompts"), of])
            }
            Self::OfOtherRun { path, to } => self.say(&[&escape(path), &escape(to)]),
            Self::PutAside { id, why } => self.say(&[id, &escape(why), id]),
            Self::Reopened { id } | Self::WorkflowRestored { id } => self.say(&[id]),
            Self::FailedFileRemoved { path } => self.say(&[&escape(path)]),
            Self::NotIgnored {
                pattern,
                ignore_file,
            } => self.say(&[pattern, pattern, &shell_word(word_of(ignore_file))]),
            Self::FileBelow { path, root } => {
                self.say(&[&escape(path), &escape_path(root), &word_of(root)])
            }
            Self::SnapshotLeftOut { reason, why } => self.say(&[&escape(reason), why]),
            Self::NotCaptured {
                path,
                why: WhyNot::Unreadable(why),
            }
            | Self::DamagedFile { path, why } => self.say(&[&path.to_string(), why]),
            Self::NotCaptured { path, why } => self.say(&[&path.to_string(), &why.in_words()]),
            Self::ChangedWhileRead { path }
            | Self::DirNotHeld { path }
            | Self::SecretNotHeld { path }
            | Self::IgnoreFileIsLink { path } => self.say(&[&path.to_string()]),
            Self::DatabaseInUse { path } | Self::LogNotHeld { path } => {
                self.say(&[&path.to_string(), &path.as_bytes()])
            }
            Self::RefsRestored { ids } | Self::RefsLost { ids } => self.say(&[&named(ids.clone())]),
            Self::Adopted { count: of } | Self::Unadopted { count: of } => {
                self.say(&[&count(*of, "commit", "commits")])
            }
            Self::IndexesRebuilt { count: of } => self.say(&[&count(*of, "pack", "packs")]),
            Self::RefusedNow { why }
            | Self::GitIndexUnreadable { why }
            | Self::RewordsUnreadable { why }
            | Self::HoldsUnreadable { why }
            | Self::AuditFailed { why } => self.say(&[why]),
            Self::RestorePending { target, safety } => {
                self.say(&[&target.short(), &safety.short()])
            }
            Self::RestoreNeverBegan { target } => self.say(&[&target.short()]),
            Self::Bookkeeping { step, why } => self.say(&[step, why]),
            Self::Config { file, text } => self.say(&[&file.display().to_string(), text]),
            Self::IgnoreFileUnreadable { path } => self.say(&[&escape_path(path)]),
            Self::AnotherRoot { checkpoints } => self.say(&[&thousands(*checkpoints as u64)]),
            Self::BelowTop { root, top } => self.say(&[&escape_path(root), &word_of(top)]),
            Self::OverKeep { keep, kept } => self.say(&[&kept.to_string(), &keep.to_string()]),
            Self::AbsurdTime { id }
            | Self::AncientTime { id }
            | Self::IsPartial { id }
            | Self::ShownIsPartial { id } => self.say(&[&id.short(), &id.short()]),
            Self::StoreTooNew { found } => self.say(&[&found.to_string()]),
            Self::CopiesNotMade { id, why } => self.say(&[why, &id.short()]),
            Self::DatabaseSkipped { name } => self.say(&[&escape(name), name]),
            Self::PassedOver { id, why } => self.say(&[&id.short(), why]),
            Self::LeftBehind { id, why } => self.say(&[&id.short(), &escape(why)]),
            _ => self.of_store(),
        }
    }

    /// The same, of the store and of directories.
    fn of_store(&self) -> Sentence {
        match self {
            Self::StoreReinitialized {
                whole: 0, kept_as, ..
            } => Sentence::text(format!("{STORE_LOST} {}", kept_as.display())),
            Self::StoreReinitialized {
                whole,
                known,
                kept_as,
            } => self.say(&[
                &whole.to_string(),
                &known.to_string(),
                &kept_as.display().to_string(),
            ]),
            Self::Damaged { checkpoints } => match checkpoints.as_slice() {
                [one] => Sentence::text(format!(
                    "checkpoint {} is damaged: {}",
                    one.id.short(),
                    one.why
                )),
                all => self.say(&[&named(all.iter().map(|lost| lost.id.clone()))]),
            },
            Self::ProjectMoved {
                old_root,
                checkpoints,
            } => self.say(&[
                &escape_path(old_root),
                &of_number(*checkpoints),
                &word_of(old_root),
            ]),
            Self::TopMoved {
                old_root,
                top,
                checkpoints,
            } => self.say(&[
                &escape_path(top),
                &escape_path(old_root),
                &of_number(*checkpoints),
                &word_of(top),
                &word_of(old_root),
            ]),
            Self::BelowRoot { root, above } => self.say(&[
                &escape_path(root),
                &escape_path(above),
                &word_of(above),
                &word_of(root),
            ]),
            Self::PrunableStore {
                limit_bytes,
                needed_bytes,
            }
            | Self::OverMaxStoreSize {
                limit_bytes,
                needed_bytes,
            } => self.say(&[&thousands(*needed_bytes), &thousands(*limit_bytes)]),
            Self::LateWrites { paths, staging } => {
                let named: Vec<String> = paths.iter().map(RelPath::to_string).collect();
                let named = Some(named.join(", ")).filter(|named| !named.is_empty());
                self.say(&[
                    &named.unwrap_or_else(|| "a replaced file".to_owned()),
                    staging,
                ])
            }
            Self::LineNotTaken { remote, line, why } => self
                .say(&[line, remote, &escape(why)])
                .then_sentence(after_bad_line(remote, line, why)),
            _ => self.say(&[]),
        }
    }

    fn say(&self, args: &[&dyn AsRef<[u8]>]) -> Sentence {
        Sentence::new(self.get_message().unwrap_or_default(), args)
    }

    pub fn reinitialized(salvaged: Salvaged) -> Self {
        Self::StoreReinitialized {
            whole: salvaged.whole,
            known: salvaged.whole + salvaged.lost.len(),
            kept_as: salvaged.kept_as,
        }
    }

    /// Returns the stable code in JSON: the name of the variant, unless another is given there.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether what was asked for was done in part only.
    pub fn leaves_something(&self) -> bool {
        matches!(self, Self::LeftBehind { .. } | Self::LineNotTaken { .. })
    }

    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::NotCaptured { path, .. }
            | Self::ChangedWhileRead { path }
            | Self::DatabaseInUse { path }
            | Self::LogNotHeld { path }
            | Self::DirNotHeld { path }
            | Self::SecretNotHeld { path }
            | Self::DamagedFile { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Whether it arose after the result was written, so that a program reading one document needs
    /// it separately.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::AuditFailed { .. })
    }

    pub fn damaged(checkpoints: &[DamagedCheckpoint]) -> Option<Self> {
        (!checkpoints.is_empty()).then(|| Self::Damaged {
            checkpoints: checkpoints.to_vec(),
        })
    }

    /// Names an incomplete checkpoint.
    pub fn partial(checkpoint: &Checkpoint) -> Option<Self> {
        let id = checkpoint.id;
        checkpoint.is_partial().then_some(Self::IsPartial { id })
    }

    /// What no checkpoint needs stays where it is, such as on a full disk.
    pub fn not_freed(why: String) -> Self {
        Self::bookkeeping("freeing the rest of what nothing needs any more")(why)
    }

    /// Names commits of plain git whose time no calendar has.
    pub fn bounded_times<'c>(
        inventory: &'c Inventory,
        ids: &'c [ObjectId],
    ) -> impl Iterator<Item = Self> + 'c {
        let is_bounded = |id: &&ObjectId| {
            let found = inventory.get(**id);
            found.is_some_and(|found| limits::is_absurd(found.record.time_ms))
        };
        let of = |id: &ObjectId| {
            let is_old = inventory.get(*id).is_some_and(|it| it.record.time_ms < 0);
            if is_old {
                Self::AncientTime { id: *id }
            } else {
                Self::AbsurdTime { id: *id }
            }
        };
        ids.iter().filter(is_bounded).map(of)
    }

    /// Says of a dry run that the command itself would be refused.
    pub fn refused_now(store: &Store) -> Option<Self> {
        let layout = store.layout();
        let places = layout.written_directories();
        let of_place = || places.iter().find_map(|dir| root::refusal_to_write(dir));
        lock::refusal(&layout.lock())
            .or_else(of_place)
            .as_ref()
            .map(Self::refused)
    }

    /// Says of a dry run that names in a directory cannot be changed.
    pub fn refused_above(path: &Path) -> Option<Self> {
        path.parent()
            .and_then(root::refusal_to_write)
            .as_ref()
            .map(Self::refused)
    }

    fn refused(why: &Error) -> Self {
        Self::RefusedNow {
            why: why.to_string(),
        }
    }

    pub fn bookkeeping<E: fmt::Display>(step: &'static str) -> impl FnOnce(E) -> Warning {
        move |why| Warning::Bookkeeping {
            step,
            why: why.to_string(),
        }
    }
}

impl From<&ConfigProblem> for Warning {
    fn from(remark: &ConfigProblem) -> Self {
        Self::Config {
            file: remark.file.clone(),
            text: remark.what.clone(),
        }
    }
}

const STORE_LOST: &str = "Shadow repo was corrupt — reinitialized. Prior checkpoints are lost. The damaged one is kept as";

/// What can be done about a line of a remote that was not taken.
pub fn after_bad_line(remote: &str, line: &str, why: &str) -> Sentence {
    if why.ends_with(MADE_BY_NEWER) {
        return Sentence::new("'checkpoint fetch {}' brings it then", &[&remote]);
    }
    Sentence::new(
        "'checkpoint remote remove {} --line {}' removes it there; a push from where it was made brings it again",
        &[&remote, &line],
    )
}

fn word_of(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn of_number(checkpoints: usize) -> String {
    count(checkpoints, "checkpoint", "checkpoints")
}

/// `checkpoint 1a2b3c4d`, or `37 checkpoints (1a2b3c4d, 5e6f7a8b, 9c0d1e2f, …)`.
fn named(ids: impl IntoIterator<Item = impl Into<CheckpointId>>) -> String {
    const NAMED_CHECKPOINTS: usize = 8;
    let shorts: Vec<String> = ids.into_iter().map(|id| id.into().short()).collect();
    match shorts.as_slice() {
        [one] => format!("checkpoint {one}"),
        all => {
            let named = first_of(all, NAMED_CHECKPOINTS, |_| ", …".to_owned());
            format!("{} ({named})", of_number(all.len()))
        }
    }
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
    }
}
