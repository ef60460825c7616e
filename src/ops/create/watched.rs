//! What a `watch` does: one at a time for each root, and a whole `create` whenever it looks.

use std::io::ErrorKind;
use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::record::WATCH;
use crate::ops::create::command::create;
use crate::ops::{Context, CreateOptions, CreateOutcome, DedupPolicy};
use crate::store::{LockGuard, Store, lock};
use crate::worktree::root;

/// Time for which others that look who watches may hold the lock.
const LOOKED_AT: Duration = Duration::from_millis(300);

/// What makes this process the watcher of a root.
#[derive(Debug)]
pub struct WatchedRoot {
    /// `None` where there is no store yet.
    lock: Option<LockGuard>,
    identity: Option<(u64, u64)>,
    /// How others name this process.
    name: String,
}

impl WatchedRoot {
    pub fn of(context: &Context, name: String) -> Self {
        Self {
            lock: None,
            name,
            identity: root::identity(context.root.path()),
        }
    }

    /// Makes this process the watcher, in the store that the root has by now.
    ///
    /// # Errors
    /// Another process watches it.
    pub fn keep(&mut self, context: &Context) -> Result<()> {
        let path = context.find_store()?.map(|store| store.layout().watcher());
        let is_at = |path| self.lock.as_ref().is_some_and(|lock| lock.is_at(path));
        if path.as_deref().is_some_and(is_at) {
            return Ok(());
        }
        // A store that went elsewhere has no watcher there.
        self.lock = None;
        let Some(path) = path else {
            return Ok(());
        };
        self.lock = match lock::acquire(&path, LOOKED_AT, Some(&self.name)) {
            Err(busy) if busy.code == Code::BUSY => {
                let other = lock::holder(&path).unwrap_or_default();
                let what = format!("this directory is watched already, by {other}");
                let watched = Error::new(Code::WATCHED, what);
                return Err(watched.advise(if has_command(&other) {
                    "that ends with its command"
                } else {
                    "'checkpoint watch --stop' ends that"
                }));
            }
            // Another process is making the store.
            Err(early) if early.io_kind() == Some(ErrorKind::NotFound) => None,
            lock => Some(lock?),
        };
        Ok(())
    }

    /// Whether another directory is at the path of the root since the last call.
    pub fn is_another(&mut self, context: &Context) -> bool {
        let before = self.identity;
        self.identity = root::identity(context.root.path());
        self.identity != before
    }
}

/// Returns the name of the process that watches the root of a store.
pub fn watcher(store: &Store) -> Option<String> {
    lock::holder(&store.layout().watcher())
}

/// Whether a watcher goes on for as long as a command runs.
pub fn has_command(watcher: &str) -> bool {
    watcher.contains(" (checkpoint watch -- ")
}

/// Makes a checkpoint, unless the directory is as it was last recorded or restored.
///
/// # Errors
/// As [`create`].
pub fn create_if_changed(context: &Context) -> Result<CreateOutcome> {
    let options = CreateOptions {
        dedup: DedupPolicy::Standing,
        full_scan: true,
        ..CreateOptions::automatic(WATCH, WATCH)?
    };
    create(context, &options)
}
