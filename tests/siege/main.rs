//! The siege: kills, starves and misleads the program everywhere, and checks that nothing is lost.
//!
//! `--seconds 120 --seed 7` runs for about that long and ends with one line of figures; `README.md`
//! has the whole command. The seed draws what does not fit into the time.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test makes and breaks files directly, and says what it found"
)]

#[path = "../it/bench/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the bench serves the other tests too"
)]
mod bench;

mod calls;
mod choice;
mod companions;
mod crowd;
mod disk;
mod errno;
mod escape;
mod field;
mod forge;
mod full;
mod guard;
mod hostile;
mod hostile_metas;
mod hostile_names;
mod hostile_shapes;
mod judge;
mod kill;
mod ladder;
mod mounts;
mod options;
mod owners;
mod packing;
mod parallel;
mod power;
mod printed;
mod race;
mod race_judge;
mod scenario;
mod short;
mod shorten;
mod small_disk;
mod swapper;
mod tally;
mod tampered;
mod tampered_judge;
mod target;

use options::Options;
use tally::Tally;

/// A name, its share of the time, and what it does.
type Scene = (&'static str, f64, fn(&Options, &Tally));

fn main() {
    if let Some(code) = shorten::asked_for() {
        std::process::exit(code);
    }
    if field::needs_shared_libraries() {
        eprintln!(
            "the program must be linked statically, and named by CHECKPOINT_PROGRAM: see tests/siege/README.md"
        );
        std::process::exit(2);
    }
    let options = Options::from_args();
    if options.wants("power") || options.wants("full") {
        mounts::alone();
    }
    let tally = Tally::default();
    let scenes: [Scene; 7] = [
        ("kill", 0.2, kill::besiege),
        ("power", 0.05, power::besiege),
        ("full", 0.06, full::besiege),
        ("errno", 0.64, errno::besiege),
        ("short", 0.03, short::besiege),
        ("crowd", 0.06, crowd::besiege),
        ("escape", 0.06, escape::besiege),
    ];
    let wanted: Vec<_> = scenes
        .iter()
        .filter(|(name, ..)| options.wants(name))
        .collect();
    let shares: f64 = wanted.iter().map(|(_, share, _)| share).sum();
    for (name, share, besiege) in wanted {
        let begun = std::time::Instant::now();
        besiege(
            &options.with_seconds(options.seconds * share / shares),
            &tally,
        );
        println!(
            "{name}: {:.0} s; so far {tally}",
            begun.elapsed().as_secs_f64()
        );
    }
    for loss in tally.losses() {
        println!("LOST {loss}");
    }
    for escape in tally.escapes() {
        println!("ESCAPED {escape}");
    }
    println!("seed {}", options.seed);
    println!("{tally}");
    std::process::exit(i32::from(
        !tally.losses().is_empty() || !tally.escapes().is_empty(),
    ));
}
