//! Starts write-back to the disk while files are still being made, so that the final sync is short.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::base::mutex::lock;
use crate::base::threads;
use crate::model::state::rel_path::RelPath;
use crate::worktree::sys::{Access, Dir};

/// Interval between write-backs.
const GATHERED_FOR: Duration = Duration::from_millis(120);

/// Runs `act`, which writes much to the file system of `dir`, while that is synced in the
/// background. Write errors are not reported here; the caller syncs afterwards.
pub fn meanwhile<T>(dir: &Dir, act: impl FnOnce() -> T) -> T {
    // A separate descriptor: a write error reported here is reported again through the others.
    let Ok(own) = dir.open_below(&RelPath::root(), Access::Read) else {
        return act();
    };
    let (ended, end) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        // Without a thread, the final sync takes longer.
        let _ = threads::start(scope, || {
            let mut is_over = lock(&ended);
            loop {
                is_over = end
                    .wait_timeout(is_over, GATHERED_FOR)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                if *is_over {
                    return;
                }
                drop(is_over);
                if !matches!(own.sync_file_system(), Ok(true)) {
                    return;
                }
                is_over = lock(&ended);
                if *is_over {
                    return;
                }
            }
        });
        let done = act();
        *lock(&ended) = true;
        end.notify_all();
        done
    })
}
