//! Words for what the model tells in codes, shared by failures, warnings and views.

use std::path::PathBuf;

use crate::base::shell_word::shell_word;
use crate::base::text::escape;
use crate::base::time::age;
use crate::model::{Blocker, CommandEnd, Hold, Refusal, RelPath, WhyNot};

/// What can be used or done where a root has no store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instead {
    Create,
    /// The root above that has a store, and so is used unless another is named.
    Above(PathBuf),
    /// The former place of this directory, of which there is a store.
    Former(PathBuf),
    /// The root must not have a store.
    OtherRoot,
    /// The root was named as that of another store.
    OtherStore,
}

/// A path that blocks a restore, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub path: RelPath,
    pub why: String,
}

impl From<(RelPath, Blocker)> for Obstacle {
    fn from((path, blocker): (RelPath, Blocker)) -> Self {
        let why = match &blocker {
            Blocker::Uncaptured(why) => {
                let why = why.as_ref().map_or("not captured", WhyNot::in_words);
                format!("{why}, which no checkpoint would hold")
            }
            Blocker::File => "a file, and a directory is needed there".to_owned(),
            Blocker::Directory => {
                "a directory whose content is to stay, and a file is needed there".to_owned()
            }
            Blocker::Refused(refusal) => refusal.in_words().to_owned(),
            Blocker::Database(why) => why.clone(),
            Blocker::Parted(other) => format!("an SQLite database is no use if {other} stays"),
        };
        Self { path, why }
    }
}

impl Refusal {
    fn in_words(self) -> &'static str {
        match self {
            Self::ReadOnly => "on a file system that is read-only",
            Self::Directory => "this user may not change names in this directory",
            Self::OtherOwner => "belongs to another user",
            Self::Frozen => "immutable or append-only, see lsattr",
            Self::Mounted => "another file is mounted there",
        }
    }
}

impl WhyNot {
    /// Describes the reason for the user.
    pub fn in_words(&self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::TooLarge => "over max_file_size",
            Self::ReservedName => "a name that git refuses",
            Self::Mount => "a mount of another file system",
            Self::Worktree => "a linked worktree",
            Self::GitDir | Self::DotGit => "a repository's own data",
            Self::Cache => "a cache, by its CACHEDIR.TAG",
            Self::Unreadable(_) => "cannot be read",
            Self::Collision => "an attack on SHA-1",
            Self::Gitlink => "a nested repository, of which plain git kept no files",
            Self::Database => "a database, held beside the files",
            Self::LeftOut(_) => "left out by a rule",
            Self::Secret(_) => "a secret",
        }
    }
}

impl Hold {
    /// Describes name and remaining time for the user.
    pub fn in_words(&self, now_ms: i64) -> String {
        let (name, left) = (escape(&self.name), age(now_ms, self.end_ms));
        format!("hold '{name}' is active, {left} left")
    }
}

impl CommandEnd {
    pub fn in_words(self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(signal) => format!("signal {signal}"),
        }
    }
}

/// What is wrong with a small file of a store, to follow its path.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum StoreFlaw {
    #[error("it is missing")]
    Missing,
    #[error("it is missing or invalid")]
    MissingOrSenseless,
    #[error("it is missing, though its commit exists")]
    RefMissing,
    #[error("it is not as this program writes it")]
    NotAsWritten,
    #[error("it cannot be read")]
    Unreadable,
    #[error("it cannot be read as a manifest")]
    NoManifest,
    #[error("its {rows} rows are not those of the checkpoints")]
    OtherRows { rows: usize },
    #[error("it is not text")]
    NoText,
    #[error("it does not match its checksum")]
    BadChecksum,
    #[error("it cannot be opened as a pack")]
    NoPack,
    #[error("its pack is missing")]
    PackMissing,
    #[error("its checksum is wrong")]
    BadSum,
    #[error("it does not name the commit in its own name")]
    OtherCommit,
    #[error("it does not name the meta of its checkpoint")]
    OtherMeta,
    #[error("it does not name the newest checkpoint")]
    NotNewest,
    #[error("it pins a commit that does not exist")]
    PinsNothing,
    #[error("it names no object")]
    NoObject,
    #[error("it names nothing")]
    NamesNothing,
    #[error(
        "the journal of an interrupted restore cannot be read: 'checkpoint undo' takes that restore back"
    )]
    JournalUnreadable,
    #[error("it may name checkpoints that are needed; 'checkpoint undo' ends it")]
    JournalNeeded,
}

/// Returns the name to use instead of one that leads through a symlink.
pub fn behind_link(behind: Option<&RelPath>) -> String {
    let outside = || "what it leads to lies outside the root".to_owned();
    behind.map_or_else(outside, |path| {
        format!("name {}", shell_word(path.as_bytes()))
    })
}
