//! A job queue shared by threads, to which running jobs may add.

use std::sync::atomic::AtomicIsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::base::mutex::lock;
use crate::base::threads::{self, workers};

/// Jobs for several threads. The queue ends when all of them wait and no job is ready.
pub struct WorkQueue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    /// Number of idle workers, less ready jobs.
    wanted: AtomicIsize,
}

struct State<J> {
    ready: Vec<J>,
    workers: usize,
    waiting: usize,
    is_closed: bool,
}

impl<J> WorkQueue<J> {
    /// Makes a queue for `workers` threads; `more` may join, and count as idle until then. Jobs are
    /// taken last in, first out.
    pub fn new(ready: Vec<J>, workers: usize, more: usize) -> Self {
        let state = State {
            ready,
            workers,
            waiting: 0,
            is_closed: false,
        };
        let wanted = AtomicIsize::new(isize::try_from(more).unwrap_or_default());
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wanted,
        }
    }

    /// Adds `more` workers, each of which begins with [`Self::first`].
    pub fn join(&self, more: usize) {
        self.lock().workers += more;
    }

    /// Takes back a worker whose thread could not be started, while the caller's still works.
    pub fn leave(&self) {
        self.lock().workers -= 1;
    }

    /// Whether an idle worker has no ready job.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Relaxed) > 0
    }

    pub fn add(&self, job: J) {
        self.wanted.fetch_sub(1, Relaxed);
        self.lock().ready.push(job);
        self.changed.notify_one();
    }

    /// As [`Self::next`], for the first job of a worker that [`Self::new`] counted as idle.
    pub fn first(&self) -> Option<J> {
        let mut state = self.lock();
        state.waiting += 1;
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.ready.pop() {
                state.waiting -= 1;
                return Some(job);
            }
            if state.waiting == state.workers {
                state.is_closed = true;
                self.changed.notify_all();
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for a job; `None` when the queue has ended.
    pub fn next(&self) -> Option<J> {
        self.wanted.fetch_add(1, Relaxed);
        self.first()
    }

    /// Ends the queue early: no more jobs are handed out.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        lock(&self.state)
    }
}

/// Function that processes one job, with the state of its thread; it may add jobs to the queue.
pub type Work<'w, S, J, T, E> = &'w (dyn Fn(&mut S, J, &WorkQueue<J>) -> Result<T, E> + Sync);

/// Processes all jobs, last one first, and those added meanwhile, with one thread for each of
/// `places`, including the caller's. Results are unordered.
///
/// # Errors
/// One of the errors of `work`; jobs not yet begun are dropped.
pub fn run<S: Send, J: Send, T: Send, E: Send>(
    places: Vec<S>,
    jobs: Vec<J>,
    work: Work<'_, S, J, T, E>,
) -> Result<Vec<T>, E> {
    let queue = &WorkQueue::new(jobs, places.len(), 0);
    let work_off = |mut place: S| {
        let mut results = Vec::new();
        while let Some(job) = queue.next() {
            results.push(work(&mut place, job, queue).inspect_err(|_| queue.close())?);
        }
        Ok(results)
    };
    let work_off = &work_off;
    let mut places = places.into_iter();
    let Some(own) = places.next() else {
        return Ok(Vec::new());
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = places
            .filter_map(|place| {
                let started = threads::start(scope, move || work_off(place));
                if started.is_none() {
                    queue.leave();
                }
                started
            })
            .collect();
        let mut all = work_off(own);
        for theirs in others.into_iter().map(threads::join) {
            all = all.and_then(|mut all| theirs.map(|theirs| all.extend(theirs)).map(|()| all));
        }
        all
    })
}

/// Splits `pieces` among threads and returns the results in order. There is one part for each
/// `least` pieces, up to the number of workers; a single part runs on the caller's thread.
pub fn split<P: Sync, T: Send>(
    pieces: &[P],
    least: usize,
    work: impl Fn(&[P]) -> T + Sync,
) -> Vec<T> {
    let wanted = pieces.len() / least.max(1);
    let parts = if wanted < 2 { 1 } else { wanted.min(workers()) };
    if parts < 2 {
        return vec![work(pieces)];
    }
    let jobs = pieces
        .chunks(pieces.len().div_ceil(parts))
        .enumerate()
        .collect();
    let one =
        |(): &mut (), (at, part): (usize, &[P]), _: &WorkQueue<_>| Ok::<_, Never>((at, work(part)));
    let Ok(mut answers) = run(vec![(); parts], jobs, &one);
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

enum Never {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn jobs_that_are_added_are_worked_on_too() {
        for workers in [1, 2, 5] {
            let countdown = |(): &mut (), job: u32, queue: &WorkQueue<u32>| {
                if job > 0 {
                    queue.add(job - 1);
                }
                Ok::<_, String>(job)
            };
            let mut seen = run(vec![(); workers], vec![5, 3], &countdown).unwrap();
            seen.sort_unstable();
            assert_eq!(seen, [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]);
        }
        let nothing = |(): &mut (), job: u32, _: &WorkQueue<u32>| Ok::<_, String>(job);
        assert!(run(vec![(); 3], Vec::new(), &nothing).unwrap().is_empty());
    }

    #[test]
    fn a_failure_ends_it() {
        for workers in [1, 4] {
            let fails = |(): &mut (), job: u32, _: &WorkQueue<u32>| {
                if job == 60 { Err("sixty") } else { Ok(job) }
            };
            let ended = run(vec![(); workers], (0..100).collect(), &fails);
            assert_eq!(ended, Err("sixty"));
        }
    }

    #[test]
    fn all_that_is_added_is_done_once_and_then_every_worker_goes() {
        let queue = WorkQueue::new(Vec::new(), 1, 3);
        let done = AtomicU64::new(0);
        let work = |mut job: Option<u64>| {
            while let Some(number) = job {
                done.fetch_add(number, Relaxed);
                if number > 1 {
                    queue.add(number / 2);
                    queue.add(number / 2);
                }
                job = queue.next();
            }
        };
        std::thread::scope(|scope| {
            queue.join(3);
            for _ in 0..3 {
                scope.spawn(|| work(queue.first()));
            }
            work(Some(1 << 10));
        });
        assert_eq!(done.into_inner(), 11 << 10);
    }

    #[test]
    fn a_closed_queue_sends_all_home() {
        let queue: WorkQueue<u8> = WorkQueue::new(Vec::new(), 1, 1);
        std::thread::scope(|scope| {
            queue.join(1);
            scope.spawn(|| assert_eq!(queue.first(), None));
            queue.close();
        });
        queue.add(1);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn every_piece_is_worked_on_once_and_in_order() {
        for count in [0, 1, 5, 1000] {
            let pieces: Vec<usize> = (0..count).collect();
            assert_eq!(split(&pieces, 7, <[usize]>::to_vec).concat(), pieces);
        }
    }
}
