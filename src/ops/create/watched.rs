//! What a `watch` does: one at a time for each root, and a whole `create` whenever it looks.

use std::time::Duration;

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::record::WATCH;
use crate::ops::create::command::create;
use crate::ops::{Context, CreateOptions, CreateOutcome, DedupPolicy};
use crate::store::{LockGuard, Store, lock};

/// Makes this process the watcher of the root; `None` where there is no store yet.
///
/// # Errors
/// Another process watches it.
pub fn begin(context: &Context) -> Result<Option<LockGuard>> {
    let Some(store) = context.find_store()? else {
        return Ok(None);
    };
    let path = store.layout().watcher();
    match lock::acquire(&path, Duration::ZERO, Some(&context.holder)) {
        Err(busy) if busy.code == Code::BUSY => {
            let other = lock::holder(&path).unwrap_or_default();
            let what = format!("this directory is watched already, by {other}");
            Err(Error::new(Code::WATCHED, what).advise("'checkpoint watch --stop' ends that"))
        }
        locked => locked.map(Some),
    }
}

/// Returns the name of the process that watches the root of a store.
pub fn watcher(store: &Store) -> Option<String> {
    lock::holder(&store.layout().watcher())
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
