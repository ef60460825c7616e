//! Starts write-back to the disk while files are still being made, so that the final sync is short.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::base::mutex::lock;
use crate::base::threads;
use crate::model::state::rel_path::RelPath;
use crate::worktree::sys::{Access, Dir};

/// Interval between write-backs.
const GATHERED_FOR: Duration = Duration::from_millis(120);

/// Syncs a file system in the background until it is dropped. Write errors are not reported here;
/// the caller syncs afterwards.
pub struct WriteBack(Arc<Ended>);

#[derive(Default)]
struct Ended {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl WriteBack {
    /// Starts it for the file system of `dir`; without a thread, the final sync takes longer.
    pub fn start(dir: &Dir) -> Self {
        let ended = Arc::<Ended>::default();
        // A separate descriptor: a write error reported here is reported again through the others.
        if let Ok(own) = dir.open_below(&RelPath::root(), Access::Read) {
            let ended = Arc::clone(&ended);
            threads::detach(move || sync_until(&ended, &own));
        }
        Self(ended)
    }
}

/// Does not wait for a sync under way: it goes on beside what the caller does next.
impl Drop for WriteBack {
    fn drop(&mut self) {
        *lock(&self.0.is_over) = true;
        self.0.changed.notify_all();
    }
}

fn sync_until(ended: &Ended, dir: &Dir) {
    loop {
        let is_over = lock(&ended.is_over);
        let waited = ended
            .changed
            .wait_timeout_while(is_over, GATHERED_FOR, |is_over| !*is_over)
            .unwrap_or_else(PoisonError::into_inner);
        if *waited.0 {
            return;
        }
        drop(waited);
        if !matches!(dir.sync_file_system(), Ok(true)) {
            return;
        }
    }
}
