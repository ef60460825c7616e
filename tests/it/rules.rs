//! Rules for what is left out, against git and beside what cannot be read; `stories/rules.md` has
//! the rest.

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
fn patterns_mean_what_git_means_by_them() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let rules = "# comment\n\\#hash\n*.o\n!important.o\n/root-only\ndir/\na/**/z\n**/any\nq?x\n[a-c]at\n\\!bang\ntrail \n\
                 kept\\ \nfoo/*\n!foo/bar/\n*.cr\r\nlast/**\nx/y\n[!q]not\n**\\/weird\n";
    sandbox.write(".gitignore", rules);
    let paths = "#hash|m.o|important.o|root-only|s/root-only|dir/f|s/dir/f|filedir|a/z|a/b/c/z|\
        s/any|any|qax|qx|bat|dat|!bang|trail|kept |kept|foo/f|foo/bar/g|n.cr|n.cr\r|\
        last/p/q|x/y|s/x/y|not|anot|qnot|weird";
    for path in paths.split('|') {
        sandbox.write(path, "");
    }
    git.ok("init -q");
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
            usize::from(run.code == 0 && sandbox.cmd("cat disturbed:d/left.log").code == 0);
        let run = sandbox.cmd("create -r 'with rules'");
        assert_eq!(run.code, 0, "{run}");
        sandbox.fails(3, "cat 'with rules:d/left.log'");
    }
    assert!(
        was_captured > 0,
        "no run lost sight of the rules: nothing was tested"
    );
}
