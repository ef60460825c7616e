//! Keeping by time, three classes, and consent to drop what the configured policy would keep.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::terminal::dialogue;

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

fn named<'r>(row: &'r Value, field: &str) -> &'r str {
    row["checkpoint"][field].as_str().expect("a checkpoint")
}

/// The reason of each checkpoint in a list, and why it goes or stays.
fn why(rows: &Value) -> Vec<(&str, &Value)> {
    let rows = rows.as_array().expect("a list").iter();
    rows.map(|row| {
        (
            named(row, "reason"),
            row.get("rules").unwrap_or(&row["why"]),
        )
    })
    .collect()
}

#[test]
fn a_dry_run_names_the_rule_for_each_that_stays_and_what_goes() {
    let sandbox = four_days();
    let words = ["prune", "--dry-run", "--keep", "1", "--keep-daily", "3"];
    let data = sandbox
        .run(&[&words[..], &["--json"]].concat())
        .success()
        .data();
    assert_eq!(
        why(&data["kept"]),
        [
            (
                "4.12",
                &json!(["last", "daily", "newest", "newest_complete"])
            ),
            ("3.12", &json!(["daily"])),
            ("2.12", &json!(["daily"])),
        ]
    );
    let gone: Vec<&str> = why(&data["dropped"])
        .into_iter()
        .map(|(reason, _)| reason)
        .collect();
    assert_eq!(gone, ["1.9", "1.12", "2.9", "3.9", "4.9"]);
    assert!(
        why(&data["dropped"])
            .iter()
            .all(|(_, why)| **why == json!("no_rule")),
        "{data}"
    );
    let run = sandbox.run(&words).success();
    let id = named(&data["kept"][1], "short");
    run.stderr_has(&format!("would keep {id} (3.12): daily\n"))
        .stderr_has("(4.9): no rule keeps it\n");
    assert_eq!(reasons(&sandbox).len(), 8, "nothing was changed");
}

#[test]
fn rules_of_time_in_the_configuration_hold_for_every_create() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 1\nkeep_daily = 2\nkeep_within = '3h'\n");
    for (day, hour) in [(1, 9), (1, 12), (2, 9), (2, 12), (2, 14)] {
        at(&sandbox, day, hour);
        let reason = format!("{day}.{hour}");
        sandbox.write("a", &reason).create(&reason);
    }
    assert_eq!(reasons(&sandbox), ["2.14", "2.12", "1.12"]);
    sandbox
        .run(&["prune"])
        .success()
        .stdout_has("Pruned: 0 checkpoints");
    let config = sandbox.run(&["config"]).success();
    config.stdout_has("keep_daily").stdout_has("keep_within");
}

#[test]
fn what_a_project_says_of_time_only_keeps_more() {
    let sandbox = four_days();
    sandbox.user_config("keep = 1\nkeep_daily = 3\n");
    sandbox.write(".checkpoint.toml", "keep_daily = 1\nkeep_hourly = 5\n");
    sandbox.run(&["prune"]).success();
    assert_eq!(reasons(&sandbox), ["4.12", "4.9", "3.12", "3.9", "2.12"]);
}

#[test]
fn a_prune_on_a_terminal_asks_before_it_drops_what_the_configuration_keeps() {
    let sandbox = four_days();
    for (answer, left) in [("n\\n", 8), ("y\\n", 7)] {
        let keys = [("[y/N]", answer)];
        let Some(run) = dialogue(&sandbox, "$checkpoint prune --keep 7", &keys) else {
            return;
        };
        assert!(run.stdout.contains("(1.9)"), "it names what goes\n{run}");
        assert_eq!(reasons(&sandbox).len(), left, "{run}");
    }
    for options in ["--no-input", "--json"] {
        let line = format!("$checkpoint prune --keep 6 {options}");
        let Some(run) = dialogue(&sandbox, &line, &[]) else {
            return;
        };
        run.code(4)
            .stdout_has("not confirmed: this would drop 1 checkpoint");
    }
    sandbox.run(&["prune", "--keep", "6"]).success();
    assert_eq!(reasons(&sandbox).len(), 6);
    sandbox.user_config("keep = 2\n");
    // The configured policy needs none, nor does one that keeps more.
    sandbox.run(&["prune", "--keep", "4"]).success();
    sandbox.run(&["prune"]).success();
    assert_eq!(reasons(&sandbox), ["4.12", "4.9"]);
}

#[test]
fn a_number_to_keep_that_is_typed_is_consent_and_the_checkpoint_comes_first() {
    let sandbox = four_days();
    sandbox.write("a", "more");
    let run = sandbox
        .run(&["create", "-r", "more", "--keep", "8"])
        .success();
    run.stderr_has("(1.9): beyond --keep 8");
    assert_eq!(reasons(&sandbox)[0], "more");
    assert_eq!(reasons(&sandbox).len(), 8);
    sandbox.write("a", "again");
    if let Some(run) = dialogue(&sandbox, "$checkpoint create -m again --keep 2", &[]) {
        run.success();
        assert_eq!(reasons(&sandbox), ["again", "more"]);
    }
}

#[test]
fn an_undo_stack_of_twenty_steps_survives_the_creates_after_it() {
    let sandbox = Sandbox::new();
    sandbox
        .user_config("keep = 3\n")
        .write("a", "first")
        .create("first");
    for step in 0..20 {
        sandbox.write("a", step.to_string());
        sandbox.restore("first").success();
    }
    for number in 0..60 {
        sandbox.write("b", number.to_string()).create("more");
    }
    for step in (0..20).rev() {
        sandbox.undo().success();
        assert_eq!(sandbox.read("a"), step.to_string());
    }
}

#[test]
fn the_phases_of_a_workflow_push_out_no_named_boundary_and_name_what_they_push_out() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 3\nkeep_auto = 1\n");
    for wave in 1..=3 {
        let reason = format!("wave-{wave}");
        sandbox.write("a", &reason).create(&reason);
    }
    let phases: Vec<String> = (1..=27).map(|number| format!("p{number}")).collect();
    let named: Vec<&str> = phases.iter().flat_map(|phase| ["--phase", phase]).collect();
    sandbox
        .run(&[&["workflow", "init", "--id", "w"], &named[..]].concat())
        .success();
    let mut evicted = 0;
    for phase in &phases {
        for step in ["start", "done"] {
            let data = sandbox
                .run(&["phase", step, phase, "--json"])
                .success()
                .data();
            let gone = why(&data["dropped"]);
            assert!(
                gone.iter().all(|(_, why)| **why == json!("old_automatic")),
                "{data}"
            );
            evicted += gone.len();
            sandbox.write("a", format!("{step} {phase}"));
        }
    }
    assert!(
        evicted > 0,
        "an open run needs its last checkpoints, and no more"
    );
    let waves = ["wave-3", "wave-2", "wave-1"];
    let left = reasons(&sandbox);
    assert!(
        waves
            .iter()
            .all(|wave| left.iter().any(|reason| reason == wave)),
        "{left:?}"
    );
}
