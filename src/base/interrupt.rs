//! Passes a stop request from a signal to the loops that can still clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Interrupt state shared between signal handlers and worker code.
#[derive(Clone, Debug)]
pub struct Interrupt {
    flag: Arc<AtomicUsize>,
    unshielded: Arc<AtomicBool>,
    shields: Arc<AtomicUsize>,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self {
            flag: Arc::default(),
            unshielded: Arc::new(AtomicBool::new(true)),
            shields: Arc::default(),
        }
    }
}

impl Interrupt {
    /// Returns the number of the received signal, or zero.
    pub fn flag(&self) -> &Arc<AtomicUsize> {
        &self.flag
    }

    /// Returns whether a signal may end the process at once.
    pub fn unshielded(&self) -> &Arc<AtomicBool> {
        &self.unshielded
    }

    /// Makes signals mere requests to stop, until this and all other guards are dropped.
    pub fn shield(&self) -> Shield {
        self.shields.fetch_add(1, Ordering::SeqCst);
        self.unshielded.store(false, Ordering::SeqCst);
        Shield(self.clone())
    }

    /// Returns the number of live shields.
    pub fn shields(&self) -> usize {
        self.shields.load(Ordering::SeqCst)
    }

    /// Requests a stop, as a signal would.
    pub fn set(&self, signal: usize) {
        self.flag.store(signal, Ordering::SeqCst);
    }

    /// Fails if a stop was requested.
    ///
    /// # Errors
    /// The signal.
    pub fn check(&self) -> Result<(), Interrupted> {
        match self.flag.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Interrupted(i32::try_from(signal).unwrap_or_default())),
        }
    }
}

/// A stop was requested by the signal of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted(pub i32);

/// Guard made by [`Interrupt::shield`].
#[derive(Debug)]
pub struct Shield(Interrupt);

impl Drop for Shield {
    fn drop(&mut self) {
        if self.0.shields.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.unshielded.store(true, Ordering::SeqCst);
        }
    }
}
