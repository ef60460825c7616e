//! `status`: where everything is, and how far the directory has changed.

use serde_json::{Value, json};

use crate::bench::{Sandbox, place};

#[test]
fn a_secret_that_was_recorded_and_changed_counts_as_changed() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write(".env", "K=1\n")
        .write("id", "1\n");
    sandbox.run(&["create", "--include-sensitive"]).success();
    sandbox.run(&["guard", "--exact"]).success();
    assert!(!sandbox.run(&["diff"]).success().stderr.contains(".env"));
    sandbox
        .run(&["status"])
        .success()
        .stdout_has("nothing since");
    sandbox.write(".env", "K=TOPSECRET\n");
    let run = sandbox.run(&["status"]).success().stdout_has("~ .env");
    assert!(!run.stdout.contains("TOPSECRET"), "{run}");
    sandbox
        .run(&["guard", "--exact"])
        .code(4)
        .stderr_has("does not hold '.env' as it is now");
    let run = sandbox
        .run(&["diff"])
        .success()
        .stderr_has("content not shown: .env (a secret)");
    assert!(!run.stdout.contains("TOPSECRET"), "{run}");
    sandbox.write(".env", "K=1\n");
    sandbox.write("id", "-----BEGIN PRIVATE KEY-----\nTOPSECRET\n");
    sandbox.run(&["status"]).success().stdout_has("~ id");
    sandbox
        .run(&["guard", "--exact"])
        .code(4)
        .stderr_has("does not hold 'id' as it is now");
}

#[test]
fn checkpoints_are_counted_alike_everywhere_and_restores_beside_them() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write("a", "2").create("two");
    sandbox.restore("latest~1").success();
    let shows = |words: &[&str], text: &str| {
        let run = sandbox.run(words).success();
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains(text),
            "{run}"
        );
    };
    shows(&["status"], "2, 1 safety checkpoint\n");
    shows(&["status", "--brief"], "2 checkpoints, latest");
    shows(&["doctor"], "checkpoints: 2, safety checkpoints: 1,");
    let all = sandbox.run(&["list", "--all", "--json"]).success().data();
    for counts in [&sandbox.status(), &all["stores"][0]] {
        assert_eq!(
            (&counts["checkpoint_count"], &counts["safety_count"]),
            (&json!(2), &json!(1))
        );
    }
}

#[test]
fn status_names_the_places_and_the_numbers() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    let status = sandbox.status();
    assert_eq!(status["root"], sandbox.root().display().to_string());
    assert_eq!(status["base"], sandbox.base().display().to_string());
    assert_eq!(status["store"], sandbox.store().display().to_string());
    assert_eq!(
        status["manifest"],
        sandbox
            .store()
            .join("checkpoint-manifest.md")
            .display()
            .to_string()
    );
    assert_eq!(status["dir_hash"], place::dir_hash(sandbox.root()));
    assert_eq!(
        (&status["exists"], &status["checkpoint_count"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(status["latest"]["short"], id.as_str());
    assert!(
        status["store_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 0)
    );
    assert!(status["pending"].is_null());
}

#[test]
fn status_counts_the_drift_since_the_latest() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    sandbox.create("first");
    assert_eq!(
        sandbox.status()["drift"],
        json!({"added": 0, "modified": 0, "deleted": 0})
    );
    sandbox
        .write("a", "2")
        .remove("b")
        .write("c", "1")
        .write("d", "1");
    assert_eq!(
        sandbox.status()["drift"],
        json!({"added": 2, "modified": 1, "deleted": 1})
    );
}

#[test]
fn status_without_a_store_says_so_and_still_names_the_places() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["status"]).success();
    assert!(!run.stderr.is_empty(), "nothing was said\n{run}");
    let status = sandbox.status();
    assert_eq!(
        (&status["exists"], &status["checkpoint_count"]),
        (&json!(false), &json!(0))
    );
    assert_eq!(status["store"], sandbox.store().display().to_string());
    assert!(!sandbox.store().exists(), "status made a store");
}

#[test]
fn brief_is_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("pre-wave-3");
    let run = sandbox
        .run(&["status", "--brief"])
        .success()
        .stdout_has("pre-wave-3");
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}

#[test]
fn verbose_status_lists_all_that_rules_left_out() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*.log\n")
        .write("x.log", "1")
        .write("dist/out.js", "1")
        .write("a", "1");
    sandbox.create("first");
    sandbox
        .run(&["status", "-v"])
        .success()
        .stdout_has("dist")
        .stdout_has("x.log");
}

