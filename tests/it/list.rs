//! `list`: the table, newest first, and its filters.

use crate::bench::Sandbox;

const HEADER: &str = "| Hash | Timestamp | Reason | Source |\n|----------|---------------------|----------------------|--------------|\n";

fn with_three() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    let ids = ["pre-design-gate", "pre-wave-1", "pre-wave-2"].map(|reason| {
        sandbox.write("a", reason);
        sandbox.create(reason)
    });
    (sandbox, ids)
}

#[test]
fn the_piped_table_is_markdown_newest_first() {
    let (sandbox, [first, second, third]) = with_three();
    let expected = format!(
        "{HEADER}| {third} | 2026-03-24 12:00:02 | pre-wave-2 | test |\n\
         | {second} | 2026-03-24 12:00:01 | pre-wave-1 | test |\n\
         | {first} | 2026-03-24 12:00:00 | pre-design-gate | test |\n"
    );
    sandbox.run(&["list"]).success().stdout_is(&expected);
}

#[test]
fn the_table_is_utc_in_every_time_zone() {
    let (sandbox, _) = with_three();
    let utc = sandbox.run(&["list"]).success().stdout;
    sandbox
        .env("TZ", "America/New_York")
        .run(&["list"])
        .success()
        .stdout_is(&utc);
}

#[test]
fn header_and_rule_stand_over_an_empty_table_too() {
    let (sandbox, _) = with_three();
    sandbox
        .run(&["list", "--reason", "no-such-*"])
        .success()
        .stdout_is(HEADER);
}

#[test]
fn without_a_store_list_says_so_and_succeeds() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["list"]).success();
    assert!(!run.stderr.is_empty(), "nothing was said\n{run}");
    assert_eq!(sandbox.listed().len(), 0);
    assert!(!sandbox.store().exists(), "list made a store");
}

#[test]
fn filters_choose_by_number_reason_source_time_and_kind() {
    let (sandbox, [first, second, third]) = with_three();
    let ids = |args: &[&str]| {
        let data = sandbox
            .run(&[&["list", "--json"], args].concat())
            .success()
            .data();
        let listed = data["checkpoints"].as_array().expect("a list").clone();
        listed
            .iter()
            .map(|one| one["short"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&["-n", "1"]), vec![third.clone()]);
    assert_eq!(
        ids(&["--reason", "pre-wave-*"]),
        [third.clone(), second.clone()]
    );
    assert_eq!(ids(&["--source", "nobody"]), Vec::<String>::new());
    assert_eq!(ids(&["--source", "test"]).len(), 3);
    assert_eq!(
        ids(&["--since", "2026-03-24T12:00:01Z"]),
        [third.clone(), second]
    );
    let safety = sandbox.restore_data(&[&first])["safety"]["short"]
        .as_str()
        .expect("a safety checkpoint")
        .to_owned();
    assert_eq!(ids(&["--kind", "safety"]), [safety]);
}

#[test]
fn a_reason_cannot_break_its_row() {
    let sandbox = Sandbox::new();
    sandbox.create("a|b\nc\u{1b}[31m");
    let run = sandbox.run(&["list"]).success();
    assert_eq!(run.stdout.lines().count(), 3, "{run}");
    let row = run.stdout.lines().nth(2).expect("a row");
    assert!(row.contains("a\\|b\\x0ac\\x1b"), "{row}");
}

#[test]
fn a_subdirectory_without_a_store_lists_those_of_the_ancestor_that_has_one() {
    let (sandbox, ids) = with_three();
    sandbox.mkdir("sub");
    let run = sandbox.run_in(&sandbox.path("sub"), &["list"]).success();
    run.stderr_has("(in ..)").stdout_has(&ids[0]);
}
