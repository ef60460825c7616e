//! `show`: the details of one checkpoint, and every way to select it.

use serde_json::json;

use crate::bench::Sandbox;

fn with_two() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("kept", "k")
        .write("changed", "1")
        .write("gone", "g");
    let first = sandbox.create("first");
    sandbox
        .write("changed", "2")
        .write("new", "n")
        .remove("gone")
        .chmod("kept", 0o755);
    let second = sandbox.create("second");
    (sandbox, first, second)
}

#[cfg(unix)]
#[test]
fn show_names_what_changed_against_the_one_before() {
    let (sandbox, _, second) = with_two();
    let changes = sandbox.run(&["show", &second, "--json"]).success().data()["changes"].clone();
    assert_eq!(
        changes,
        json!([
            {"path": "changed", "path_hex": null, "change": "modified"},
            {"path": "gone", "path_hex": null, "change": "deleted"},
            {"path": "kept", "path_hex": null, "change": "mode"},
            {"path": "new", "path_hex": null, "change": "added"},
        ])
    );
}

#[test]
fn show_tells_reason_source_time_and_counts_to_people() {
    let (sandbox, first, _) = with_two();
    let run = sandbox
        .run(&["show", &first])
        .success()
        .stdout_has("first")
        .stdout_has("test");
    assert!(
        run.stdout.contains(&first) && run.stdout.contains("2026-03-24"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn every_kind_of_selector_finds_its_checkpoint() {
    let (sandbox, first, second) = with_two();
    let full = sandbox.shown(&first)["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for selector in [
        &full,
        &full[..4],
        "latest~1",
        "@~1",
        "first",
        "2026-03-24T12:00:00Z",
        "2026-03-24 12:00:00",
    ] {
        assert_eq!(
            sandbox.shown(selector)["short"],
            first.as_str(),
            "{selector}"
        );
    }
    for selector in ["latest", "@", "second", "2026-03-24T13:00:05+01:00"] {
        assert_eq!(
            sandbox.shown(selector)["short"],
            second.as_str(),
            "{selector}"
        );
    }
    assert_eq!(
        sandbox.at("2026-03-24T12:10:00Z").shown("9m ago")["short"],
        second.as_str()
    );
    assert_eq!(
        sandbox.env("TZ", "Asia/Tokyo").shown("2026-03-24T21:00:00")["short"],
        first.as_str()
    );
}

#[test]
fn a_reason_used_twice_means_the_newest() {
    let (sandbox, _, _) = with_two();
    sandbox.write("kept", "again");
    let third = sandbox.create("first");
    assert_eq!(sandbox.shown("first")["short"], third.as_str());
}

#[test]
fn latest_passes_over_safety_checkpoints() {
    let (sandbox, first, second) = with_two();
    sandbox.restore(&first).success();
    assert_eq!(sandbox.shown("latest")["short"], second.as_str());
}

#[test]
fn a_selector_that_means_nothing_is_exit_3_and_an_empty_one_exit_2() {
    let (sandbox, first, _) = with_two();
    for selector in [
        "ffffffff",
        "no-such-reason",
        "latest~9",
        "2020-01-01T00:00:00Z",
        &first[..3],
        "-",
    ] {
        let run = sandbox.run(&["show", "--json", selector]);
        assert_eq!(
            (run.code, run.error_code().as_str()),
            (3, "no_such_checkpoint"),
            "{run}"
        );
    }
    sandbox.run(&["show", ""]).code(2).stdout_is("");
    let latest = sandbox.run(&["show", "latest"]).success().stdout;
    sandbox.at("2026-03-24T12:01:00Z");
    let shown = sandbox.run(&["show"]).success();
    assert_eq!(shown.stdout.lines().next(), latest.lines().next());
}

/// Content of a second checkpoint whose id begins like that of the first, with today's commits.
const TWIN_OF_ZERO: u32 = 38_619;

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let sandbox = Sandbox::new();
    let mut ids: Vec<String> = Vec::new();
    // Among some hundreds two are alike by chance.
    let twins = [0, TWIN_OF_ZERO]
        .into_iter()
        .chain(1..2_000)
        .find_map(|number| {
            sandbox.write("a", number.to_string());
            let run = sandbox
                .run(&["create", "--json", "--keep", "2000", "--yes"])
                .success();
            let id = run.data()["id"].as_str().expect("an id").to_owned();
            let twin = ids.iter().find(|other| other[..4] == id[..4]).cloned();
            ids.push(id.clone());
            twin.map(|twin| (twin, id))
        });
    let (one, other) = twins.expect("two ids with four equal digits");
    let run = sandbox.run(&["show", &one[..4], "--json"]).code(3);
    assert_eq!(run.error_code(), "ambiguous_checkpoint");
    for command in ["restore", "ls", "diff", "cat", "show"] {
        let inside = format!("{}:a", &one[..4]);
        sandbox
            .run(&[command, &inside])
            .code(3)
            .stderr_has("could be ");
    }
    let candidates = run.json()["error"]["candidates"].to_string();
    assert!(
        candidates.contains(&one) && candidates.contains(&other),
        "{run}"
    );
}

#[test]
fn without_a_store_show_finds_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["show", "latest", "--json"]).code(3);
    assert_eq!(run.error_code(), "no_store");
}

