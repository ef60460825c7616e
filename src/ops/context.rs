//! The inputs of every operation: the root, the base, settings, ports and the clock.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use crate::base::mutex::lock;
use crate::base::text::escape_bytes;
use crate::base::{Interrupt, Malformed, Progress};
use crate::config::{Environment, Settings};
use crate::error::{Error, Instead, Result};
use crate::model::{CommandEnd, ObjectId, RelPath};
use crate::ops::capture::monitor::AskMonitor;
use crate::ops::find_root::{locate_store, projects, subdirectories};
use crate::ops::restore::restore_paths;
use crate::ops::{OwnFiles, RootSearch, Warning};
use crate::store::{Description, Identity, Inventory, LockWait, Store};
use crate::worktree::Root;
use crate::worktree::root::{canonical, identity};

/// Built by the front-end; no field has a default.
pub struct Context {
    pub root: Root,
    pub base: PathBuf,
    pub settings: Settings,
    pub environment: Environment,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    pub lock_wait: Duration,
    pub interrupt: Interrupt,
    pub progress: Progress,
    /// Upper bound on text of one file that a diff holds in memory; more is binary.
    pub largest_text_bytes: u64,
    /// Runs a command of the user's configuration.
    pub run_database_command: RunDatabaseCommand,
    /// Runs git to reach a remote.
    pub run_git: RunGit,
    /// Asks a monitor of the directory.
    pub ask_monitor: AskMonitor,
    /// Text shown to other processes while we hold the lock.
    pub holder: String,
    pub pending_warnings: PendingWarnings,
    pub workflows: WorkflowPort,
    /// What a program gives instead of standard input.
    pub input: Option<Vec<u8>>,
    /// Whether the user named the root itself, by `-C` or `--here`.
    pub is_named: bool,
}

/// Queries about runs, answered by the workflow layer above.
#[derive(Clone, Copy)]
pub struct WorkflowPort {
    /// Files of the project that belong to a run: never captured, never changed by a restore.
    pub own_files: fn(&Context, Option<&Store>) -> OwnFiles,
    /// The ids of the open runs of a store.
    pub open: fn(&Store) -> Vec<String>,
    /// Checkpoints that the open runs of a store may go back to. An unreadable run needs none.
    pub needed: fn(&Store) -> Vec<ObjectId>,
    /// Says what is wrong with the state of a run at a commit.
    pub check_run: fn(&Store, ObjectId) -> Result<(), Malformed>,
    /// Writes the files of open runs again, after the root was removed and made anew.
    pub write_files: fn(&Context, &Store) -> Result<()>,
}

/// Warnings to be shown however the command ends; taking them clears them.
#[derive(Debug, Default)]
pub struct PendingWarnings(Mutex<Vec<Warning>>);

