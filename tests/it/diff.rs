//! `diff`: the differences of two states in git's words, and those that no patch can express.

use serde_json::{Value, json};

use crate::bench::fixtures::{files_below, noise};
use crate::bench::{Run, Sandbox};
use crate::diff_oracle::raw;
use crate::partial::wrapper;

fn with_two() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1\n")
        .write("d/b", "1\n")
        .write("gone", "g\n");
    let first = sandbox.create("first");
    sandbox
        .write("a", "2\n")
        .write("new", "n\n")
        .remove("gone")
        .chmod("d/b", 0o755);
    let second = sandbox.create("second");
    (sandbox, first, second)
}

#[test]
fn none_one_or_two_selectors_say_what_is_compared() {
    let (sandbox, first, second) = with_two();
    sandbox.write("a", "3\n");
    sandbox.run(&["diff"]).success().stdout_has("-2\n+3\n");
    sandbox
        .run(&["diff", &first])
        .success()
        .stdout_has("-1\n+3\n");
    sandbox
        .run(&["diff", &first, &second])
        .success()
        .stdout_has("-1\n+2\n");
    sandbox
        .run(&["diff", "second", "first"])
        .success()
        .stdout_has("-2\n+1\n");
    sandbox
        .run(&["diff", &first, &first])
        .success()
        .stdout_is("");
    sandbox.run(&["diff", &first, &first, &first]).code(3);
    sandbox.run(&["diff", ""]).code(2);
    sandbox.run(&["diff", "nothing"]).code(3);
}

#[cfg(unix)]
#[test]
fn each_kind_of_change_has_the_header_that_git_gives_it() {
    let (sandbox, first, second) = with_two();
    let expected = "diff --git a/a b/a\nindex d00491fd7e..0cfbf08886 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n\
                    diff --git a/d/b b/d/b\nold mode 100644\nnew mode 100755\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\nindex 01058d844a..0000000000\n\
                    --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n\
                    diff --git a/new b/new\nnew file mode 100644\nindex 0000000000..8ba3a16384\n\
                    --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n";
    sandbox
        .run(&["diff", &first, &second])
        .success()
        .stdout_is(expected);
    sandbox
        .run(&["diff", &first, &second, "--name-status"])
        .success()
        .stdout_is("M\ta\nM\td/b\nD\tgone\nA\tnew\n");
    sandbox
        .run(&["diff", &first, &second, "--name-only"])
        .success()
        .stdout_is("a\nd/b\ngone\nnew\n");
    sandbox
        .run(&["diff", &first, &second, "--name-only", "--stat"])
        .code(2);
}

#[test]
fn names_alone_read_no_content_in_json_either() {
    let (sandbox, first, second) = with_two();
    let changes = |form: &[&str]| {
        let args = [&["diff", &first, &second, "--json"], form].concat();
        sandbox.run(&args).success().json()["data"]["changes"].take()
    };
    let (mut whole, names) = (changes(&[]), changes(&["--name-only"]));
    for change in whole.as_array_mut().expect("a list") {
        (change["insertions"], change["deletions"]) = (Value::Null, Value::Null);
        for side in ["before", "after"] {
            if let Some(seen) = change[side].as_object_mut() {
                assert!(seen["size_bytes"].is_number(), "{seen:?}");
                seen["size_bytes"] = Value::Null;
            }
        }
    }
    assert_eq!(whole, names);
}

#[cfg(unix)]
#[test]
fn paths_limit_what_is_compared() {
    let (sandbox, first, second) = with_two();
    let names = |paths: &[&str]| {
        let args = [&["diff", &first, &second, "--name-only", "--"], paths].concat();
        sandbox.run(&args).success().stdout
    };
    assert_eq!(names(&["d"]), "d/b\n");
    assert_eq!(names(&["gone", "./new"]), "gone\nnew\n");
    assert_eq!(names(&["."]), "a\nd/b\ngone\nnew\n");
    assert_eq!(names(&[&sandbox.path("a").display().to_string()]), "a\n");
    sandbox
        .run(&["diff", &first, &second, "--", "a", "missing"])
        .code(3)
        .stdout_is("")
        .stderr_has("missing");
    sandbox.run(&["diff", "--", "../x"]).code(2);
    sandbox.run(&["diff", "--", ".git/config"]).code(4);
    sandbox.write("w*", "1").write("ww", "1");
    sandbox
        .run(&["diff", "--name-only", "--", "w*"])
        .success()
        .stdout_is("w*\n");
}

