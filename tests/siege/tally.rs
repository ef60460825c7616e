//! Counts of what was tried, and what was lost.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Tally {
    pub kill_points: AtomicU64,
    pub power_cuts: AtomicU64,
    /// Operations refused by a full disk; they count among the injected errors.
    pub full_disks: AtomicU64,
    pub injected_errors: AtomicU64,
    pub concurrent_operations: AtomicU64,
    pub escape_attempts: AtomicU64,
    /// Of all these: trials of runs of phases, holds, copies and databases.
    pub companions: AtomicU64,
    /// Restores that ended with 0 and were compared with their target.
    pub restores: AtomicU64,
    /// Printed commands that were typed in.
    pub typed: AtomicU64,
    /// Of these: commands on forged checkpoints, and swaps in this many runs.
    pub tampered: AtomicU64,
    pub swaps: AtomicU64,
    pub races: AtomicU64,
    /// Files captured in the middle of one write.
    pub torn: AtomicU64,
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

    pub fn escapes(&self) -> Vec<String> {
        self.escaped.lock().expect("no panic").clone()
    }

    pub fn skipped(&self, why: &str) {
        println!("skipped: {why}");
        self.skipped.lock().expect("no panic").push(why.to_owned());
    }

    pub fn losses(&self) -> Vec<String> {
        self.lost.lock().expect("no panic").clone()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kills, cuts) = (
            self.kill_points.load(Ordering::Relaxed),
            self.power_cuts.load(Ordering::Relaxed),
        );
        let errors =
            self.injected_errors.load(Ordering::Relaxed) + self.full_disks.load(Ordering::Relaxed);
        let (operations, lost) = (
            self.concurrent_operations.load(Ordering::Relaxed),
            self.losses().len(),
        );
        let (attempts, escaped) = (
            self.escape_attempts.load(Ordering::Relaxed),
            self.escapes().len(),
        );
        let [companions, restores, typed] = [&self.companions, &self.restores, &self.typed]
            .map(|count| count.load(Ordering::Relaxed));
        write!(
            f,
            "{kills} kill points, {cuts} power cuts, {errors} injected errors, "
        )?;
        write!(
            f,
            "{operations} concurrent operations, {attempts} escape attempts "
        )?;
        write!(
            f,
            "({companions} of them at workflows, holds, copies and databases), "
        )?;
        write!(
            f,
            "{restores} restores compared with their target, {typed} printed commands typed in: "
        )?;
        write!(f, "{lost} lost, {escaped} escaped")?;
        let skipped = self.skipped.lock().expect("no panic");
        skipped
            .iter()
            .try_for_each(|why| write!(f, " (skipped: {why})"))
    }
}
