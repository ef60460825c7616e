//! `create`: what it prints, what it records, and which words it refuses.

use crate::bench::Sandbox;

#[test]
fn create_prints_the_short_id_alone_and_talks_on_stderr() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let run =
        sandbox.run(&["create", "--reason", "pre-wave-3", "--source", "build"]).success().stderr_has("pre-wave-3");
    assert_eq!(run.stdout.len(), 9, "8 digits and a line break\n{run}");
    assert!(run.stdout.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit()), "{run}");
}

#[test]
fn the_first_create_records_the_whole_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "22").mkdir("empty");
    let data = sandbox.create_data(&["--reason", "first"]);
    assert_eq!(data["counts"]["files"], 2);
    assert_eq!(data["counts"]["bytes"], 3);
    assert_eq!(data["counts"]["added"], 2);
    assert_eq!(data["created"], true);
    assert_eq!(data["skipped"], serde_json::Value::Null);
    assert_eq!(data["coverage"], "complete");
}

#[test]
fn create_counts_what_changed_against_the_one_before() {
    let sandbox = Sandbox::new();
    sandbox.write("same", "s").write("changed", "1").write("gone", "g");
    sandbox.create("before");
    sandbox.write("changed", "2").write("new", "n").remove("gone");
    let counts = sandbox.create_data(&["--reason", "after"])["counts"].clone();
    assert_eq!((&counts["added"], &counts["changed"], &counts["deleted"]), (&1.into(), &1.into(), &1.into()));
}

#[test]
fn reason_and_source_have_defaults() {
    let sandbox = Sandbox::new();
    let data = sandbox.create_data(&[]);
    assert_eq!((data["reason"].as_str(), data["source"].as_str()), (Some("manual"), Some("cli")));
    sandbox.env("CHECKPOINT_SOURCE", "build").write("a", "1");
    assert_eq!(sandbox.create_data(&[])["source"], "build");
    sandbox.write("a", "2");
    assert_eq!(sandbox.create_data(&["-s", "debugging", "-r", "short"])["source"], "debugging");
}

#[test]
fn an_empty_or_overlong_reason_or_a_bare_word_is_wrong_usage() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(4097);
    for args in [vec!["create", "--reason", ""], vec!["create", "--reason", " \t"], vec!["create", "--reason", &long]] {
        sandbox.run(&args).code(2).stdout_is("");
    }
    sandbox.run(&["create", "pre-wave-3"]).code(2).stdout_is("");
    sandbox.run(&["create", "--source", " "]).code(2).stdout_is("");
    assert!(!sandbox.store().exists(), "wrong usage made a store");
    let longest = "x".repeat(4096);
    sandbox.run(&["create", "--reason", &longest]).success();
}

#[test]
fn every_reason_comes_back_as_it_was_given() {
    let sandbox = Sandbox::new();
    let reasons =
        ["a | b", "line\nbreak", "`tick` <b> [x](y) ![z](w) --> |", "emoji 🦀", "esc \u{1b}[31m", "Meta: none", "50%"];
    for (at, reason) in reasons.iter().enumerate() {
        sandbox.write("a", at.to_string());
        sandbox.create(reason);
    }
    let listed: Vec<String> =
        sandbox.listed().iter().rev().map(|one| one["reason"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(listed, reasons);
}

#[test]
fn a_change_of_mode_alone_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox.write("run.sh", "x").chmod("run.sh", 0o644);
    sandbox.create("plain");
    sandbox.chmod("run.sh", 0o755);
    assert_eq!(sandbox.create_data(&["--reason", "executable"])["counts"]["changed"], 1);
}

#[test]
fn edits_that_hide_from_the_clock_are_seen() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("racy", "1").write("back", "1").write("future", "1");
    let far = std::time::SystemTime::now() + std::time::Duration::from_hours(73 * 365 * 24);
    let touch = |name: &str, time| {
        let file = std::fs::File::options().append(true).open(sandbox.path(name)).expect("the file opens");
        file.set_modified(time).expect("a time can be set");
    };
    touch("future", far);
    let old = sandbox.path("back").metadata().and_then(|meta| meta.modified()).expect("a time");
    sandbox.create("before");
    sandbox.write("racy", "2").write("back", "2").write("future", "2");
    touch("back", old);
    touch("future", far);
    let after = sandbox.create("after");
    sandbox.write("racy", "3").write("back", "3").write("future", "3");
    sandbox.restore(&after).success();
    for name in ["racy", "back", "future"] {
        assert_eq!(sandbox.read(name), "2", "{name}");
    }
}

#[test]
fn a_create_on_an_emptied_root_warns() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("full");
    sandbox.remove("a");
    let run = sandbox.run(&["create", "--json"]).success();
    assert!(!run.warning_codes().is_empty(), "an emptied root is worth a warning\n{run}");
    assert_eq!(run.data()["counts"]["files"], 0);
}

#[test]
fn a_disabled_create_makes_nothing_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.env("CHECKPOINT_DISABLE", "1").write("a", "1");
    let run = sandbox.run(&["create", "--json"]).success();
    let data = run.data();
    assert_eq!(data["skipped"], "disabled");
    assert!(data["id"].is_null() && data["short"].is_null() && data["created"] == false, "{run}");
    sandbox.run(&["create"]).success().stdout_is("").stderr_has("CHECKPOINT_DISABLE");
    assert!(!sandbox.store().exists(), "a disabled create made a store");
}

#[test]
fn a_root_that_is_gone_cannot_be_recorded() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    let root = sandbox.root().display().to_string();
    sandbox.remove("");
    sandbox.run_in(sandbox.home(), &["-C", &root, "create"]).code(3).stderr_has(&root);
}

#[test]
fn a_closed_stdout_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let program = Sandbox::binary().display().to_string();
    let script = format!("'{program}' create --reason piped >&-");
    let mut command = sandbox.command(&["/bin/sh", "-c", &script], &[]);
    command.current_dir(sandbox.root());
    crate::bench::Run::of(command).success().stderr_has("piped");
    assert_eq!(sandbox.listed().len(), 1);
}
