//! A request to stop, from a signal to the loops that can still clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Shared between the signal handlers and the work.
#[derive(Clone, Debug)]
pub struct Interrupt {
    flag: Arc<AtomicUsize>,
    unshielded: Arc<AtomicBool>,
    shields: Arc<AtomicUsize>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self { flag: Arc::default(), unshielded: Arc::new(AtomicBool::new(true)), shields: Arc::default() }
    }
}

impl Interrupt {
    /// The number of the signal that came, or zero.
    pub fn flag(&self) -> &Arc<AtomicUsize> {
        &self.flag
    }

    /// Whether a signal may simply end the process.
    pub fn unshielded(&self) -> &Arc<AtomicBool> {
        &self.unshielded
    }

    /// Until this guard and all others are dropped, a signal is a request and not the end.
    pub fn shield(&self) -> Shield {
        self.shields.fetch_add(1, Ordering::SeqCst);
        self.unshielded.store(false, Ordering::SeqCst);
        Shield(self.clone())
    }

    /// How many shields stand.
    pub fn shields(&self) -> usize {
        self.shields.load(Ordering::SeqCst)
    }

    /// Asks to stop, as a signal would.
    pub fn set(&self, signal: usize) {
        self.flag.store(signal, Ordering::SeqCst);
    }

    /// # Errors
    /// The number of the signal that asks to stop.
    pub fn check(&self) -> Result<(), i32> {
        match self.flag.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(i32::try_from(signal).unwrap_or_default()),
        }
    }
}

/// See [`Interrupt::shield`].
#[derive(Debug)]
pub struct Shield(Interrupt);

impl Drop for Shield {
    fn drop(&mut self) {
        if self.0.shields.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.unshielded.store(true, Ordering::SeqCst);
        }
    }
}