#[test]
fn show_without_a_selector_shows_the_latest() {
    let (sandbox, _, second) = with_two();
    sandbox.at("2026-03-24T13:00:00Z");
    let named = sandbox.run(&["show", &second]).success().stdout;
    sandbox.at("2026-03-24T13:00:00Z");
    sandbox.run(&["show"]).success().stdout_is(&named);
}

#[test]
fn show_has_the_changes_as_a_patch_as_counts_and_all_files() {
    let (sandbox, first, second) = with_two();
    let patch = sandbox.run(&["show", "-p"]).success().stdout;
    let expected = sandbox.run(&["diff", &first, &second]).success().stdout;
    assert!(
        patch.contains(&format!("against {first} (first):\n")),
        "{patch}"
    );
    assert!(
        patch.ends_with(&expected) && expected.contains("\n+2\n"),
        "{patch}"
    );
    let stat = sandbox.run(&["show", "--stat"]).success().stdout;
    let expected = sandbox
        .run(&["diff", &first, &second, "--stat"])
        .success()
        .stdout;
    assert!(
        stat.ends_with(&expected) && stat.contains("changed |"),
        "{stat}"
    );
    let files = sandbox.run(&["show", "--files"]).success().stdout;
    assert!(files.ends_with("\n\nchanged\nkept\nnew\n"), "{files}");
    let of_first = sandbox.run(&["show", &first, "-p"]).success().stdout;
    assert!(
        of_first.contains("the first one; everything is new:\n") && of_first.contains("\n+g\n"),
        "{of_first}"
    );
    sandbox.run(&["show", "--stat", "-p"]).code(2).stdout_is("");
}

#[test]
fn the_json_of_show_has_what_the_options_ask_for() {
    let (sandbox, first, second) = with_two();
    let show = |option: &str| sandbox.run(&["show", option, "--json"]).success().data();
    let data = sandbox.run(&["show", "--json"]).success().data();
    for field in ["files", "file_changes", "patch"] {
        assert!(data[field].is_null(), "{data}");
    }
    let files = show("--files")["files"].clone();
    let paths = ["changed", "kept", "new"];
    let paths = paths.map(|path| json!({"path": path, "path_hex": null}));
    assert_eq!(files, json!(paths));
    let diff = ["diff", &first, &second, "--json"];
    let counted = sandbox.run(&diff).success().data()["changes"].clone();
    assert_eq!(show("--stat")["file_changes"], counted);
    let data = show("-p");
    let patch = sandbox.run(&diff[..3]).success().stdout;
    assert_eq!(data["patch"], json!(patch));
    assert_eq!(data["file_changes"], counted);
}

#[test]
fn the_patch_of_a_scoped_checkpoint_stays_in_its_scope() {
    let (sandbox, _, _) = with_two();
    sandbox.write("new", "n2").remove("kept");
    sandbox
        .run(&["create", "--scope", "new", "-m", "scoped"])
        .success();
    let patch = sandbox.run(&["show", "scoped", "-p"]).success().stdout;
    assert!(
        patch.contains("+n2") && !patch.contains("a/kept"),
        "{patch}"
    );
}

