//! Rules for what is left out: `.gitignore` at every level, the store's list, the user's excludes.

use std::collections::BTreeSet;

use crate::bench::{Git, Sandbox, limit};

/// The paths that the first checkpoint of the sandbox captures, as `show` lists them.
fn captured(sandbox: &Sandbox) -> BTreeSet<String> {
    let data = sandbox.create_data(&["--reason", "rules"]);
    let shown = sandbox
        .run(&["show", data["short"].as_str().expect("an id"), "--json"])
        .success()
        .data();
    let paths = shown["changes"].as_array().expect("a list").clone();
    paths
        .iter()
        .map(|path| path["path"].as_str().expect("a path").to_owned())
        .collect()
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    let sandbox = Sandbox::new();
    for (path, text) in files {
        sandbox.write(path, text);
    }
    let expected: BTreeSet<String> = expected.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(captured(&sandbox), expected);
}

#[test]
fn gitignore_files_work_at_every_level_with_negation() {
    check(
        &[
            (".gitignore", "*.log\n!keep.log\n/only-here\nlib/\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("only-here", ""),
            ("sub/only-here", ""),
            ("sub/.gitignore", "!b.log\nlocal\n"),
            ("sub/b.log", ""),
            ("sub/local", ""),
            ("sub/deep/local", ""),
            ("lib/x", ""),
            ("sub/lib/x", ""),
            ("libfile", ""),
        ],
        &[
            ".gitignore",
            "keep.log",
            "libfile",
            "sub/.gitignore",
            "sub/b.log",
            "sub/only-here",
        ],
    );
}

#[test]
fn the_list_of_the_store_leaves_out_what_can_be_made_again() {
    check(
        &[
            ("node_modules/p/index.js", ""),
            ("sub/node_modules/p", ""),
            ("__pycache__/x.pyc", ""),
            ("venv/bin/python", ""),
            (".venv/x", ""),
            ("dist/out", ""),
            ("build/out", ""),
            (".next/x", ""),
            ("m.pyc", ""),
            (".DS_Store", ""),
            ("builder/kept", ""),
        ],
        &["builder/kept"],
    );
}

#[test]
fn the_project_may_take_back_what_the_store_leaves_out() {
    check(
        &[(".gitignore", "!dist/\n"), ("dist/out", "")],
        &[".gitignore", "dist/out"],
    );
}

#[test]
fn the_list_of_the_store_can_be_edited() {
    let sandbox = Sandbox::new();
    sandbox.write("dist/out", "").write("own.tmp", "");
    sandbox.create("first");
    let list = sandbox.store().join(".gitignore");
    std::fs::write(&list, "*.tmp\n").expect("the list can be written");
    let counts = sandbox.create_data(&[])["counts"].clone();
    assert_eq!(
        (&counts["file_count"], &counts["added"], &counts["deleted"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!(
        std::fs::read_to_string(&list).expect("the list can be read"),
        "*.tmp\n",
        "the list is the user's"
    );
}

#[test]
fn excludes_come_from_the_user_and_from_the_project() {
    let sandbox = Sandbox::new();
    sandbox
        .user_config("exclude = [\"*.big\"]\n")
        .write(".checkpoint.toml", "exclude = [\"scratch/\"]\n");
    sandbox
        .write("x.big", "")
        .write("scratch/x", "")
        .write("kept", "");
    assert_eq!(
        captured(&sandbox),
        BTreeSet::from([".checkpoint.toml".to_owned(), "kept".to_owned()])
    );
}

#[test]
fn rules_above_the_repository_and_in_its_settings_are_not_read() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.top().join(".gitignore"), "*\n").expect("a file can be written");
    std::fs::create_dir_all(sandbox.path(".git/info")).expect("a directory can be made");
    std::fs::write(sandbox.path(".git/info/exclude"), "*\n").expect("a file can be written");
    sandbox.renew_watches();
    sandbox.write("a", "1");
    assert_eq!(captured(&sandbox), BTreeSet::from(["a".to_owned()]));
}

#[cfg(unix)]
#[test]
fn rules_above_the_root_that_cannot_be_read_stop_a_create() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = crate::partial::wrapper(&sandbox) else {
        return;
    };
    sandbox
        .write(".gitignore", "secret\n")
        .write("web/secret", "s");
    sandbox.chmod(".gitignore", 0);
    let web = sandbox.path("web").display().to_string();
    let run = sandbox.run_under(wrapper, &["-C", &web, "create"]).code(4);
    run.stderr_has(".gitignore cannot be read");
    sandbox.chmod(".gitignore", 0o644);
    sandbox
        .run_under(wrapper, &["-C", &web, "create"])
        .success();
}

#[test]
fn what_is_left_out_is_told_once_and_again_when_it_changes() {
    let sandbox = Sandbox::new();
    sandbox
        .write("build/x", "")
        .write("dist/x", "")
        .write(".gitignore", "*.log\n");
    for name in ["a.log", "b.log", "c.log"] {
        sandbox.write(name, "");
    }
    sandbox
        .run(&["create"])
        .success()
        .stderr_has("left out: build/ dist/ and 3 files");
    let quiet = sandbox.write("a", "1").run(&["create"]).success();
    assert!(
        !quiet.stderr.contains("left out"),
        "nothing new was left out\n{quiet}"
    );
    sandbox
        .write("d.log", "")
        .run(&["create"])
        .success()
        .stderr_has("and 4 files");
}

#[test]
fn a_committed_path_is_captured_although_a_rule_covers_it() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    sandbox
        .write(".gitignore", "*.gen\n")
        .write("dist/index.js", "1")
        .write("dist/other.js", "1")
        .write("x.gen", "1");
    git.run(&["init", "-q"]).success();
    git.run(&["add", "-f", ".gitignore", "dist/index.js", "x.gen"])
        .success();
    sandbox.watch(&sandbox.path(".git"));
    assert_eq!(
        captured(&sandbox),
        [".gitignore", "dist/index.js", "x.gen"]
            .map(str::to_owned)
            .into()
    );
    let tree = sandbox.tree();
    sandbox.write("dist/index.js", "2").remove("x.gen");
    sandbox.restore("latest").success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn an_index_that_cannot_be_read_costs_one_warning() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path(".git/index"), "DIRC rubbish").expect("a file can be written");
    sandbox.renew_watches();
    sandbox.write("a", "1");
    let run = sandbox.run(&["create", "--json"]).success();
    assert_eq!(run.warning_codes().len(), 1, "{run}");
}

