//! Progress of long work: counted by worker threads, read by the display.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::base::mutex;

/// Current phase of the work, shown with the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::FromRepr)]
#[repr(u8)]
pub enum WorkPhase {
    Idle,
    /// Listing the directory; the total is unknown.
    Scanning,
    /// Reading, hashing and compressing unknown contents.
    Reading,
    /// Syncing written files.
    Flushing,
    /// Staging new content for a restore.
    Staging,
    /// Moving staged files to their paths and removing others.
    Applying,
    /// Reading back objects or restored files.
    Verifying,
    /// Rewriting packs.
    Packing,
    /// Waiting for the lock of a store; the files are the seconds so far.
    Waiting,
}

/// Counters shared between workers and display; counting is cheap.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    phase: AtomicU8,
    files: AtomicU64,
    bytes: AtomicU64,
    files_in_all: AtomicU64,
    bytes_in_all: AtomicU64,
    holder: Mutex<String>,
}

/// Figures at one moment; unknown totals are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    pub phase: WorkPhase,
    pub files: u64,
    pub bytes: u64,
    pub files_in_all: u64,
    pub bytes_in_all: u64,
}

impl Progress {
    /// Begins a phase; totals of zero are unknown.
    pub fn begin(&self, phase: WorkPhase, files_in_all: u64, bytes_in_all: u64) {
        let counters = &self.0;
        counters.files.store(0, Relaxed);
        counters.bytes.store(0, Relaxed);
        counters.files_in_all.store(files_in_all, Relaxed);
        counters.bytes_in_all.store(bytes_in_all, Relaxed);
        counters.phase.store(phase as u8, Relaxed);
    }

    /// Adds finished work.
    pub fn add(&self, files: u64, bytes: u64) {
        self.0.files.fetch_add(files, Relaxed);
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    /// Shows who holds the lock that is waited for, and for how long.
    pub fn wait_for(&self, holder: String, seconds: u64) {
        *mutex::lock(&self.0.holder) = holder;
        self.begin(WorkPhase::Waiting, 0, 0);
        self.add(seconds, 0);
    }

    /// Returns the holder of the lock that is waited for.
    pub fn holder(&self) -> String {
        mutex::lock(&self.0.holder).clone()
    }

    pub fn figures(&self) -> Figures {
        let counters = &self.0;
        Figures {
            phase: WorkPhase::from_repr(counters.phase.load(Relaxed)).unwrap_or(WorkPhase::Idle),
            files: counters.files.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
            files_in_all: counters.files_in_all.load(Relaxed),
            bytes_in_all: counters.bytes_in_all.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_comes_back_as_itself() {
        let progress = Progress::default();
        assert_eq!(progress.figures().phase, WorkPhase::Idle);
        for phase in (0..).map_while(WorkPhase::from_repr) {
            progress.begin(phase, 3, 9);
            progress.add(1, 2);
            progress.add(1, 2);
            let expected = Figures {
                phase,
                files: 2,
                bytes: 4,
                files_in_all: 3,
                bytes_in_all: 9,
            };
            assert_eq!(progress.figures(), expected);
        }
    }
}
