//! What lies below a root and has an owner of its own: linked worktrees, caches, what the file
//! system keeps; and the rules of the repository around a root.

use std::path::Path;

use crate::bench::{Git, Sandbox};

/// Makes `.git` directories and links as `git worktree add` does.
fn add_worktree(sandbox: &Sandbox, repository: &str, path: &str, name: &str) {
    let entry = format!("{repository}/worktrees/{name}");
    sandbox.write(format!("{entry}/commondir"), "../..\n");
    sandbox.write(format!("{entry}/HEAD"), "ref: refs/heads/x\n");
    let link = sandbox.path(&entry);
    sandbox.write(
        format!("{path}/.git"),
        format!("gitdir: {}\n", link.display()),
    );
}

fn repository(sandbox: &Sandbox, path: &str) {
    sandbox.write(format!("{path}/HEAD"), "ref: refs/heads/main\n");
}

fn held(sandbox: &Sandbox, selector: &str) -> String {
    let run = sandbox.run(&["ls", selector, "--recursive"]).success();
    run.stdout
}

#[test]
fn a_linked_worktree_is_left_out_of_capture_and_restore_and_named() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    let before = sandbox.write("a", "1").create("before");
    add_worktree(&sandbox, ".git", ".claude/worktrees/agent-1", "agent-1");
    sandbox.write(".claude/worktrees/agent-1/work", "hours");
    sandbox.write("a", "2").write("new", "n");
    let run = sandbox.run(&["create", "-r", "with"]).success();
    let run = run.stderr_has(".claude/worktrees/agent-1 (a linked worktree)");
    assert!(!held(&sandbox, "with").contains("agent-1/work"), "{run}");
    let run = sandbox.run(&["restore", &before, "--yes"]).success();
    assert_eq!(sandbox.read(".claude/worktrees/agent-1/work"), "hours");
    assert!(!sandbox.exists("new") && sandbox.read("a") == "1");
    run.stderr_has(".claude");
    sandbox.undo().success();
    assert_eq!(sandbox.read("new"), "n");
}

#[test]
fn a_path_in_a_linked_worktree_is_refused_with_its_name() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox.write("a", "1");
    add_worktree(&sandbox, ".git", "wt", "wt");
    sandbox.write("wt/f", "1");
    let id = sandbox.create("base");
    for path in ["wt/f", "wt", "wt/gone"] {
        for words in [
            &["restore", path, "--yes"][..],
            &["restore", &id, path, "--yes"],
        ] {
            let run = sandbox.run(words).code(3);
            run.stderr_has("is in the linked worktree wt")
                .stderr_has(&format!("-C {} list", sandbox.path("wt").display()));
        }
    }
    sandbox.write("lost", "wt/gone\n");
    sandbox
        .run(&["restore", "@lost", "--yes"])
        .code(3)
        .stderr_has("linked worktree wt");
}

#[test]
fn what_an_older_checkpoint_has_at_the_place_of_a_worktree_is_not_written() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox.write("wt/work", "plain").write("a", "1");
    let before = sandbox.create("it was a plain directory");
    add_worktree(&sandbox, ".git", "wt", "wt");
    sandbox.write("wt/work", "theirs").write("a", "2");
    sandbox.restore(&before).success();
    assert_eq!(sandbox.read("wt/work"), "theirs");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn worktrees_are_known_by_any_form_of_link_and_other_repositories_are_not() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, "bare.git");
    sandbox.write(".git", "gitdir: ./bare.git\n");
    for name in ["absolute", "moved", "relative"] {
        add_worktree(&sandbox, "bare.git", name, name);
        sandbox.write(format!("{name}/file"), "x");
    }
    sandbox.write("relative/.git", "gitdir: ../bare.git/worktrees/relative\n");
    sandbox.write("moved/.git", "gitdir: /gone/bare.git/worktrees/moved\n");
    sandbox.write(
        "of-sub/.git",
        "gitdir: ../bare.git/modules/sub/worktrees/x\n",
    );
    sandbox
        .write("of-sub/file", "x")
        .write("worktrees/s/file", "x");
    let link = "gitdir: ../../bare.git/modules/worktrees/s\n";
    sandbox.write("worktrees/s/.git", link);
    sandbox.write(
        "bare.git/modules/worktrees/s/HEAD",
        "ref: refs/heads/main\n",
    );
    sandbox.write("sub/.git", "gitdir: ../bare.git/modules/sub\n");
    sandbox.write("bare.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    sandbox.write("sub/file", "x").write("own/file", "x");
    repository(&sandbox, "own/.git");
    sandbox.create("all");
    let held = held(&sandbox, "all");
    for out in [
        "absolute/file",
        "moved/file",
        "relative/file",
        "of-sub/file",
    ] {
        assert!(!held.contains(out), "{out}: {held}");
    }
    for name in ["\nsub/file", "own/file", "worktrees/s/file"] {
        assert!(held.contains(name), "{name}: {held}");
    }
}

