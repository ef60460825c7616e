//! `verify` beside a writer: packs that vanish while it looks were replaced, which is no damage.

use std::thread;
use std::time::Duration;

use crate::bench::damaged::kept_copies;
use crate::bench::{Run, Sandbox, fixtures, strace};

/// Which opening of a file is held up: before, within and after the first look at the packs.
const MOMENTS: [usize; 8] = [36, 46, 54, 60, 66, 72, 80, 95];

fn with_five() -> Sandbox {
    let sandbox = Sandbox::new();
    for at in 0..5 {
        sandbox.write("a", fixtures::noise(at, 2000)).write(format!("d/{at}"), at.to_string());
        sandbox.create(&format!("k{at}"));
    }
    sandbox
}

/// Runs the program, held up for a while at the `nth` opening of a file; meanwhile two checkpoints are deleted.
fn with_a_deletion_meanwhile(sandbox: &Sandbox, nth: usize, args: &[&str]) -> Run {
    let inject = format!("inject=openat:delay_enter=400000:when={nth}");
    let tracer = ["/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat", "-e", &inject];
    let held_up = sandbox.command(&tracer, args);
    let running = thread::spawn(move || Run::of(held_up));
    thread::sleep(Duration::from_millis(150));
    sandbox.run(&["delete", "k1", "k2", "--yes"]).success();
    running.join().expect("the run ends")
}

#[test]
fn a_repair_acts_on_nothing_that_it_saw_before_it_had_the_lock() {
    if !strace::available() {
        return;
    }
    for nth in MOMENTS {
        let sandbox = with_five();
        let run = with_a_deletion_meanwhile(&sandbox, nth, &["verify", "--repair", "--json"]).success();
        let data = run.data();
        assert!(data["repair"]["salvaged"].is_null(), "opening {nth}\n{run}");
        assert_eq!(kept_copies(&sandbox.store()).len(), 0, "opening {nth}\n{run}");
        assert_eq!(data["derived"].as_array().map(Vec::len), Some(0), "opening {nth}\n{run}");
        assert_eq!(sandbox.listed().len(), 3);
    }
}

#[test]
fn a_check_calls_nothing_damaged_that_a_writer_replaced_meanwhile() {
    if !strace::available() {
        return;
    }
    for nth in MOMENTS {
        for args in [&["verify", "--full"][..], &["verify"]] {
            let sandbox = with_five();
            with_a_deletion_meanwhile(&sandbox, nth, args).success();
        }
    }
}
