//! Attempts to lead the program out of the root: forged checkpoints, and directories that are
//! swapped while it runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::choice::Choice;
use super::options::Options;
use super::tally::Tally;
use super::{hostile, hostile_metas, hostile_shapes, race, tampered};

/// Share of the time for forged checkpoints; the rest goes to races.
const TAMPERED_PART: f64 = 0.6;

pub fn besiege(options: &Options, tally: &Tally) {
    let begun = Instant::now();
    let until = |part: f64| begun + Duration::from_secs_f64(options.seconds * part);
    let next = AtomicUsize::new(0);
    side_by_side(&|member| {
        tamper(
            options.seed.wrapping_add(member),
            options.seed,
            &next,
            until(TAMPERED_PART),
            tally,
        );
    });
    side_by_side(&|member| race::besiege(options.seed.wrapping_add(member), until(1.0), tally));
    let count = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "  {} commands at {} forged checkpoints, {} swaps during {} runs, {} files caught within one write",
        count(&tally.tampered),
        next.into_inner(),
        count(&tally.swaps),
        count(&tally.races),
        count(&tally.torn)
    );
}

fn side_by_side(work: &(dyn Fn(u64) + Sync)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        (0..threads).for_each(|member| {
            scope.spawn(move || work(member));
        });
    });
}

/// Tries each name and each shape once, shared among the threads, then drawn cases.
fn tamper(own_seed: u64, seed: u64, next: &AtomicUsize, until: Instant, tally: &Tally) {
    let field = tampered::field();
    let decoy = field.top().join("decoy");
    let mut shared = Choice(seed);
    let mut cases = [
        hostile_shapes::all(&decoy),
        hostile_metas::all(&decoy),
        hostile::each_name(&decoy, &mut shared),
    ]
    .concat();
    shared.shuffle(&mut cases);
    let mut choice = Choice(own_seed);
    while Instant::now() < until {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let case = cases
            .get(at)
            .cloned()
            .unwrap_or_else(|| hostile::drawn(&decoy, &mut choice));
        tampered::besiege(&field, &case, &mut choice, tally);
    }
}
