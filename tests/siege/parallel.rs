//! All scenarios, distributed among threads, each with its share of the time.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::options::Options;
use super::scenario::{SCENARIOS, Scenario};

/// Works on each scenario, in a sample on one of so many; `work` gets the time at which to stop.
pub fn over_scenarios(
    options: &Options,
    sampled_every: usize,
    work: &(dyn Fn(&Scenario, Instant) + Sync),
) {
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    let is_in = |at: &usize| !options.is_sample || at % sampled_every == sampled_every / 2;
    let is_wanted = |at: &usize| options.wants_place(SCENARIOS[*at].name);
    let chosen = (0..SCENARIOS.len()).filter(is_in).filter(is_wanted);
    let chosen: Vec<usize> = chosen.collect();
    // A trial waits for its tracer half of the time.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let next = Mutex::new(chosen.iter());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let mut left = next.lock().expect("no panic");
                    // Rounds of all threads still to come, this one included.
                    let rounds = u32::try_from(left.len().div_ceil(threads)).expect("few");
                    let Some(at) = left.next() else { break };
                    drop(left);
                    let share = until.saturating_duration_since(Instant::now()) / rounds;
                    work(&SCENARIOS[*at], Instant::now() + share);
                }
            });
        }
    });
}
