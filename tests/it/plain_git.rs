//! Plain git on the store: an ordinary bare repository whose trees are as git would make them.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::bench::{Git, Sandbox, damaged, fixtures, strace};

fn with_git() -> Option<(Sandbox, Git)> {
    let sandbox = Sandbox::bare();
    let git = Git::find(sandbox.home())?.with("GIT_DIR", sandbox.store());
    Some((sandbox, git))
}

fn fill(sandbox: &Sandbox) {
    sandbox
        .write("a", "1")
        .write("d/b", "2\r\n")
        .write("d.c", "between")
        .write("d0", "after")
        .symlink("link", "d/b");
    sandbox
        .write("run", "x")
        .chmod("run", 0o755)
        .mkdir("empty")
        .write("sub/deep/x", "")
        .write("nested/file", "n");
    sandbox
        .write(".gitattributes", "* text eol=crlf ident\n")
        .write("ünï", "u")
        .decoy_repository("nested");
}

#[test]
fn fsck_is_clean_after_every_command() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    let fsck = || {
        let run = git.ok("fsck --full --strict");
        let noise = |line: &&str| {
            !line.starts_with("dangling") && !line.starts_with("notice") && !line.is_empty()
        };
        let lines: Vec<&str> = run
            .stderr
            .lines()
            .chain(run.stdout.lines())
            .filter(noise)
            .collect();
        assert!(lines.is_empty(), "{lines:?}");
    };
    fill(&sandbox);
    sandbox
        .symlink(".gitmodules", "elsewhere")
        .symlink("d/.gitattributes", "x");
    let id = sandbox.create("one");
    fsck();
    sandbox.write("a", "2").remove("d");
    sandbox.restore(&id).success();
    fsck();
    sandbox.undo().success();
    fsck();
    sandbox.ok("prune --keep 1 --yes");
    fsck();
}

#[test]
fn the_repository_is_bare_and_head_is_the_newest() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    sandbox.create("one");
    sandbox.write("a", "2");
    let two = sandbox.create_data(&["-r", "two"])["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(git.output(&["rev-parse", "--is-bare-repository"]), "true");
    assert_eq!(git.output(&["rev-parse", "HEAD"]), two);
    assert_eq!(git.output(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(
        git.output(&["rev-parse", &format!("refs/checkpoints/{two}")]),
        two
    );
    assert_eq!(
        git.output(&["log", "--all", "--format=%P"]).trim(),
        "",
        "every checkpoint is parentless"
    );
}

#[test]
fn log_shows_reason_time_and_source() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    sandbox.ok("create -r pre-wave-3 -s build");
    assert_eq!(
        git.output(&["log", "--format=%s", "main"]),
        "pre-wave-3 | 2026-03-24 12:00:00 | build"
    );
    sandbox
        .write("a", "2")
        .run(&["create", "-r", "a | b\nMeta: none", "-s", "x"])
        .success();
    let subject = git.output(&["log", "-1", "--format=%s", "main"]);
    assert_eq!(subject.matches(" | ").count(), 2, "{subject}");
    let messages = git.output(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(
        messages
            .lines()
            .filter(|line| line.starts_with("Meta: "))
            .count(),
        1,
        "{messages}"
    );
}

#[test]
fn the_tree_is_the_one_that_git_makes() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    let id = sandbox.create("one");
    let expected = git.write_tree_of(sandbox.root(), &sandbox.top().join("scratch"));
    assert_eq!(sandbox.shown(&id)["tree_id"], expected.as_str());
    assert_eq!(git.output(&["rev-parse", "main^{tree}"]), expected);
    let listed = git.output(&["ls-tree", "-r", "--name-only", "-z", "main"]);
    assert!(
        listed.split('\0').any(|name| name == "nested/file") && !listed.contains(".git/"),
        "{listed}"
    );
}

#[test]
fn every_ref_belongs_to_a_checkpoint() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    let id = sandbox.create_data(&[])["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let refs = git.output(&["for-each-ref", "--format=%(refname)"]);
    let mut expected = vec![
        format!("refs/checkpoints/{id}"),
        "refs/heads/main".to_owned(),
        format!("refs/meta/{id}"),
    ];
    expected.retain(|name| !name.starts_with("refs/meta") || refs.contains("refs/meta"));
    assert_eq!(refs.lines().collect::<Vec<_>>(), expected);
    let reflogs = crate::bench::fixtures::files_below(&sandbox.store().join("logs"));
    assert!(reflogs.is_empty(), "no reflogs are kept: {reflogs:?}");
}

#[test]
fn the_commands_of_the_seed_work_on_the_store() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    let tree = sandbox.tree();
    let id = sandbox.create("one");
    let git = git.with("GIT_WORK_TREE", sandbox.root());
    assert!(
        git.output(&["rev-parse", "--git-dir"])
            .ends_with(&sandbox.store().display().to_string())
    );
    assert_eq!(git.output(&["cat-file", "-t", &id]), "commit");
    assert_eq!(git.output(&["log", "-1", "--format=%ct"]), "1774353600");
    std::fs::remove_file(sandbox.path(".gitattributes")).expect("attributes would change bytes");
    sandbox.write("a", "2").write("new", "n");
    git.ok(format!("checkout {id} -- ."));
    assert_eq!(
        (sandbox.read("a"), sandbox.read("new")),
        ("1".into(), "n".into())
    );
    sandbox.ok(format!("restore {id} --yes"));
    sandbox.tree().assert_is(&tree, "after our own restore");
    git.ok("gc --prune=now");
    assert!(
        sandbox.listed_ids().contains(&id),
        "git's own gc loses nothing"
    );
    sandbox.write("a", "3").restore(&id).success();
    sandbox.tree().assert_is(&tree, "after git gc");
}