#[cfg(unix)]
#[test]
fn exit_code_tells_differences_from_failures() {
    let (sandbox, first, second) = with_two();
    sandbox.run(&["diff", &first, &second]).success();
    sandbox
        .run(&["diff", &first, &second, "--exit-code", "--name-only"])
        .code(1);
    let run = sandbox
        .run(&["diff", &first, &second, "--exit-code", "--json"])
        .code(1);
    assert_eq!(
        run.json()["data"]["changes"].as_array().map(Vec::len),
        Some(4),
        "{run}"
    );
    sandbox
        .run(&["diff", "--exit-code"])
        .success()
        .stdout_is("");
    sandbox.chmod("a", 0o600);
    sandbox
        .run(&["diff", "--exit-code"])
        .code(1)
        .stdout_is("")
        .stderr_has("1 mode");
    sandbox.run(&["diff", "--exit-code", "nothing"]).code(3);
    sandbox.env("HOME", "not/absolute");
    sandbox.run(&["diff"]).code(1);
    let run = sandbox.run(&["diff", "--exit-code", "--json"]).code(128);
    assert_eq!(run.error_code(), "no_base", "{run}");
}

#[test]
fn without_a_store_there_is_nothing_to_compare() {
    let sandbox = Sandbox::new();
    sandbox.run(&["diff"]).code(3);
    sandbox.run(&["diff", "latest", "latest"]).code(3);
    assert!(!sandbox.base().exists(), "diff made a store");
}

#[test]
fn two_checkpoints_are_compared_without_the_directory() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1\n");
    let first = sandbox.create("first");
    sandbox.write("a", "2\n");
    let second = sandbox.create("second");
    sandbox.remove("");
    let root = sandbox.root().display().to_string();
    let run = sandbox
        .run(&["-C", &root, "diff", &first, &second])
        .success()
        .stdout_has("-1\n+2\n");
    assert!(!sandbox.root().exists(), "{run}");
    sandbox
        .run(&["-C", &root, "diff", &first])
        .code(3)
        .stderr_has("does not exist");
}

#[cfg(unix)]
#[test]
fn what_no_patch_can_say_is_told_beside_it() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1\n")
        .write("run", "x")
        .chmod("run", 0o755)
        .mkdir("old/empty")
        .mkdir("same");
    sandbox.create("first");
    sandbox
        .chmod("a", 0o600)
        .chmod("run", 0o700)
        .remove("old")
        .mkdir("fresh/empty")
        .chmod("same", 0o700)
        .fifo("pipe");
    let told =
        "also differ: 3 modes, 1 new directory, 1 deleted directory, 1 path that was not captured";
    sandbox
        .run(&["diff"])
        .success()
        .stdout_is("")
        .stderr_has(told);
    let run = sandbox
        .run(&["diff", "-v"])
        .success()
        .stdout_is("")
        .stderr_has("mode 644 -> 600: a\n");
    let run = run
        .stderr_has("mode 755 -> 700: same\n")
        .stderr_has("new directory: fresh/empty/\n");
    run.stderr_has("deleted directory: old/empty/\n")
        .stderr_has("pipe (captured or absent -> a FIFO)");
    let other = sandbox.run(&["diff", "--json"]).success().data()["other"].clone();
    assert_eq!(
        other["mode_changes"][0],
        json!({"path": "a", "path_hex": null, "old": "0644", "new": "0600"})
    );
    let dir = |path: &str| json!([{"path": path, "path_hex": null}]);
    assert_eq!(other["empty_dirs_added"], dir("fresh/empty"));
    assert_eq!(other["empty_dirs_deleted"], dir("old/empty"));
    assert_eq!(
        other["uncaptured"],
        json!([{"path": "pipe", "path_hex": null, "old": null, "new": "fifo"}])
    );
}

#[test]
fn a_held_file_that_is_ignored_by_now_is_compared_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox
        .write("x.log", "1\n")
        .write("logs/y", "1\n")
        .write("logs/gone", "1\n")
        .write("a", "1\n");
    sandbox.create("first");
    sandbox
        .write(".gitignore", "*.log\nlogs/\n")
        .write("x.log", "2\n")
        .write("logs/y", "2\n")
        .remove("logs/gone");
    sandbox.write("new.log", "1\n").write("logs/new", "1\n");
    let expected = "A\t.gitignore\nD\tlogs/gone\nM\tlogs/y\nM\tx.log\n";
    sandbox
        .run(&["diff", "--name-status"])
        .success()
        .stdout_is(expected);
}

