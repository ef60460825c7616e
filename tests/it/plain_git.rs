//! Plain git beside a create, and trees as git would make them; `stories/plain_git.md` has the rest.

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