#[test]
fn the_main_worktree_below_a_linked_one_is_left_out_too() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, "main/.git");
    add_worktree(&sandbox, "main/.git", ".", "top");
    sandbox.write("main/work", "hours").write("a", "1");
    sandbox.create("all");
    assert_eq!(held(&sandbox, "all"), "a\n");
}

#[test]
fn a_worktree_in_a_folder_that_is_ignored_today_is_not_written_by_a_restore() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox
        .write("trees/wt/work", "plain")
        .write("trees/wt/gone", "plain");
    let before = sandbox.write("a", "1").create("plain directories");
    sandbox
        .remove("trees/wt/gone")
        .write(".gitignore", "trees/\n");
    add_worktree(&sandbox, ".git", "trees/wt", "wt");
    sandbox.write("trees/wt/work", "hours").write("a", "2");
    assert_eq!(
        sandbox.restore_data(&[&before])["left_alone"][0]["path"],
        "trees/wt"
    );
    assert_eq!(sandbox.read("trees/wt/work"), "hours");
    assert!(!sandbox.exists("trees/wt/gone") && sandbox.read("a") == "1");
}

#[test]
fn a_cache_is_left_out_by_its_tag_unless_it_is_named_or_the_tag_is_none() {
    const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# by a tool\n";
    let sandbox = Sandbox::new();
    sandbox.write("c/CACHEDIR.TAG", TAG).write("c/big", "b");
    #[cfg(unix)]
    {
        sandbox.mkdir("by_link").write("by_link/file", "f");
        std::os::unix::fs::symlink("../c/CACHEDIR.TAG", sandbox.path("by_link/CACHEDIR.TAG"))
            .unwrap();
    }
    sandbox
        .write("d/CACHEDIR.TAG", "no tag")
        .write("d/file", "f");
    let run = sandbox.run(&["create", "-r", "one"]).success();
    run.stderr_has("c (a cache, by its CACHEDIR.TAG)");
    let listed = held(&sandbox, "one");
    assert!(
        !listed.contains("c/big") && listed.contains("d/file"),
        "{listed}"
    );
    #[cfg(unix)]
    assert!(
        listed.contains("by_link/file"),
        "a link is no tag: {listed}"
    );
    sandbox.write("d/CACHEDIR.TAG", TAG);
    sandbox.create("two");
    assert!(
        !held(&sandbox, "two").contains("d/file"),
        "the tag is valid now"
    );
    sandbox
        .run(&["create", "--scope", "c", "-r", "three"])
        .success();
    assert!(held(&sandbox, "three").contains("c/big"), "it was named");
    // What a checkpoint left out is not deleted by going back to it, whatever today's tag says.
    sandbox.remove("c/CACHEDIR.TAG").create("four");
    sandbox.restore("two").success();
    assert_eq!(sandbox.read("c/big"), "b");
    // And what a checkpoint holds comes back into it.
    sandbox.write("c/CACHEDIR.TAG", TAG).write("c/big", "other");
    sandbox.restore("four").success();
    assert_eq!(sandbox.read("c/big"), "b");
}

#[test]
fn what_stands_where_a_checkpoint_left_something_out_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "node_modules/\n");
    sandbox.write("node_modules/x", "1").write("a", "1");
    let before = sandbox.create("a directory");
    sandbox.remove("node_modules");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/elsewhere", sandbox.path("node_modules")).unwrap();
    #[cfg(not(unix))]
    sandbox.write("node_modules", "a file");
    sandbox.write("a", "2");
    let data = sandbox.restore_data(&[&before]);
    if cfg!(unix) {
        assert_eq!(data["left_alone"][0]["path"], "node_modules");
    }
    assert!(sandbox.path("node_modules").symlink_metadata().is_ok());
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn a_file_that_goes_from_the_place_of_a_left_out_directory_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "node_modules/\n");
    sandbox.write("node_modules/x", "1").write("a", "1");
    let before = sandbox.create("a directory");
    sandbox.remove("node_modules");
    sandbox.write("node_modules", "a file").write("other", "2");
    let named = "warning: node_modules is a file now; a directory of that name is left out, \
                 so this brings none back\n";
    let planned = sandbox.run(&["restore", &before, "--dry-run"]).success();
    planned
        .stdout_has("deleted  node_modules\n")
        .stderr_has(named);
    let restored = sandbox.restore(&before).success();
    restored.stderr_has(named);
    let undone = sandbox.run(&["undo", "--yes"]).success();
    assert!(!undone.stderr.contains("warning"), "{undone}");
}

