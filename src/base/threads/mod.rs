//! Threads for shared work. A system without room for another one costs time, not the work.

pub mod work_queue;

use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Upper bound on worker threads; more gained nothing on the disks and file systems measured.
const MOST_WORKERS: usize = 8;
/// Number of files below which more threads cost more than they gain.
const SHARED_FROM_FILES: usize = 64;

/// Returns the number of threads for long work. It costs system calls, so only call it for that.
pub fn workers() -> usize {
    std::thread::available_parallelism()
        .map_or(1, std::num::NonZero::get)
        .min(MOST_WORKERS)
}

/// Returns the number of threads for work on this number of files; for few of them it is one.
pub fn workers_for(files: usize) -> usize {
    if files < SHARED_FROM_FILES {
        1
    } else {
        workers()
    }
}

/// Starts a thread; `None` if the system refuses, as at the user's limit on processes.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).ok()
}

/// Starts a thread that is not waited for; returns whether the system did.
pub fn detach(work: impl FnOnce() + Send + 'static) -> bool {
    Builder::new().spawn(work).is_ok()
}

/// Waits for a thread and returns its result; a panic goes on in the caller's.
pub fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