#[test]
fn status_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox
        .write("a", "2")
        .watch(&sandbox.store())
        .watch(sandbox.root());
    for args in [
        &["status"][..],
        &["status", "-v"],
        &["list"],
        &["show", "latest"],
        &["restore", "latest", "--dry-run"],
    ] {
        sandbox.run(args).success();
    }
}

#[test]
fn files_that_changed_are_named_before_directories() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    for number in 0..12 {
        sandbox.mkdir(format!("d{number}"));
    }
    sandbox.write("z", "1").write("a", "2");
    let run = sandbox.run(&["status"]).success();
    run.stdout_has("\n  ~ a\n  + z\n  + d0/\n")
        .stdout_has("  and 4 more: ");
}

#[test]
fn diff_and_status_tell_the_same_of_a_secret_that_was_recorded() {
    let sandbox = Sandbox::new();
    let key = "-----BEGIN PRIVATE KEY-----\nTOPSECRET\n";
    sandbox.write(".env", "K=TOPSECRET\n").write("b.key", key);
    sandbox.run(&["create", "--include-sensitive"]).success();
    let check = |sign: &str, letter: &str| {
        let told = sandbox.run(&["status"]).success();
        told.stdout_has(&format!("  {sign} .env\n"))
            .stdout_has(&format!("  {sign} b.key\n"));
        let names = sandbox.run(&["diff", "--name-status"]).success();
        names.stdout_is(&format!("{letter}\t.env\n{letter}\tb.key\n"));
        sandbox.run(&["diff", "--exit-code"]).code(1);
        for args in [
            &["diff"][..],
            &["diff", "--binary"],
            &["diff", "--json", "-U", "1"],
        ] {
            let run = sandbox.run(args).success();
            assert!(!run.stdout.contains("TOPSECRET"), "{run}");
            assert!(run.stdout.contains("b/.env"), "{run}");
            assert!(!run.stderr.contains("512 MiB"), "{run}");
        }
        let run = sandbox.run(&["diff"]).success();
        run.stderr_has("content not shown: .env (a secret)")
            .stderr_has("content not shown: b.key (a secret)");
        let data = sandbox.run(&["diff", "--json"]).success().data();
        assert_eq!(data["secrets"][0]["path"], ".env", "{data}");
        assert_eq!(data["secrets"][1]["path"], "b.key", "{data}");
    };
    sandbox.write(".env", "K=2\n");
    sandbox.write("b.key", key.replace("SECRET", ""));
    check("~", "M");
    sandbox.remove(".env").remove("b.key");
    check("-", "D");
}

#[test]
fn a_directory_of_ignored_files_alone_is_recorded_and_is_not_called_empty() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n").create("one");
    sandbox.write("x/a.log", "1");
    let told = "1 new directory";
    sandbox.run(&["status"]).success().stdout_has(told);
    sandbox.run(&["diff"]).success().stderr_has(told);
    sandbox.create("two");
    sandbox.run(&["ls"]).success().stdout_has("x/\n");
}

#[test]
fn an_empty_directory_that_is_new_or_gone_is_a_change() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").mkdir("old");
    sandbox.create("one");
    sandbox.mkdir("new").remove("old");
    sandbox.write("full/x", "1");
    let run = sandbox.run(&["status"]).success();
    run.stdout_has("1 added, 1 new directory, 1 deleted directory")
        .stdout_has("\n  + full/x\n  + new/\n  - old/\n");
    sandbox.run(&["create"]).success();
    sandbox
        .run(&["status"])
        .success()
        .stdout_has("nothing since");
}

#[test]
fn a_root_above_with_checkpoints_of_its_own_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/a", "1").create("of the root");
    let sub = sandbox.path("sub");
    let status = |dir| sandbox.run_in(dir, &["status", "--json"]).success().data();
    let above = sandbox.root().display().to_string();
    // A script that finds no checkpoints learns where they are.
    let none = sandbox.run_in(&sub, &["status", "--json", "--here"]);
    let none = none.success().data();
    assert_eq!(
        (&none["exists"], &none["root_above"]),
        (&json!(false), &json!(above))
    );
    sandbox.run_in(&sub, &["create", "--here"]).success();
    assert_eq!(status(&sub)["root_above"], above.as_str());
    assert_eq!(status(sandbox.root())["root_above"], Value::Null);
    let line = format!("above        {above}, which has checkpoints too\n");
    sandbox
        .run_in(&sub, &["status"])
        .success()
        .stdout_has(&line);
    let doctor = sandbox.run_in(&sub, &["doctor"]).success();
    doctor.stdout_has(&format!("above        {above} has checkpoints too"));
    let plain = sandbox.run(&["doctor"]).success();
    assert!(!plain.stdout.contains("-- above"), "{plain}");
}