#[test]
fn the_values_of_a_checkpoint_are_shown() {
    let sandbox = Sandbox::new();
    let create = [
        "create",
        "--state",
        "step=3",
        "--state",
        "name=\"b\\u202e\"",
        "-m",
        "st",
    ];
    sandbox.run(&create).success();
    let shown = sandbox.run(&["show", "st"]).success().stdout;
    assert!(
        shown.contains("\nstate      step=3\n           name=\"b\\u{202e}\"\n"),
        "{shown}"
    );
    let data = sandbox.run(&["show", "st", "--json"]).success().data();
    assert_eq!(data["state"], json!({"name": "b\u{202e}", "step": 3}));
    sandbox.write("a", "1");
    sandbox.create("files");
    let data = sandbox.run(&["show", "files", "--json"]).success().data();
    assert_eq!(data["state"], serde_json::Value::Null);
}

#[test]
fn paths_are_shown_as_they_are_typed_here_and_to_programs_from_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1").write("top", "1").create("one");
    sandbox.write("src/a", "2").write("top", "2").create("two");
    sandbox.write("src/a", "3").write("top", "3");
    let src = sandbox.path("src");
    let run = |args: &[&str]| sandbox.run_in(&src, args);
    for (args, lines) in [
        (&["show", "two"][..], ["  ~ a", "  ~ ../top"]),
        (&["show", "--files"], ["a", "../top"]),
        (&["status"], ["  ~ a", "  ~ ../top"]),
        (&["diff", "--name-only"], ["a", "../top"]),
        (&["ls", "@", "..", "-R"], ["a", "../top"]),
        (
            &["restore", "one", "--dry-run"],
            ["  modified a", "  modified ../top"],
        ),
    ] {
        let run = run(args).success();
        for line in lines {
            assert!(
                run.stdout.lines().any(|shown| shown == line),
                "{line}\n{run}"
            );
        }
    }
    run(&["find", "../top"])
        .success()
        .stdout_has("../top: newest");
    run(&["find", "a"]).success().stdout_has("a: newest copy");
    run(&["find", "--text", "1", "../top"])
        .success()
        .stdout_has("../top: in");
    // What git applies, and what programs read, begins at the root.
    run(&["diff", "--stat"]).success().stdout_has(" src/a | ");
    run(&["diff"]).success().stdout_has("--- a/src/a\n");
    let changes = run(&["show", "two", "--json"]).success().data()["changes"].clone();
    assert_eq!(changes[0]["path"], "src/a", "{changes}");
}

#[test]
fn what_was_left_out_is_named_as_it_is_typed_here() {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/.env", "secret")
        .write("src/build/x", "")
        .write(".gitignore", "build/\n");
    let src = sandbox.mkdir("docs").path("docs");
    sandbox
        .run_in(&src, &["-C", "..", "create"])
        .success()
        .stderr_has("left out as sensitive: src/.env");
    let status = sandbox.run_in(&src, &["status"]).success();
    status
        .stdout_has("left out as sensitive: ../src/.env\n")
        .stdout_has("left out: ../src/build/\n");
    sandbox
        .run_in(&src, &["status", "-v"])
        .success()
        .stdout_has("  secret ../src/.env\n");
}

#[test]
fn a_name_that_begins_with_a_dash_goes_behind_dashes() {
    let sandbox = Sandbox::new();
    sandbox.write("-dash", "content\n").create("one");
    let id = sandbox.create("-reason");
    for command in ["show", "cat", "ls", "diff", "find"] {
        let refused = sandbox.run(&[command, "-dash"]).code(2);
        refused.stderr_has("a name that begins with '-' goes behind '--'");
        sandbox.run(&[command, "--", "-dash"]).success();
    }
    sandbox
        .run(&["show", "--", "-reason"])
        .code(3)
        .stderr_has(&id);
    sandbox.run(&["show", &id]).success().stdout_has("-reason");
}
