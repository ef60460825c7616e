//! The one type of failures: a code, what failed, the user's next step, and what programs need of it.

use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::base::Interrupted;
use crate::error::words::Obstacle;
use crate::error::{CommandWords, Sentence};
use crate::model::{Candidate, RelPath};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure. It is boxed, since nearly every result may hold one.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.what)]
pub struct Error(Box<Failure>);

/// The parts of a failure.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    /// What failed, for the user; typed words and paths in it are escaped already.
    pub what: String,
    /// The user's next step, if there is a single one.
    pub next: Option<Sentence>,
    pub more: More,
}

/// What a caller or a program needs beside the words.
#[derive(Debug, Default)]
pub enum More {
    #[default]
    Nothing,
    /// The cause alone, without what it concerns.
    Why(String),
    /// No store is there yet, nor above; the directory may have been moved.
    NoStoreYet,
    /// Checkpoints that a selector could mean.
    Candidates(Vec<Candidate>),
    /// Stores that answer for the directory.
    Stores(Vec<PathBuf>),
    /// Paths that are in the way.
    Paths(Vec<Obstacle>),
    /// More files than this; the folders with most of them.
    TooManyFiles {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
    /// A failed call of the system on a file.
    File {
        path: PathBuf,
        source: std::io::Error,
        /// Whether it is one of the user's files.
        is_of_project: bool,
    },
    /// The state of a workflow, for the program that has to decide.
    Run(RunDetails),
}

/// What a failure of a workflow says to a program.
#[derive(Debug, Default)]
pub struct RunDetails {
    /// The present state.
    pub state: Option<Value>,
    /// The possible choices.
    pub options: Vec<Choice>,
    /// Further data, such as both sides of a conflict.
    pub detail: Option<Value>,
}

/// A possible answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub key: String,
    pub label: String,
    /// The command that makes this choice.
    pub command: CommandWords,
}

impl Error {
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            code,
            what: what.into(),
            next: None,
            more: More::Nothing,
        }))
    }

    /// Sets the next step, if there is one.
    #[must_use]
    pub fn next(mut self, next: impl Into<Option<Sentence>>) -> Self {
        self.next = next.into();
        self
    }

    /// Sets the next step to a fixed sentence.
    #[must_use]
    pub fn advise(self, advice: &'static str) -> Self {
        self.next(Sentence::new(advice, &[]))
    }

    #[must_use]
    pub fn more(mut self, more: More) -> Self {
        self.more = more;
        self
    }

    /// Returns the cause alone, if it is kept.
    pub fn why(&self) -> Option<&str> {
        match &self.more {
            More::Why(why) => Some(why),
            _ => None,
        }
    }

    /// Returns path and cause of a failed call on a file that is not of the project.
    pub fn io_failure(&self) -> Option<(&Path, &std::io::Error)> {
        match &self.more {
            More::File {
                path,
                source,
                is_of_project: false,
            } => Some((path, source)),
            _ => None,
        }
    }

    /// Returns the kind of [`Self::io_failure`].
    pub fn io_kind(&self) -> Option<ErrorKind> {
        self.io_failure().map(|(_, source)| source.kind())
    }

    /// Whether there was no room for a file that is not of the project.
    pub fn is_full(&self) -> bool {
        let kinds = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
        self.io_kind().is_some_and(|kind| kinds.contains(&kind))
    }

    /// Returns the number of the signal, unless something was done by then.
    pub fn signal(&self) -> Option<i32> {
        let number = i32::from(self.code.exit) - i32::from(Code::INTERRUPTED.exit);
        (self.code == Code::INTERRUPTED && self.what == "interrupted").then_some(number)
    }

    /// Names another action and path of a failed call, where its own would say nothing to the user.
    #[must_use]
    pub fn renamed(self, action: &'static str, path: &Path) -> Self {
        let Self(failure) = self;
        match failure.more {
            More::File {
                source,
                is_of_project: false,
                ..
            } => Self::io(action, path)(source),
            more => Self(Box::new(Failure { more, ..*failure })),
        }
    }

    pub fn is_of_run(&self) -> bool {
        matches!(self.more, More::Run(_))
    }

    /// Returns the details of a workflow's failure, empty ones if there are none yet.
    pub fn run_details(&mut self) -> &mut RunDetails {
        if !matches!(self.more, More::Run(_)) {
            self.more = More::Run(RunDetails::default());
        }
        match &mut self.more {
            More::Run(details) => details,
            _ => unreachable!("it was set"),
        }
    }

    #[must_use]
    pub fn with_state(mut self, state: &impl Serialize) -> Self {
        self.run_details().state = serde_json::to_value(state).ok();
        self
    }

    #[must_use]
    pub fn with_options(mut self, options: Vec<Choice>) -> Self {
        self.run_details().options = options;
        self
    }
}