#[test]
fn a_file_that_may_have_been_left_out_as_a_secret_is_named_before_it_goes() {
    let sandbox = Sandbox::new();
    let key = format!("-----BEGIN OPENSSH {}-----\nx\n", "PRIVATE KEY");
    sandbox.write("k.pem", key).write("a", "1");
    let before = sandbox.create("a key");
    sandbox.write("k.pem", "see the vault").write("a", "2");
    let named = "warning: k.pem is not in that checkpoint, which may have left it out as a secret";
    let planned = sandbox.run(&["restore", &before, "--dry-run"]).success();
    planned.stdout_has("deleted  k.pem\n").stderr_has(named);
    sandbox.restore(&before).success().stderr_has(named);
    let undone = sandbox.run(&["undo", "--yes"]).success();
    assert!(!undone.stderr.contains("warning"), "{undone}");
    assert_eq!(sandbox.read("k.pem"), "see the vault");
}

#[cfg(unix)]
#[test]
fn an_ignore_file_that_is_a_link_is_named_once() {
    let sandbox = Sandbox::new();
    sandbox.write("dotfiles", "*.log\n").write("x.log", "1");
    std::os::unix::fs::symlink("dotfiles", sandbox.path(".gitignore")).unwrap();
    let run = sandbox.run(&["create", "-r", "one"]).success();
    run.stderr_has(".gitignore is a link, so its rules do not count");
    let run = sandbox.run(&["create", "-r", "two"]).success();
    assert!(!run.stderr.contains("is a link"), "{run}");
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
    git.run(&["init", "-q", "."]).success();
    let root = package(&sandbox);
    git.run(&["add", "-f", "packages/web/dist/tracked.js"])
        .success();
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
fn a_root_that_the_repository_around_it_ignores_is_none_of_it() {
    let sandbox = Sandbox::bare();
    repository(&sandbox, ".git");
    sandbox
        .write(".gitignore", "*\n")
        .write("project/file", "1");
    let root = sandbox.path("project");
    let place = root.display().to_string();
    sandbox
        .run(&["-C", &place, "create", "-r", "one"])
        .success();
    assert!(held_in(&sandbox, &root, "one").contains("file"));
}

#[test]
fn a_package_leaves_out_what_git_ignores_in_it() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    git.run(&["init", "-q", "."]).success();
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

#[test]
fn the_repositorys_data_under_another_name_are_left_out_of_capture_and_restore() {
    let sandbox = Sandbox::new();
    sandbox
        .write("p/a", "1")
        .write("p/.bare/HEAD", "ref: refs/heads/main\n");
    sandbox
        .write("p/.bare/objects/x", "1")
        .write("p/.bare/refs/heads/main", "one");
    let root = sandbox.path("p");
    let run = |words: &[&str]| sandbox.run_in(&root, words).success();
    // Made before the link was there, a checkpoint holds them.
    run(&["create", "--here", "with them"]);
    sandbox
        .write("p/.git", "gitdir: ./.bare\n")
        .write("p/a", "2");
    run(&["create", "with a link"]);
    assert!(!run(&["ls", "-R", "latest"]).stdout.contains(".bare"));
    sandbox.write("p/.bare/refs/heads/main", "two");
    for selector in ["with a link", "with them"] {
        run(&["restore", selector, "--yes"]);
        assert_eq!(sandbox.read("p/.bare/refs/heads/main"), "two", "{selector}");
    }
}

#[test]
fn the_data_of_a_repository_under_any_name_is_left_out_of_capture_and_restore_and_named() {
    let sandbox = Sandbox::bare();
    for (name, bytes) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("objects/info/packs", ""),
        ("refs/heads/main", "1"),
        ("worktrees/main/HEAD", "ref: refs/heads/main\n"),
    ] {
        sandbox.write(format!(".bare/{name}"), bytes);
    }
    sandbox
        .write("main/.git", "gitdir: ../.bare/worktrees/main\n")
        .write("main/f", "1");
    let run = sandbox.run(&["create", "-r", "base"]).success();
    run.stderr_has(".bare (a repository's own data)");
    assert_eq!(held(&sandbox, "base"), "main/\nmain/f\n");
    sandbox
        .write(".bare/refs/heads/main", "2")
        .write("main/f", "2");
    sandbox.run(&["restore", "base", "--yes"]).success();
    assert_eq!(sandbox.read(".bare/refs/heads/main"), "2");
    assert_eq!(sandbox.read("main/f"), "1");
    // Named, it is taken all the same, and what only looks like one is.
    sandbox
        .write("data/HEAD", "of the page")
        .write("data/objects/a", "1")
        .write("data/refs/b", "1");
    sandbox.create("more");
    assert!(held(&sandbox, "more").contains("data/objects/a\n"));
}
