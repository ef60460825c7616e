//! All scenes, one after the other, and the line of figures.

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
mod parallel;
mod power;
mod printed;
mod race;
mod race_judge;
mod remotes;
mod scenario;
mod short;
mod shorten;
mod small_disk;
mod swapper;
mod tally;
mod tampered;
mod tampered_judge;
mod target;

use std::path::Path;
use std::process::ExitCode;

use options::Options;
use tally::Tally;

use crate::bench::{Git, strace};

/// A name, its share of the time, and what it does.
type Scene = (&'static str, f64, fn(&Options, &Tally));

const SCENES: [Scene; 7] = [
    ("kill", 0.2, kill::besiege),
    ("power", 0.05, power::besiege),
    ("full", 0.06, full::besiege),
    ("errno", 0.64, errno::besiege),
    ("short", 0.03, short::besiege),
    ("crowd", 0.06, crowd::besiege),
    ("escape", 0.06, escape::besiege),
];

pub fn main() -> ExitCode {
    if let Some(code) = shorten::asked_for() {
        return ExitCode::from(u8::try_from(code).expect("a code"));
    }
    let is_able = |_: &Options| strace::available() && Git::find(Path::new("/")).is_some();
    let options = Options::from_args().filter(is_able);
    let Some(options) = options else {
        return ExitCode::SUCCESS;
    };
    if options.wants("power") || options.wants("full") {
        mounts::alone();
    }
    let tally = Tally::default();
    let wanted = SCENES.iter().filter(|(name, ..)| options.wants(name));
    let shares: f64 = wanted.clone().map(|(_, share, _)| share).sum();
    for (name, share, besiege) in wanted {
        let begun = std::time::Instant::now();
        besiege(
            &options.with_seconds(options.seconds * share / shares),
            &tally,
        );
        let took = begun.elapsed().as_secs_f64();
        println!("{name}: {took:.0} s; so far {tally}");
    }
    let bad = tally.bad();
    for loss in &bad {
        println!("{loss}");
    }
    println!("seed {}\n{tally}", options.seed);
    ExitCode::from(u8::from(!bad.is_empty()))
}
