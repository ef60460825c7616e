//! What was tried and what was lost.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Tally {
    pub kill_points: AtomicU64,
    pub power_cuts: AtomicU64,
    pub injected_errors: AtomicU64,
    pub concurrent_operations: AtomicU64,
    pub escape_attempts: AtomicU64,
    lost: Mutex<Vec<String>>,
    escaped: Mutex<Vec<String>>,
    skipped: Mutex<Vec<String>>,
}

impl Tally {
    pub fn lost(&self, what: String) {
        eprintln!("LOST {what}");
        self.lost.lock().expect("no panic").push(what);
    }

    pub fn escaped(&self, what: String) {
        eprintln!("ESCAPED {what}");
        self.escaped.lock().expect("no panic").push(what);
    }

    pub fn skipped(&self, why: &str) {
        println!("skipped: {why}");
        self.skipped.lock().expect("no panic").push(why.to_owned());
    }

    pub fn losses(&self) -> Vec<String> {
        let (lost, escaped) = (self.lost.lock().expect("no panic"), self.escaped.lock().expect("no panic"));
        lost.iter().chain(escaped.iter()).cloned().collect()
    }

    pub fn is_bad(&self) -> bool {
        !self.losses().is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} kill points, {} power cuts, {} injected errors, {} concurrent operations, {} escape attempts: \
             {} lost, {} escaped",
            count(&self.kill_points),
            count(&self.power_cuts),
            count(&self.injected_errors),
            count(&self.concurrent_operations),
            count(&self.escape_attempts),
            self.lost.lock().expect("no panic").len(),
            self.escaped.lock().expect("no panic").len()
        )?;
        for why in self.skipped.lock().expect("no panic").iter() {
            write!(f, " (skipped: {why})")?;
        }
        Ok(())
    }
}
