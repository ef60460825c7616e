//! The rules of the repository around a root, against git, and what a volume keeps;
//! `stories/owners.md` has the rest.

use std::path::Path;

use crate::bench::{Git, Sandbox};

fn repository(sandbox: &Sandbox, path: &str) {
    sandbox.write(format!("{path}/HEAD"), "ref: refs/heads/main\n");
}

/// A root in a package of a repository whose rules and index lie above it.
fn package(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.write(
        ".gitignore",
        "secrets.json\n/packages/*/generated/\n*.tmp\n",
    );
    sandbox.write("packages/.gitignore", "!keep.tmp\n");
    for name in [
        "secrets.json",
        "generated/x",
        "a.tmp",
        "keep.tmp",
        "dist/tracked.js",
        "src/a",
    ] {
        sandbox.write(format!("packages/web/{name}"), name);
    }
    sandbox.path("packages/web")
}

fn held_in(sandbox: &Sandbox, root: &Path, selector: &str) -> String {
    let root = root.display().to_string();
    let run = sandbox.run(&["-C", &root, "ls", selector, "--recursive"]);
    run.success().stdout
}

#[test]
fn rules_and_index_of_the_repository_around_a_root_count() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    git.ok("init -q .");
    let root = package(&sandbox);
    git.ok("add -f packages/web/dist/tracked.js");
    let place = root.display().to_string();
    sandbox.write("packages/web/.gitignore", "dist/\n");
    sandbox
        .run(&["-C", &place, "create", "-r", "one"])
        .success();
    let held = held_in(&sandbox, &root, "one");
    for out in ["secrets.json", "generated", "a.tmp"] {
        assert!(!held.contains(out), "{out}: {held}");
    }
    for name in ["keep.tmp", "dist/tracked.js", "src/a"] {
        assert!(held.contains(name), "{name}: {held}");
    }
    // A change of the rules above is seen, and a restore goes by the rules of its target.
    sandbox.write(".gitignore", "src/\n");
    sandbox
        .run(&["-C", &place, "create", "-r", "two"])
        .success();
    assert!(held_in(&sandbox, &root, "two").contains("secrets.json"));
    assert!(!held_in(&sandbox, &root, "two").contains("src/a"));
    sandbox
        .run(&["-C", &place, "restore", "one", "--yes"])
        .success();
    assert!(
        sandbox.exists("packages/web/secrets.json"),
        "it was left out then"
    );
}

#[test]
fn a_package_leaves_out_what_git_ignores_in_it() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    git.ok("init -q .");
    sandbox
        .write(
            ".gitignore",
            "/p/w/one\np/*/two\n*.o\n!keep.o\n**/deep/*.x\nthree/\n/w\n",
        )
        .write("p/.gitignore", "w/four\n/five\n!*.x\nw/sub/\n")
        .write("p/w/.gitignore", "!three/\nsix\n!/a.o\n");
    let names = [
        "one", "two", "a.o", "b.o", "keep.o", "four", "five", "six", "deep/y.x", "deep/z",
        "three/in", "sub/in", "w", "x/one", "x/two", "x/four", "x/b.o", "x/keep.o", "x/w/four",
    ];
    for name in names {
        sandbox.write(format!("p/w/{name}"), name);
    }
    let root = sandbox.path("p/w");
    let place = root.display().to_string();
    sandbox
        .run(&["-C", &place, "create", "-r", "one"])
        .success();
    let held = held_in(&sandbox, &root, "one");
    let mut ignored = 0;
    for name in names {
        let path = format!("p/w/{name}");
        let by_git = git.run(&["check-ignore", "-q", "--no-index", &path]).code == 0;
        ignored += usize::from(by_git);
        assert_eq!(held.lines().any(|line| line == name), !by_git, "{name}");
    }
    assert!(ignored > 5 && ignored < names.len() - 5, "{ignored}");
}

#[cfg(unix)]
#[test]
fn a_repository_of_another_user_around_a_root_has_no_say() {
    if !crate::bench::os::is_root() {
        return crate::bench::skipped("needs to give files away");
    }
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox.write(".gitignore", "*.rs\n").write("p/a.rs", "1");
    crate::bench::os::chown(sandbox.path(".git"), Some(12345), None).unwrap();
    let root = sandbox.path("p");
    let place = root.display().to_string();
    sandbox.run(&["-C", &place, "create", "-r", "x"]).success();
    assert_eq!(held_in(&sandbox, &root, "x"), "a.rs\n");
}

#[cfg(unix)]
#[test]
fn a_volume_keeps_its_lost_and_found_and_is_no_part_of_a_repository_around_it() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox.write(".gitignore", "file\n").mkdir("volume");
    let script = r#"
        mount -t tmpfs none volume || exit 99
        cd volume; mkdir -m 700 lost+found deep; mkdir deep/lost+found
        echo 1 > lost+found/x; echo 1 > deep/lost+found/y; echo 1 > file
        "$0" create -r one > /dev/null
        "$0" ls one --recursive; rm file; echo 2 > lost+found/x
        "$0" restore one --yes > /dev/null; cat lost+found/x"#;
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        return crate::bench::skipped("needs the right to mount");
    }
    let run = run
        .success()
        .stdout_is("deep/\ndeep/lost+found/\ndeep/lost+found/y\nfile\n2\n");
    run.stderr_has("left out: lost+found/");
    let script = r#"
        mkdir above above/volume; mount -t tmpfs none above/volume || exit 99
        mkdir -m 700 above/volume/lost+found; chown 1234 above/volume; chmod 711 above
        cd above/volume; HOME=$HOME/other; mkdir -m 777 "$HOME"
        setpriv --reuid 1234 --clear-groups "$0" create -r one > /dev/null"#;
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
    run.success().stderr_has("left out: lost+found/");
}
