//! The packs and the space that a long run takes.

use crate::bench::fixtures::packs_below;
use crate::bench::{Sandbox, cases};

/// Number of phases of the run.
const PHASES: usize = 12;
/// Upper bound on a thousand transitions after a prune, in bytes.
const BYTES_PER_THOUSAND: u64 = 2_000_000;
/// Upper bound on packs, since transitions merge small packs into their own.
const MOST_PACKS: usize = 20;

#[test]
fn a_long_run_takes_few_packs_and_little_room() {
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
    let each = transitions.div_ceil(PHASES);
    let mut done = 0;
    for (at, id) in ids.iter().enumerate() {
        sandbox.write("src/0/0", format!("edited in phase {at}\n"));
        sandbox.ok(format!("phase start {id}"));
        for step in 2..each {
            sandbox.ok(format!("phase progress '{step} of {each} done'"));
        }
        sandbox.ok(format!("phase done {id}"));
        done += each.max(2);
    }
    let shown = sandbox.ok("workflow show --json").data();
    assert!(
        shown["log"].as_array().expect("a log").len() > done,
        "each transition is in the log"
    );
    assert_eq!(shown["status"], "complete");
    let packs = packs_below(&sandbox.store());
    assert!(packs <= MOST_PACKS, "{packs} packs");
    sandbox.ok("prune");
    let room = sandbox.store_bytes();
    let allowed = BYTES_PER_THOUSAND.max(BYTES_PER_THOUSAND * done as u64 / 1000);
    assert!(room < allowed, "{room} bytes after {done} transitions");
    sandbox.ok("verify --full");
}