#[test]
fn the_content_of_a_file_that_is_a_secret_by_now_shows_up_nowhere() {
    let sandbox = Sandbox::new();
    sandbox
        .write("server.key", "nothing yet\n")
        .write("a", "1\n");
    sandbox.create("first");
    sandbox
        .write("server.key", "-----BEGIN PRIVATE KEY-----\nTOPSECRET\n")
        .write("a", "2\n");
    for args in [
        &["diff"][..],
        &["diff", "--json"],
        &["diff", "--stat"],
        &["diff", "-v", "--binary"],
    ] {
        let run = sandbox.run(args).success();
        assert!(
            !format!("{}{}", run.stdout, run.stderr).contains("TOPSECRET"),
            "{run}"
        );
        assert!(
            !run.stdout.contains("deleted file"),
            "it was not deleted\n{run}"
        );
    }
    sandbox
        .run(&["diff"])
        .success()
        .stdout_has("+2\n")
        .stderr_has("content not shown: server.key (a secret)");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named_and_the_rest_shown() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    let run = |args: &[&str]| sandbox.run_under(wrapper, args);
    sandbox
        .write("closed", "1\n")
        .write("dir/inside", "1\n")
        .write("open", "1\n");
    run(&["create"]).success();
    sandbox
        .write("closed", "22\n")
        .write("open", "2\n")
        .chmod("closed", 0)
        .chmod("dir", 0);
    let told = run(&["diff", "--name-status"])
        .code(5)
        .stdout_is("M\topen\n");
    told.stderr_has("not compared: closed (")
        .stderr_has("not compared: dir/inside (");
    run(&["diff", "-q"])
        .code(5)
        .stderr_has("not compared: closed (")
        .stdout_has("+2\n");
    run(&["diff", "--exit-code"]).code(1);
    let data = run(&["diff", "--json"]).code(5).data();
    assert_eq!(data["not_compared"][0]["path"], "closed", "{data}");
    sandbox.chmod("dir", 0o755);
}

#[test]
fn a_secret_in_a_directory_that_is_ignored_by_now_is_not_shown_either() {
    let sandbox = Sandbox::new();
    sandbox
        .write("conf/.env", "K=1\n")
        .write("conf/a", "1\n")
        .write("conf/b.key", "1\n")
        .write("conf/c.key", "1\n");
    sandbox.run(&["create", "--include-sensitive"]).success();
    sandbox
        .write("conf/.env", "K=TOPSECRET\n")
        .write("conf/a", "2\n")
        .write(".gitignore", "conf/\n");
    sandbox
        .write("conf/b.key", "-----BEGIN PRIVATE KEY-----\nTOPSECRET\n")
        .write("conf/c.key", "3\n");
    let run = sandbox
        .run(&["diff"])
        .success()
        .stdout_has("+2\n")
        .stdout_has("+3\n");
    let run = run
        .stderr_has("content not shown: conf/.env (a secret)")
        .stderr_has("content not shown: conf/b.key (a secret)")
        .stdout_has("Binary files a/conf/.env and b/conf/.env differ\n");
    assert!(!run.stdout.contains("TOPSECRET"), "{run}");
}

/// Damages the content of one file, which is incompressible and so stored verbatim in its pack.
fn break_content(sandbox: &Sandbox, content: &[u8]) {
    let needle = &content[1000..1064];
    let mut broken = 0;
    for file in files_below(&sandbox.store().join("objects/pack")) {
        let mut bytes = std::fs::read(&file).expect("a pack can be read");
        if let Some(at) = bytes
            .windows(needle.len())
            .position(|window| window == needle)
        {
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).expect("a pack can be written");
            broken += 1;
        }
    }
    assert_eq!(broken, 1, "the content stands in one pack");
}

#[test]
fn a_damaged_file_is_named_and_the_rest_shown() {
    let sandbox = Sandbox::new();
    let content = noise(1, 100_000);
    sandbox
        .write("a", "1\n")
        .write("bad", &content)
        .write("z", "1\n");
    let first = sandbox.create("first");
    break_content(&sandbox, &content);
    sandbox
        .write("a", "2\n")
        .write("bad", "new")
        .write("z", "2\n");
    let run = sandbox
        .run(&["diff", &first])
        .code(6)
        .stdout_has("b/a\n")
        .stdout_has("b/z\n")
        .stderr_has("bad");
    assert!(!run.stdout.contains("bad"), "{run}");
    sandbox
        .run(&["diff", "-q", "--stat", "--exit-code"])
        .code(6)
        .stderr_has("bad is damaged");
    let run = sandbox.run(&["diff", "--json"]).code(6);
    assert_eq!(run.error_code(), "damaged", "{run}");
    assert_eq!(
        run.json()["data"]["changes"].as_array().map(Vec::len),
        Some(2),
        "{run}"
    );
    assert!(
        run.warning_codes().contains(&"damaged_file".to_owned()),
        "{run}"
    );
    sandbox
        .run(&["diff", "--name-only"])
        .success()
        .stdout_is("a\nbad\nz\n");
}