#[test]
fn a_commit_that_git_puts_on_main_is_not_dropped() {
    let Some((sandbox, git)) = with_git() else {
        return;
    };
    fill(&sandbox);
    sandbox.create("one");
    let git = git.with("GIT_WORK_TREE", sandbox.root());
    sandbox.write("a", "by git");
    git.cmd("add -A");
    git.ok("commit -q -m 'pre-wave-1 | 2026-03-24 12:00:00 | build'");
    let commit = git.output(&["rev-parse", "HEAD"]);
    sandbox.write("a", "later");
    sandbox.create("two");
    sandbox.ok("prune");
    assert_eq!(git.output(&["cat-file", "-t", &commit]), "commit");
}

#[test]
fn a_pack_that_is_taken_away_before_its_ref_is_there_costs_that_create_alone() {
    if !strace::available() {
        return;
    }
    // The second moment is between the last look at the packs and the ref.
    for sign in ["objects/pack", "refs/meta"] {
        let sandbox = Sandbox::bare();
        fill(&sandbox);
        let (one, tree) = (sandbox.create("one"), sandbox.tree());
        sandbox.write("a", "2");
        let taker = taker_of_packs(sandbox.store(), sign);
        let run = strace::slowed(
            &sandbox,
            "rename,renameat,renameat2",
            400_000,
            &["create", "--reason", "two"],
        );
        taker
            .join()
            .expect("the other thread ends")
            .expect("the pack can be taken away");
        assert!(
            matches!(run.code, 1 | 6) && run.stdout.is_empty(),
            "{sign}\n{run}"
        );
        assert_eq!(sandbox.listed_ids(), std::slice::from_ref(&one), "{sign}");
        for path in fixtures::files_below(&sandbox.store().join("refs")) {
            let name = path.file_name().expect("a name").display().to_string();
            assert!(
                name == "main" || name.starts_with(&one),
                "{sign}: {} is left",
                path.display()
            );
        }
        sandbox.ok("verify --full");
        sandbox.write("a", "3").create("three");
        sandbox.restore(&one).success();
        sandbox.tree().assert_is(&tree, "after all");
    }
}

/// Removes a new pack shortly after a new entry appears in this folder of the store, as `git gc
/// --prune=now` does with a pack that no ref needs.
fn taker_of_packs(store: PathBuf, sign: &str) -> JoinHandle<std::io::Result<()>> {
    let (known, folder) = (damaged::packs_of(&store), store.join(sign));
    let count = move || {
        fixtures::files_below(&folder)
            .iter()
            .filter(|path| !is_temporary(path))
            .count()
    };
    // A pack and its index.
    let (before, more) = (count(), if sign == "objects/pack" { 2 } else { 1 });
    std::thread::spawn(move || {
        let begun = Instant::now();
        while count() < before + more {
            if begun.elapsed() > Duration::from_mins(1) {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(150));
        let new = damaged::packs_of(&store)
            .into_iter()
            .find(|pack| !known.contains(pack));
        let new = new.ok_or(std::io::ErrorKind::NotFound)?;
        std::fs::remove_file(new.with_extension("idx")).and_then(|()| std::fs::remove_file(&new))
    })
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().expect("a name").as_encoded_bytes();
    name.starts_with(b"tmp_") || name.starts_with(b".")
}
