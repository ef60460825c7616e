//! Starts write-back to the disk while files are still being made, so that the final sync is short.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::base::threads;
use crate::model::RelPath;
use crate::worktree::sys::{Access, Dir};

/// Interval between write-backs.
const GATHERED_FOR: Duration = Duration::from_millis(120);

/// Syncs the file system of `dir` in the background until the result is dropped, which does not wait
/// for a sync under way. Without a thread, the final sync takes longer. Write errors are not reported
/// here; the caller syncs afterwards.
pub fn write_back(dir: &Dir) -> Sender<()> {
    let (ends, ended) = mpsc::channel();
    // A separate descriptor: a write error reported here is reported again through the others.
    if let Ok(own) = dir.open_below(&RelPath::root(), Access::Read) {
        let goes_on = move || ended.recv_timeout(GATHERED_FOR) == Err(RecvTimeoutError::Timeout);
        threads::detach(move || while goes_on() && matches!(own.sync_file_system(), Ok(true)) {});
    }
    ends
}
