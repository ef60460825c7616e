//! Lets the system write to the disk while more is being made, so that little is left to wait for at the end.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::model::state::rel_path::RelPath;
use crate::worktree::sys::{Access, Dir};

/// How long what was made may gather before it is written.
const GATHERED_FOR: Duration = Duration::from_millis(120);

/// Does something that writes much to the file system of `dir`. Whether the disk took it is told by no one here: who
/// needs that makes it durable afterwards.
pub fn meanwhile<T>(dir: &Dir, act: impl FnOnce() -> T) -> T {
    // A descriptor of its own: a failure that is reported through it is reported through the others once more.
    let Ok(own) = dir.open_below(&RelPath::root(), Access::Read) else { return act() };
    let (ended, end) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut is_over = ended.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                is_over = end.wait_timeout(is_over, GATHERED_FOR).unwrap_or_else(PoisonError::into_inner).0;
                if *is_over {
                    return;
                }
                drop(is_over);
                if !matches!(own.sync_file_system(), Ok(true)) {
                    return;
                }
                is_over = ended.lock().unwrap_or_else(PoisonError::into_inner);
                if *is_over {
                    return;
                }
            }
        });
        let done = act();
        *ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        end.notify_all();
        done
    })
}
