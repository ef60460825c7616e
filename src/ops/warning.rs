//! Conditions that did not stop the work, each with a code for programs and a sentence for people.

use std::fmt;
use std::path::{Path, PathBuf};

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

/// Makes the type of warnings of a table: each with its sentence, as [`Sentence::new`] reads it, and
/// the arguments.
macro_rules! warnings {
    ($(
        $(#[$attribute:meta])*
        $name:ident $({ $($field:ident: $type:ty),+ })? => $sentence:literal $(, $argument:expr)*;
    )*) => {
        /// The code of each is its name, unless another is given.
        #[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
        #[strum(serialize_all = "snake_case")]
        pub enum Warning {
            $($(#[$attribute])* $name $({ $($field: $type),+ })?,)*
        }

        impl Warning {
            #[expect(unused_variables, reason = "not every field is told")]
            fn usual_sentence(&self) -> Sentence {
                match self {
                    $(Self::$name $({ $($field),+ })? => {
                        Sentence::new($sentence, &[$(&$argument),*])
                    })*
                }
            }
        }
    };
}

warnings! {
    /// No new checkpoint: the newest is identical and was made a moment ago with this reason.
    Dedup { existing: ObjectId, reason: String } =>
        "unchanged since {} ({}) a moment ago: no new checkpoint",
        existing.short(), escape(reason);
    TooManyFiles { limit: u64, largest: Vec<(RelPath, u64)> } =>
        "Directory has >{} files — checkpoints disabled for performance.", thousands(*limit);
    /// By the user's setting, an agent drops nothing that the configuration keeps.
    KeepNotAgreed => "no checkpoint was dropped: by the user's setting agent_restore, an agent drops none that the configuration keeps";
    Disabled => "checkpoints are switched off by CHECKPOINT_DISABLE";
    /// Another session in the same directory, of this agent and name, worked on this number of
    /// prompts since the state that is gone back to.
    AlsoBefore { of: String, prompts: usize } =>
        "this also takes back work of {} of {}", count(*prompts, "prompt", "prompts"), of;
    /// A task list of another run was archived.
    #[strum(serialize = "state_file_of_other_run")]
    OfOtherRun { path: String, to: String } =>
        "{} belonged to another workflow and is now {}", escape(path), escape(to);
    /// A run was archived by a command that does not name it.
    #[strum(serialize = "workflow_put_aside")]
    PutAside { id: String, why: String } =>
        "workflow {} was archived: {}; 'checkpoint workflow recover {}' reopens it",
        id, escape(why), id;
    /// The file with which a run was archived is back.
    #[strum(serialize = "workflow_reopened")]
    Reopened { id: String } => "workflow {} was reopened: its file is back", id;
    /// The file of a failed run was removed after its retention time.
    FailedFileRemoved { path: String } =>
        "{} was removed: its run failed long ago", escape(path);
    /// A file of a run that was dropped is malformed, so that the run did not hold it.
    #[strum(serialize = "state_file_kept")]
    KeptMalformed { path: String } =>
        "{} stays: it is malformed, so it may be the only record", escape(path);
    /// Git would track a file of a run.
    #[strum(serialize = "state_file_not_ignored")]
    NotIgnored { pattern: String, ignore_file: PathBuf } =>
        "git would add {}; to ignore it: printf '\\n{}\\n' >> {}",
        pattern, pattern, shell_word(word_of(ignore_file));
    /// The current directory, which is not the root, has the file of a run.
    #[strum(serialize = "state_file_below")]
    FileBelow { path: String, root: PathBuf } =>
        "{} in this directory is not a file of {}: 'checkpoint --here workflow status' reads it, 'checkpoint -C {} workflow status' has the runs there",
        escape(path), escape_path(root), word_of(root);
    /// A transition was recorded without its checkpoint.
    SnapshotLeftOut { reason: String, why: String } =>
        "no checkpoint {}: {}", escape(reason), why;
    NotCaptured { path: RelPath, why: WhyNot } =>
        "not captured: {} ({})", path.to_string(), cause(why);
    ChangedWhileRead { path: RelPath } =>
        "{} changed while it was read; captured as last seen", path.to_string();
    /// A program has this database open; as a file it may not be whole.
    DatabaseInUse { path: RelPath } =>
        "{} is a database in use, and may not be whole as a file; 'checkpoint create --db {}' holds it whole",
        path.to_string(), path.as_bytes();
    /// A database is restored that was in use, without its log.
    LogNotHeld { path: RelPath } =>
        "{} was recorded in use and without its log, so its last changes may be missing; 'checkpoint create --db {}' holds it whole",
        path.to_string(), path.as_bytes();
    #[strum(serialize = "ref_restored")]
    RefsRestored { ids: Vec<ObjectId> } => "lost refs were restored: {}", named(ids.clone());
    /// Seen by a read-only command.
    #[strum(serialize = "ref_lost")]
    RefsLost { ids: Vec<ObjectId> } =>
        "lost refs, which the next create or prune restores: {}", named(ids.clone());
    ManifestRebuilt => "the manifest was damaged or missing, and was rebuilt";
    /// Commits of plain git were adopted as checkpoints.
    Adopted { commits: usize } =>
        "adopted {} made with plain git", count(*commits, "commit", "commits");
    /// A restore deletes a file in the place of a directory that its checkpoint leaves out.
    DirNotHeld { path: RelPath } =>
        "{} is a file now; a directory of that name is left out, so this brings none back",
        path.to_string();
    /// A restore deletes a file that its checkpoint may have left out for what it held then.
    SecretNotHeld { path: RelPath } =>
        "{} is not in that checkpoint, which may have left it out as a secret; only the safety checkpoint holds it as it is now",
        path.to_string();
    /// What a dry run shows could not be done, such as in a store that cannot be written to.
    RefusedNow { why: String } => "this would fail now: {}", why;
    /// The time of a commit of plain git is after all calendars; the nearest one is taken.
    AbsurdTime { id: ObjectId } =>
        "commit {} of plain git has an absurd time, and counts as of the nearest year from 1 to 9999; 'checkpoint delete {}' removes it",
        id.short(), id.short();
    #[strum(serialize = "absurd_time")]
    AncientTime { id: ObjectId } =>
        "commit {} of plain git has a time before 1970, which git refuses, so push and export leave it out; 'checkpoint delete {}' removes it",
        id.short(), id.short();
    /// Commits of plain git not adopted yet, seen by a read-only command.
    #[strum(serialize = "not_adopted_yet")]
    Unadopted { commits: usize } =>
        "plain git made {} here, which the next command that writes adopts",
        count(*commits, "commit", "commits");
    IndexesRebuilt { packs: usize } =>
        "the index of {} was damaged or missing, and was rebuilt", count(*packs, "pack", "packs");
    /// The torn ref of a workflow was restored from its commits.
    WorkflowRestored { id: String } => "the damaged ref of a workflow was rebuilt: {}", id;
    /// The store was unusable and was replaced by what could be read of it.
    StoreReinitialized { whole: usize, known: usize, kept_as: PathBuf } =>
        "the store was damaged and rebuilt: {} of {} checkpoints were saved; the damaged one is kept as {}",
        whole.to_string(), known.to_string(), kept_as.display().to_string();
    /// One warning for all damaged checkpoints.
    #[strum(serialize = "damaged_checkpoint")]
    Damaged { checkpoints: Vec<DamagedCheckpoint> } =>
        "{} are damaged: 'checkpoint verify' tells what is wrong with each",
        named(checkpoints.iter().map(|lost| lost.id.clone()));
    /// The content of one file of a checkpoint cannot be read.
    DamagedFile { path: RelPath, why: String } =>
        "{} is damaged and not shown: {}", path.to_string(), why;
    RestorePending { target: ObjectId, safety: ObjectId } =>
        "a restore to {} was interrupted (safety checkpoint {}): 'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
        target.short(), safety.short();
    JournalUnreadable =>
        "the journal of an interrupted restore cannot be read: 'checkpoint undo' goes back to before it";
    /// A restore was killed before it changed anything; its preparations were removed.
    RestoreNeverBegan { target: ObjectId } =>
        "a restore to {} was stopped before it changed anything", target.short();
    /// A bookkeeping step after the commit point failed; nothing is lost.
    Bookkeeping { step: &'static str, why: String } => "done, but {} failed: {}", step, why;
    Config { file: PathBuf, text: String } => "{}: {}", file.display().to_string(), text;
    /// An ignore file above the root; nothing is recorded without its rules.
    IgnoreFileUnreadable { path: PathBuf } =>
        "{} cannot be read, so its rules do not count", escape_path(path);
    MonitorUnusable { why: String } =>
        "watchman cannot be used, so all files were looked at: {}", escape(why);
    /// A full scan found what the monitor had not named.
    MonitorOff { path: RelPath } =>
        "watchman did not name {}, which changed; it is not used for this store any more, until you remove checkpoint/monitor-off in it",
        path.to_string();
    GitIndexUnreadable { why: String } =>
        "the project's git index cannot be read, so ignored files that it names are left out: {}",
        why;
    /// A `.gitignore` is a link, which git does not follow.
    IgnoreFileIsLink { path: RelPath } =>
        "{} is a link, so its rules do not count, as in git; a plain file counts",
        path.to_string();
    #[strum(serialize = "root_recreated")]
    RootWasRecreated => "the directory was missing, and was created again";
    /// The checkpoints were made of another directory at this path.
    AnotherRoot { checkpoints: usize } =>
        "the checkpoints here ({}) were made from another directory at this path; the next checkpoint records this one beside them",
        thousands(*checkpoints as u64);
    /// The checkpoints of a root that is gone may belong to this directory.
    ProjectMoved { old_root: PathBuf, checkpoints: usize } =>
        "this directory seems to be that of {}, which has {}: 'checkpoint relink {}' brings them here",
        escape_path(old_root), of_number(*checkpoints), word_of(old_root);
    /// The same, but what was moved is the repository around this directory.
    #[strum(serialize = "project_moved")]
    TopMoved { old_root: PathBuf, top: PathBuf, checkpoints: usize } =>
        "{} seems to be the former {}, which has {}: 'checkpoint -C {} relink {}' brings them there",
        escape_path(top), escape_path(old_root), of_number(*checkpoints), word_of(top),
        word_of(old_root);
    /// The first checkpoint of a directory that is only a part of a repository.
    BelowTop { root: PathBuf, top: PathBuf } =>
        "checkpoints here hold only {}, and commands here use only these; 'checkpoint -C {} create' saves the whole repository",
        escape_path(root), word_of(top);
    /// The first checkpoint of a directory below a root with checkpoints.
    BelowRoot { root: PathBuf, above: PathBuf } =>
        "commands in {} use only its own checkpoints from now on, and no longer those of {}; 'checkpoint -C {} create' adds to those, 'checkpoint -C {} delete --all' undoes this",
        escape_path(root), escape_path(above), word_of(above), word_of(root);
    EmptyAfterFiles => "this checkpoint is empty, but the one before it had files";
    OverKeep { keep: usize, kept: usize } =>
        "{} checkpoints remain, more than the limit of {}: the others are pinned, newest or needed by undo",
        kept.to_string(), keep.to_string();
    /// The store is larger than its limit, and a prune would help.
    #[strum(serialize = "over_max_store_size")]
    PrunableStore { limit_bytes: u64, needed_bytes: u64 } =>
        "the store takes {} bytes, more than the limit max_store_size of {}: 'checkpoint prune' frees space",
        thousands(*needed_bytes), thousands(*limit_bytes);
    /// The store is larger than its limit, and no prune would help.
    OverMaxStoreSize { limit_bytes: u64, needed_bytes: u64 } =>
        "the store takes {} bytes, more than the limit max_store_size of {}: all remaining checkpoints are protected",
        thousands(*needed_bytes), thousands(*limit_bytes);
    /// A program went on writing to files that a restore had replaced; its data is kept in the
    /// staging directory.
    LateWrites { paths: Vec<RelPath>, staging: String } =>
        "a program still wrote to {} after it was replaced; these bytes are in no checkpoint, so .checkpoint-stage-{}/ was kept: look at it, then remove it",
        replaced(paths), staging;
    /// The named checkpoint, or the latest, which a restore would use, is incomplete.
    #[strum(serialize = "partial")]
    IsPartial { id: ObjectId } =>
        "checkpoint {} is partial: 'checkpoint show {}' lists what it lacks",
        id.short(), id.short();
    /// An incomplete checkpoint whose printed details name what it lacks.
    #[strum(serialize = "partial")]
    ShownIsPartial { id: ObjectId } => "checkpoint {} is partial", id.short();
    StoreTooNew { found: u32 } =>
        "the store has the newer format {}: it is read as far as possible, and not written",
        found.to_string();
    /// A copy was written into the working directory.
    CopyInsideRoot =>
        "the copy is in the working directory, so the next create captures it too";
    RewordsUnreadable { why: String } =>
        "the reasons given by reword are not shown: their file is damaged: {}; 'checkpoint verify --repair' puts it aside",
        why;
    /// The holds cannot be read, so none stands.
    HoldsUnreadable { why: String } => "no hold is active: their file is damaged: {}", why;
    /// A line is missing from the audit trail.
    AuditFailed { why: String } => "this create is missing from the audit trail: {}", why;
    /// The checkpoint was made, its plain copies were not.
    CopiesNotMade { id: ObjectId, why: String } =>
        "the plain copies were not made: {}; the checkpoint itself is complete: 'checkpoint restore {}' restores it",
        why, id.short();
    /// A database that is not a file cannot be written into a directory.
    DatabaseSkipped { name: String } =>
        "database {} is not a file, so it was skipped; 'checkpoint cat SEL:@db/{}' prints its content",
        escape(name), name;
    /// One of several checkpoints could not be read.
    PassedOver { id: ObjectId, why: String } => "checkpoint {} was skipped: {}", id.short(), why;
    /// One of several checkpoints was neither sent nor taken.
    LeftBehind { id: ObjectId, why: String } =>
        "checkpoint {} was left out, it {}", id.short(), escape(why);
    /// One of several lines of a remote, whose ref there is `line`, is bad.
    LineNotTaken { remote: String, line: String, why: String } =>
        "{} of {} was not taken: {}; ", line, remote, escape(why);
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
            Self::StoreReinitialized {
                whole: 0, kept_as, ..
            } => Sentence::text(format!("{STORE_LOST} {}", kept_as.display())),
            Self::Damaged { checkpoints } if checkpoints.len() == 1 => {
                let (short, why) = (checkpoints[0].id.short(), &checkpoints[0].why);
                Sentence::text(format!("checkpoint {short} is damaged: {why}"))
            }
            Self::LineNotTaken { remote, line, why } => {
                let next = after_bad_line(remote, line, why);
                self.usual_sentence().then_sentence(next)
            }
            _ => self.usual_sentence(),
        }
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
            | Self::DamagedFile { path, .. }
            | Self::MonitorOff { path } => Some(path),
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

fn cause(why: &WhyNot) -> &str {
    match why {
        WhyNot::Unreadable(why) => why,
        why => why.in_words(),
    }
}

fn replaced(paths: &[RelPath]) -> String {
    let named: Vec<String> = paths.iter().map(RelPath::to_string).collect();
    let named = Some(named.join(", ")).filter(|named| !named.is_empty());
    named.unwrap_or_else(|| "a replaced file".to_owned())
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
