//! The cost of a transition, and the space that a long run takes.

use std::time::{Duration, Instant};

use crate::bench::fixtures::packs_below;
use crate::bench::{Sandbox, cases};

/// Number of phases of the run.
const PHASES: usize = 12;
/// Upper bound on a thousand transitions after a prune, in bytes.
const BYTES_PER_THOUSAND: u64 = 2_000_000;
/// Upper bound on a transition, without the start of a process; checked only if nothing else runs.
const LONGEST: Duration = Duration::from_millis(20);
/// Number of transitions that the machine may delay, since even a command that only reads sometimes
/// takes as long.
const HELD_UP: usize = 5;
/// Upper bound on packs, since transitions merge small packs into their own.
const MOST_PACKS: usize = 20;

fn timed(sandbox: &Sandbox, args: &[&str]) -> Duration {
    let begun = Instant::now();
    sandbox.run(args).success();
    begun.elapsed()
}

#[test]
fn a_long_run_costs_little_time_and_little_room() {
    let transitions = cases(120).max(PHASES * 3);
    let sandbox = Sandbox::new();
    for file in 0..40 {
        sandbox.write(
            format!("src/{}/{file}", file % 4),
            format!("{file}\n").repeat(200),
        );
    }
    sandbox.real_clock();
    let ids: Vec<String> = (0..PHASES).map(|at| format!("phase-{at}")).collect();
    let mut init = vec!["workflow", "init", "--profile", "pipeline"];
    init.extend(ids.iter().flat_map(|id| ["--phase", id.as_str()]));
    sandbox.run(&init).success();
    let start = (0..20)
        .map(|_| timed(&sandbox, &["--version"]))
        .min()
        .expect("a time");
    let each = transitions.div_ceil(PHASES);
    let mut times = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        sandbox.write("src/0/0", format!("edited in phase {at}\n"));
        times.push(timed(&sandbox, &["phase", "start", id]));
        times.extend((2..each).map(|step| {
            timed(
                &sandbox,
                &["phase", "progress", &format!("{step} of {each} done")],
            )
        }));
        times.push(timed(&sandbox, &["phase", "done", id]));
    }
    let shown = sandbox.ok("workflow show --json").data();
    assert!(
        shown["log"].as_array().expect("a log").len() > times.len(),
        "each transition is in the log"
    );
    assert_eq!(shown["status"], "complete");
    let packs = packs_below(&sandbox.store());
    assert!(packs <= MOST_PACKS, "{packs} packs");
    sandbox.ok("prune");
    let room = sandbox.store_bytes();
    let allowed = BYTES_PER_THOUSAND.max(BYTES_PER_THOUSAND * times.len() as u64 / 1000);
    assert!(
        room < allowed,
        "{room} bytes after {} transitions",
        times.len()
    );
    sandbox.ok("verify --full");
    if std::env::var_os("CHECKPOINT_TIMED").is_some() {
        times.sort_unstable();
        let over = |time: &Duration| time.saturating_sub(start);
        let (median, last) = (
            over(&times[times.len() / 2]),
            over(&times[times.len() - 1 - HELD_UP]),
        );
        println!(
            "{} transitions: median {median:?}, all but {HELD_UP} under {last:?}, {room} bytes",
            times.len()
        );
        assert!(last < LONGEST, "{last:?}");
    }
}