impl PendingWarnings {
    pub fn add(&self, warning: Warning) {
        let mut warnings = lock(&self.0);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Removes warnings; returns whether there were any.
    pub fn remove(&self, is_meant: impl Fn(&Warning) -> bool) -> bool {
        let removed = lock(&self.0)
            .extract_if(.., |warning| is_meant(warning))
            .count();
        removed > 0
    }

    pub fn take(&self) -> Vec<Warning> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Context {
    /// Returns how to wait for the lock of a store.
    pub fn lock_wait(&self) -> LockWait {
        let (limit, progress) = (self.lock_wait, self.progress.clone());
        LockWait { limit, progress }
    }

    /// Returns the same context for work that is stopped on its own.
    #[must_use]
    pub fn stopped_by(&self, interrupt: &Interrupt) -> Self {
        Self {
            root: self.root.clone(),
            base: self.base.clone(),
            settings: self.settings.clone(),
            environment: self.environment.clone(),
            interrupt: interrupt.clone(),
            progress: Progress::default(),
            holder: self.holder.clone(),
            pending_warnings: PendingWarnings::default(),
            input: None,
            ..*self
        }
    }

    /// Returns the files of runs, which must be spared; see [`WorkflowPort::own_files`].
    pub fn own_files(&self, store: Option<&Store>) -> OwnFiles {
        (self.workflows.own_files)(self, store)
    }

    /// # Errors
    /// A signal asks to stop.
    pub fn check_interrupt(&self) -> Result<()> {
        Ok(self.interrupt.check()?)
    }

    /// Returns the identity of this root's directory; `None` if it is gone.
    pub fn identity(&self) -> Option<Identity> {
        let path = self.root.path();
        let root = self.root.identity().or_else(|| identity(path))?;
        let parent = path.parent().and_then(identity).unwrap_or_default();
        Some(Identity { root, parent })
    }

    /// Makes the description of a new store for this root.
    pub fn description(&self, forced: bool) -> Description {
        let identity = self.identity().unwrap_or_default();
        Description::of_root(self.root.path(), self.now_ms, identity, forced)
    }

    /// Returns where the store of this root lies, or would lie; see [`locate_store`].
    pub fn store_dir(&self) -> Result<PathBuf> {
        locate_store(&self.base, &self.root)
    }

    /// Opens the store of this root; `None` if there is none.
    pub fn find_store(&self) -> Result<Option<Store>> {
        Store::open(self.store_dir()?)
    }

    /// Opens the store of this root. If there is none, the error names the root above that has one.
    pub fn require_store(&self) -> Result<Store> {
        self.find_store()?.map_or_else(|| Err(self.no_store()), Ok)
    }

    /// Opens the store of this root and reads which checkpoints it has.
    pub fn read(&self) -> Result<(Store, Inventory)> {
        let store = self.require_store()?;
        let inventory = store.inventory()?;
        Ok((store, inventory))
    }

    /// Names a path for people as it can be typed in the current directory; programs get all paths
    /// from the root on.
    pub fn shown(&self, path: &RelPath) -> String {
        escape_bytes(&restore_paths::from_here(&self.root, path))
    }

    /// Returns how roots are found for this caller.
    pub fn root_search(&self) -> RootSearch<'_> {
        RootSearch {
            base: &self.base,
            home: self.environment.home.as_deref(),
        }
    }

    /// Returns the nearest root above whose checkpoints hold this one too; see
    /// [`RootSearch::holder_of`].
    pub fn root_above(&self, looks_elsewhere: bool) -> Option<PathBuf> {
        let search = self.root_search();
        search.holder_of(self.root.path(), looks_elsewhere)
    }

    pub fn no_store(&self) -> Error {
        let root = self.root.path().to_path_buf();
        if !self.root.exists() {
            let [named, current] = [Error::root_missing(&root), Error::current_dir_gone()];
            return if self.is_named { named } else { current };
        }
        let home = self.environment.home.as_deref();
        let is_refused = || self.root.danger(&self.base, home).is_some();
        let instead = match self.root_above(true) {
            Some(above) => Instead::Above(above),
            None if is_refused() => Instead::OtherRoot,
            None => Instead::Create,
        };
        Error::no_store(&root, &instead)
    }

    /// Device and inode of every store under the base; no checkpoint holds these. Collected only if
    /// base or root contains the other: elsewhere no scan can meet a store.
    pub fn stores_to_skip(&self) -> Result<Vec<(u64, u64)>> {
        let base = canonical(&self.base).unwrap_or_else(|_| self.base.clone());
        if !base.starts_with(self.root.path()) && !self.root.path().starts_with(&base) {
            return Ok(Vec::new());
        }
        let mut identities = Vec::new();
        for project in projects(&base)? {
            for store in subdirectories(&project.join("checkpoints"))? {
                identities.extend(identity(&store));
            }
        }
        Ok(identities)
    }
}

/// Provided by the front-end, which alone starts other programs.
pub type RunDatabaseCommand = fn(&Interrupt, FedCommand<'_>) -> Result<CommandEnd>;

/// A run of such a command. Streams that are `None` are closed.
#[derive(Debug)]
pub struct FedCommand<'c> {
    /// Command line for the shell.
    pub line: &'c str,
    pub dir: &'c Path,
    pub stdin: Option<File>,
    pub stdout: Option<File>,
    pub stderr: File,
}

/// Provided by the front-end, as [`RunDatabaseCommand`].
pub type RunGit = fn(&Interrupt, &GitCommand<'_>) -> Result<GitEnd>;

/// A run of git in a bare repository of ours.
#[derive(Debug)]
pub struct GitCommand<'c> {
    pub repository: &'c Path,
    pub arguments: &'c [&'c str],
    /// Transports that it may use, as in `GIT_ALLOW_PROTOCOL`.
    pub protocols: &'c str,
    /// After this time it is killed.
    pub limit: Duration,
    /// Whether it may ask on the terminal, if there is one.
    pub may_ask: bool,
}

/// How git ended, and what it said.
#[derive(Debug)]
pub struct GitEnd {
    pub is_success: bool,
    pub stdout: String,
    /// The end of it.
    pub stderr: String,
}