#[test]
fn patterns_mean_what_git_means_by_them() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let rules = "# comment\n\\#hash\n*.o\n!important.o\n/root-only\ndir/\na/**/z\n**/any\nq?x\n[a-c]at\n\\!bang\ntrail \n\
                 kept\\ \nfoo/*\n!foo/bar/\n*.cr\r\nlast/**\nx/y\n[!q]not\n**\\/weird\n";
    sandbox.write(".gitignore", rules);
    for path in [
        "#hash",
        "m.o",
        "important.o",
        "root-only",
        "s/root-only",
        "dir/f",
        "s/dir/f",
        "filedir",
        "a/z",
        "a/b/c/z",
        "s/any",
        "any",
        "qax",
        "qx",
        "bat",
        "dat",
        "!bang",
        "trail",
        "kept ",
        "kept",
        "foo/f",
        "foo/bar/g",
        "n.cr",
        "n.cr\r",
        "last/p/q",
        "x/y",
        "s/x/y",
        "not",
        "anot",
        "qnot",
        "weird",
    ] {
        sandbox.write(path, "");
    }
    git.run(&["init", "-q"]).success();
    let paths: BTreeSet<String> = sandbox
        .tree()
        .nodes
        .iter()
        .filter(|(_, node)| !node.is_dir())
        .map(|(path, _)| String::from_utf8(path.clone()).expect("plain names"))
        .collect();
    let input = paths.iter().fold(Vec::new(), |input, path| {
        [&input, path.as_bytes(), b"\0"].concat()
    });
    let mut check = git.command(&["check-ignore", "--no-index", "-z", "--stdin"]);
    let ignored = limit::output_fed(&mut check, &input)
        .expect("git can be started")
        .stdout;
    let ignored = String::from_utf8(ignored).expect("plain names");
    let ignored: BTreeSet<String> = ignored.split_terminator('\0').map(str::to_owned).collect();
    sandbox.watch(&sandbox.path(".git"));
    let expected: BTreeSet<String> = paths.difference(&ignored).cloned().collect();
    assert_eq!(captured(&sandbox), expected);
}

#[test]
fn an_ignore_file_that_is_a_link_is_not_followed() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.top().join("rules"), "*\n").expect("a file can be written");
    sandbox.symlink(".gitignore", "../rules").write("a", "1");
    assert_eq!(
        captured(&sandbox),
        [".gitignore", "a"].map(str::to_owned).into()
    );
}

#[test]
fn rules_that_could_not_be_read_once_hold_the_next_time() {
    use crate::bench::strace;
    if !strace::available() {
        return;
    }
    let mut was_captured = 0;
    for nth in 1..100 {
        let sandbox = Sandbox::bare();
        sandbox
            .write(".gitignore", "*.log\n")
            .write("d/left.log", "out")
            .write("d/kept", "in");
        sandbox.create("base");
        sandbox
            .write("later", "1")
            .write("d/kept", "2")
            .write("d/new", "3");
        let run = strace::failing_nth(
            &sandbox,
            "openat",
            "EIO",
            nth,
            &["create", "-r", "disturbed"],
        );
        if !strace::has_struck(&sandbox) {
            break;
        }
        was_captured +=
            usize::from(run.code == 0 && sandbox.run(&["cat", "disturbed:d/left.log"]).code == 0);
        let run = sandbox.run(&["create", "-r", "with rules"]);
        assert_eq!(run.code, 0, "{run}");
        sandbox.run(&["cat", "with rules:d/left.log"]).code(3);
    }
    assert!(
        was_captured > 0,
        "no run lost sight of the rules: nothing was tested"
    );
}
