//! All scenarios, distributed among threads, each with its share of the time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::scenario::{SCENARIOS, Scenario};

/// Works on each scenario; `work` gets the time at which to stop.
pub fn over_scenarios(seconds: f64, work: &(dyn Fn(&Scenario, Instant) + Sync)) {
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(SCENARIOS.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, scenario)) = nth(next.fetch_add(1, Ordering::Relaxed)) {
                    // Rounds of all threads still to come, this one included.
                    let rounds = (SCENARIOS.len() - at).div_ceil(threads);
                    let share = until.saturating_duration_since(Instant::now())
                        / u32::try_from(rounds).expect("few");
                    work(scenario, Instant::now() + share);
                }
            });
        }
    });
}

fn nth(at: usize) -> Option<(usize, &'static Scenario)> {
    SCENARIOS.get(at).map(|scenario| (at, scenario))
}
