//! Counts of what was tried, and what was lost.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Tally {
    pub kill_points: AtomicU64,
    pub power_cuts: AtomicU64,
    /// Errors, and operations refused by a full disk.
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

    pub fn skipped(&self, why: &str) {
        crate::bench::skipped(why);
        self.skipped.lock().expect("no panic").push(why.to_owned());
    }

    /// Everything that was lost or escaped.
    pub fn bad(&self) -> Vec<String> {
        let all = |word: &str, list: &Mutex<Vec<String>>| {
            let list = list.lock().expect("no panic");
            let lines: Vec<String> = list.iter().map(|what| format!("{word} {what}")).collect();
            lines
        };
        [all("LOST", &self.lost), all("ESCAPED", &self.escaped)].concat()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, what) in [
            (&self.kill_points, "kill points, "),
            (&self.power_cuts, "power cuts, "),
            (&self.injected_errors, "injected errors, "),
            (&self.concurrent_operations, "concurrent operations, "),
            (&self.escape_attempts, "escape attempts ("),
            (
                &self.companions,
                "of them at workflows, setups, holds, copies and databases), ",
            ),
            (&self.restores, "restores compared with their target, "),
            (&self.typed, "printed commands typed in: "),
        ] {
            write!(f, "{} {what}", count.load(Ordering::Relaxed))?;
        }
        let [lost, escaped] =
            [&self.lost, &self.escaped].map(|list| list.lock().expect("no panic").len());
        write!(f, "{lost} lost, {escaped} escaped")?;
        let skipped = self.skipped.lock().expect("no panic");
        skipped
            .iter()
            .try_for_each(|why| write!(f, " (skipped: {why})"))
    }
}
