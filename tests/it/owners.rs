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
    sandbox.write("sub/.git", "gitdir: ../bare.git/modules/sub\n");
    sandbox.write("bare.git/modules/sub/HEAD", "ref: refs/heads/main\n");
    sandbox.write("sub/file", "x").write("own/file", "x");
    repository(&sandbox, "own/.git");
    sandbox.create("all");
    let held = held(&sandbox, "all");
    for out in ["absolute/file", "moved/file", "relative/file"] {
        assert!(!held.contains(out), "{out}: {held}");
    }
    assert!(
        held.contains("sub/file") && held.contains("own/file"),
        "{held}"
    );
}

#[test]
fn a_cache_is_left_out_by_its_tag_unless_it_is_named_or_the_tag_is_none() {
    const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# by a tool\n";
    let sandbox = Sandbox::new();
    sandbox.write("c/CACHEDIR.TAG", TAG).write("c/big", "b");
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
    sandbox.restore(&before).success();
    assert!(sandbox.path("node_modules").symlink_metadata().is_ok());
    assert_eq!(sandbox.read("a"), "1");
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
