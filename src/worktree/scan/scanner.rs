//! Scans the whole directory, with as many threads as are worth it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::base::mutex::{self, lock};
use crate::base::{WorkQueue, threads};
use crate::error::{Error, Result};
use crate::model::{Listing, RelPath};
use crate::worktree::scan::assemble;
use crate::worktree::scan::walk::Walk;
use crate::worktree::{Rules, ScanOptions, Shared, WorkTree, sys};

/// Lists the directory.
///
/// # Errors
/// The root cannot be read or was replaced, more files than the limit, a signal, or no descriptors
/// left. Unreadable paths below the root are listed as uncaptured instead.
pub fn scan(work: &WorkTree, rules: &Rules, options: &ScanOptions<'_>) -> Result<Listing> {
    let started_ns = sys::coarse_now_ns();
    let root = work.dir(&RelPath::root())?;
    let more = options.workers.saturating_sub(1);
    let shared = Shared {
        work,
        rules,
        options,
        queue: WorkQueue::new(Vec::new(), 1, more),
        segments: AtomicUsize::new(1),
        file_count: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        failure: Mutex::default(),
        done: Mutex::default(),
    };
    std::thread::scope(|scope| -> Result<()> {
        let call_help = || {
            shared.queue.join(more);
            for _ in 0..more {
                if threads::start(scope, || help(&shared)).is_none() {
                    shared.queue.leave();
                }
            }
        };
        run(
            &shared,
            Walk::from_root(&shared, Arc::new(root), &call_help)?,
        );
        while let Some(job) = shared.queue.next() {
            run(&shared, Walk::from_job(&shared, job));
        }
        Ok(())
    })?;
    let Shared {
        failure,
        done,
        is_over,
        ..
    } = shared;
    if let Some(error) = mutex::into_inner(failure) {
        return Err(error);
    }
    let dirs = assemble::assemble(mutex::into_inner(done));
    if let (true, Some(limit)) = (is_over.into_inner(), options.limit_files) {
        return Err(Error::too_many_files(limit, assemble::largest(&dirs)));
    }
    work.check_still_there()?;
    Ok(Listing {
        dirs,
        started_ns,
        cached: options.previous.cloned(),
    })
}

/// Runs a walk to its end and stores its part.
fn run(shared: &Shared<'_>, mut walk: Walk<'_, '_>) {
    match walk.run() {
        Ok(()) => lock(&shared.done).push(walk.into_segment()),
        Err(error) => {
            lock(&shared.failure).get_or_insert(error);
            shared.is_over.store(true, Relaxed);
            shared.queue.close();
        }
    }
}

/// Runs a helper thread: takes parts that other walks give away, until none are left.
fn help(shared: &Shared<'_>) {
    let mut job = shared.queue.first();
    while let Some(given) = job {
        run(shared, Walk::from_job(shared, given));
        job = shared.queue.next();
    }
}
