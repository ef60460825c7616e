//! Consent to drop what the configured policy would keep; `stories/retention.md` has the rest.

use serde_json::Value;

use crate::bench::terminal::dialogue;
use crate::bench::{Sandbox, given};

/// Fixes the clock at an hour of a day in March 2026, UTC.
fn at(sandbox: &Sandbox, day: u32, hour: u32) {
    sandbox
        .env("TZ", "UTC")
        .at(&format!("2026-03-{day:02}T{hour:02}:00:00Z"));
}

/// A checkpoint at nine and one at noon, each named `DAY.HOUR`, on four days.
fn four_days() -> Sandbox {
    let sandbox = Sandbox::new();
    for day in 1..=4 {
        for hour in [9, 12] {
            at(&sandbox, day, hour);
            let reason = format!("{day}.{hour}");
            sandbox.write("a", &reason).create(&reason);
        }
    }
    sandbox
}

fn reasons(sandbox: &Sandbox) -> Vec<String> {
    let reason = |row: &Value| row["reason"].as_str().expect("a reason").to_owned();
    sandbox.listed().iter().map(reason).collect()
}

#[test]
fn a_prune_on_a_terminal_asks_before_it_drops_what_the_configuration_keeps() {
    let sandbox = four_days();
    for (answer, left) in [("n\\n", 8), ("y\\n", 7)] {
        let keys = [("[y/N]", answer)];
        let run = given!(dialogue(&sandbox, "$checkpoint prune --keep 7", &keys));
        assert!(run.stdout.contains("(1.9)"), "it names what goes\n{run}");
        assert_eq!(reasons(&sandbox).len(), left, "{run}");
    }
    for options in ["--no-input", "--json"] {
        let line = format!("$checkpoint prune --keep 6 {options}");
        let run = given!(dialogue(&sandbox, &line, &[]));
        run.code(4)
            .stdout_has("not confirmed: this would drop 1 checkpoint");
    }
    sandbox.ok("prune --keep 6");
    assert_eq!(reasons(&sandbox).len(), 6);
    sandbox.user_config("keep = 2\n");
    // The configured policy needs none, nor does one that keeps more.
    sandbox.ok("prune --keep 4");
    sandbox.ok("prune");
    assert_eq!(reasons(&sandbox), ["4.12", "4.9"]);
}

#[test]
fn a_number_to_keep_that_is_typed_is_consent_and_the_checkpoint_comes_first() {
    let sandbox = four_days();
    sandbox.write("a", "more");
    let run = sandbox.ok("create -r more --keep 8");
    run.stderr_has("(1.9): beyond --keep 8");
    assert_eq!(reasons(&sandbox)[0], "more");
    assert_eq!(reasons(&sandbox).len(), 8);
    sandbox.write("a", "again");
    if let Some(run) = dialogue(&sandbox, "$checkpoint create -m again --keep 2", &[]) {
        run.success();
        assert_eq!(reasons(&sandbox), ["again", "more"]);
    }
}