impl Deref for Error {
    type Target = Failure;

    fn deref(&self) -> &Failure {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Failure {
        &mut self.0
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        Self::new(Code::FAILED, format!("{cause:#}"))
    }
}

impl From<Interrupted> for Error {
    fn from(Interrupted(signal): Interrupted) -> Self {
        Self::interrupted(signal)
    }
}

/// What kind of failure it is: its name in JSON and its exit code. Codes are equal if their names are.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub name: &'static str,
    pub exit: u8,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

macro_rules! codes {
    ($($exit:literal => $($code:ident $name:literal)+,)*) => {
        impl Code {
            $($(pub const $code: Self = Self { name: $name, exit: $exit };)+)*

            /// The names of all codes, but for those of workflows.
            pub const NAMES: &'static [&'static str] = &[$($($name),+),*];
        }
    };
}

codes! {
    1 => BAD_CONFIG "bad_config" DATABASE_NOT_TAKEN "database_not_taken" FAILED "failed"
        GIT_MISSING "git_missing" GIT_TOO_SLOW "git_too_slow" HOSTILE_STORE "hostile_store"
        IO "io" NO_BASE "no_base" NO_PLACE_FOR_BASE "no_place_for_base"
        REMOTE_FAILED "remote_failed",
    2 => USAGE "usage",
    3 => AMBIGUOUS_CHECKPOINT "ambiguous_checkpoint" BUNDLE_NEEDS "bundle_needs"
        EVICTED_MEANWHILE "evicted_meanwhile" IS_A_DIRECTORY "is_a_directory" NO_STORE "no_store"
        NO_SUCH_CHECKPOINT "no_such_checkpoint" NO_SUCH_HOLD "no_such_hold"
        NO_SUCH_PATH "no_such_path" NO_WATCHER "no_watcher" NOTHING_FOUND "nothing_found"
        NOTHING_TO_TAKE_BACK "nothing_to_take_back" ROOT_MISSING "root_missing"
        STORE_GONE "store_gone",
    4 => AMBIGUOUS_STORE "ambiguous_store" BAD_DESTINATION "bad_destination"
        CHANGED_MEANWHILE "changed_meanwhile" CONFLICT "conflict" CONSENT_NEEDED "consent_needed"
        DATABASE_NOT_HELD "database_not_held" DECLINED "declined"
        DIR_NOT_ALLOWED "dir_not_allowed" DOT_GIT_PATH "dot_git_path" HELD "held"
        LINKED_PATH "linked_path" NOT_OWN "not_own" NOT_RECORDED "not_recorded"
        NOTHING_HELD "nothing_held" PINNED "pinned" PLAN_NOT_KNOWN "plan_not_known"
        RELINK_REFUSED "relink_refused" REMOTE_NAME_TAKEN "remote_name_taken"
        RESTORE_NEVER_BEGAN "restore_never_began" RESTORE_PENDING "restore_pending"
        SEVERAL_HOLDS "several_holds" UNGUARDED "unguarded" UNSAFE_ROOT "unsafe_root"
        WATCHED "watched" WORKFLOW_FILE "workflow_file",
    6 => BAD_BUNDLE "bad_bundle" DAMAGED "damaged" STORE_TOO_NEW "store_too_new"
        STORE_UNUSABLE "store_unusable",
    7 => BUSY "busy",
    // The number of the signal is added.
    128 => INTERRUPTED "interrupted",
}