#[test]
fn piped_content_is_raw_and_painted_content_is_harmless() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "1\n");
    sandbox.create("first");
    sandbox.write("f", b"\x1b]0;owned\x07caf\xe9\r\n\tback\\slash\n");
    let patch = raw(&sandbox, &["diff"], 0);
    assert!(
        patch.ends_with(b"-1\n+\x1b]0;owned\x07caf\xe9\r\n+\tback\\slash\n"),
        "{}",
        patch.escape_ascii()
    );
    let painted = sandbox.run(&["diff", "--color", "always"]).success().stdout;
    assert!(
        painted.contains("\x1b[1m--- a/f\x1b[0m\n")
            && painted.contains("\x1b[36m@@ -1 +1,2 @@\x1b[0m\n"),
        "{painted}"
    );
    assert!(
        painted.contains("\x1b[32m+\\x1b]0;owned\\x07caf\\xe9\\x0d\x1b[0m\n"),
        "{painted}"
    );
    assert!(
        painted.contains("\x1b[32m+\tback\\slash\x1b[0m\n"),
        "{painted}"
    );
}

#[test]
fn no_configuration_of_git_has_an_effect() {
    let (sandbox, first, second) = with_two();
    let plain = raw(&sandbox, &["diff", &first, &second], 0);
    sandbox
        .env("GIT_EXTERNAL_DIFF", "/bin/false")
        .env("GIT_DIFF_OPTS", "-U0")
        .env("GIT_CONFIG_COUNT", "1");
    sandbox
        .env("GIT_CONFIG_KEY_0", "diff.noprefix")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_DIR", "/nonexistent");
    sandbox.write(
        sandbox.home().join(".gitconfig"),
        "[diff]\n\tnoprefix = true\n\tcontext = 0\n[core]\n\tattributesFile = ~/a\n",
    );
    sandbox
        .write(sandbox.home().join("a"), "* binary\n")
        .write(".gitattributes", "* binary\n");
    assert_eq!(raw(&sandbox, &["diff", &first, &second], 0), plain);
    sandbox
        .run(&["diff", "--", ".gitattributes"])
        .success()
        .stdout_has("+* binary\n");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (sandbox, first, _) = with_two();
    sandbox.write("long", "a line\n".repeat(200_000));
    let script = format!("\"$0\" diff {first} | head -n 1; exit ${{PIPESTATUS[0]}}");
    let run = Run::of(sandbox.command(&["/bin/bash", "-c", &script], &[]));
    run.success().stdout_is("diff --git a/a b/a\n");
    let script = format!("\"$0\" diff {first} >/dev/full");
    if std::path::Path::new("/dev/full").exists() {
        Run::of(sandbox.command(&["/bin/sh", "-c", &script], &[]))
            .code(1)
            .stderr_has("standard output");
    }
}

#[test]
fn diff_and_cat_write_nothing() {
    let (sandbox, first, second) = with_two();
    sandbox
        .write("a", "9\n")
        .watch(&sandbox.store())
        .watch(sandbox.root());
    sandbox.run(&["diff"]).success();
    sandbox.run(&["diff", &first, &second, "--stat"]).success();
    sandbox
        .run(&["cat", &format!("{first}:a")])
        .success()
        .stdout_is("1\n");
}

#[test]
fn a_document_has_the_patch_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1\n2\n3\n");
    sandbox.create("first");
    sandbox.write("a", "1\n2\nx\n");
    let data = |args: &[&str]| {
        sandbox
            .run(&[&["diff", "--json"], args].concat())
            .success()
            .data()
    };
    assert!(data(&[])["patch"].is_null());
    let patch = data(&["-U0"])["patch"]
        .as_str()
        .expect("a patch")
        .to_owned();
    assert!(patch.ends_with("@@ -3 +3 @@\n-3\n+x\n"), "{patch}");
    assert_eq!(sandbox.run(&["diff", "-U0"]).success().stdout, patch);
    assert_eq!(data(&["-U0"])["changes"][0]["insertions"], 1);
}
