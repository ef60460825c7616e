//! Real repositories: a checkpoint at each of 20 commits, then restores in random order, each equal
//! to a plain copy.
//!
//! `CHECKPOINT_REPOS` names them, separated by colons; without it there is nothing to do.

use crate::bench::os::OsStrExt as _;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Git, Run, Sandbox, skipped, tree::Tree};
use crate::roundtrip::generator::Random;

const COMMITS: usize = 20;

struct Moment {
    id: String,
    copy: PathBuf,
    /// The paths that the checkpoint holds, as far as git can tell: those in its index, and those
    /// we added.
    held: BTreeSet<Vec<u8>>,
}

#[test]
fn real_histories_come_back_in_any_order() {
    let Some(repos) = std::env::var_os("CHECKPOINT_REPOS") else {
        return skipped("set CHECKPOINT_REPOS");
    };
    for (at, repo) in std::env::split_paths(&repos).enumerate() {
        walk_through(&repo, at % 2 == 1);
    }
}

fn walk_through(repo: &Path, with_untracked: bool) {
    let sandbox = Sandbox::bare();
    sandbox.real_clock();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let source = repo.display().to_string();
    git.run(&["clone", "-q", "--shared", "--no-checkout", &source, "."])
        .success();
    git.run(&["config", "core.autocrlf", "false"]).success();
    std::fs::write(
        sandbox.path(".git/info/attributes"),
        "* -text -filter -ident -working-tree-encoding\n",
    )
    .expect("attributes can be switched off");
    let moments: Vec<Moment> = commits(&git)
        .iter()
        .enumerate()
        .map(|(at, commit)| record(&sandbox, &git, commit, at, with_untracked))
        .collect();
    sandbox.watch(&sandbox.path(".git"));
    restore_in_random_order(&sandbox, &moments);
    fsck(&sandbox);
    println!(
        "{source}: {} commits, {} bytes of store",
        moments.len(),
        sandbox.store_bytes()
    );
}

/// Commits spread evenly over the first-parent history, oldest first.
fn commits(git: &Git) -> Vec<String> {
    let all = git.output(&["rev-list", "--first-parent", "--reverse", "--all"]);
    let all: Vec<&str> = all.lines().collect();
    let last = all.len() - 1;
    let chosen: BTreeSet<usize> = (0..COMMITS).map(|at| at * last / (COMMITS - 1)).collect();
    chosen.into_iter().map(|at| all[at].to_owned()).collect()
}

fn record(sandbox: &Sandbox, git: &Git, commit: &str, at: usize, with_untracked: bool) -> Moment {
    git.run(&["checkout", "-q", "-f", "--detach", commit])
        .success();
    git.run(&["clean", "-q", "-ffdx"]).success();
    sandbox.mkdir("an-empty-directory/deep");
    let mut held: BTreeSet<Vec<u8>> = git
        .filter(&["ls-files", "-z"], b"")
        .split(|byte| *byte == 0)
        .filter(|p| !p.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    if with_untracked {
        sandbox.write("an-untracked-file.txt", commit);
        held.insert(b"an-untracked-file.txt".to_vec());
    }
    let watch = crate::bench::watch::Watch::over(&sandbox.path(".git/refs"));
    let run = sandbox
        .run(&["create", "--json", "--max-files", "0", "--reason", commit])
        .success();
    watch.assert_untouched();
    let data = run.data();
    for secret in data["left_out"]["secrets"].as_array().into_iter().flatten() {
        held.remove(secret.as_str().unwrap_or_default().as_bytes());
    }
    let id = data["id"].as_str().expect("an id").to_owned();
    let expected = git.write_tree_of_some(sandbox.root(), &sandbox.top().join("scratch"), |path| {
        held.contains(path)
    });
    assert_eq!(
        sandbox.shown(&id)["tree_id"],
        expected.as_str(),
        "{commit}: git makes another tree of the same files"
    );
    let copy = sandbox.top().join(format!("copy-{at}"));
    plain_copy(sandbox.root(), &copy);
    Moment { id, copy, held }
}

/// `cp -a` of everything but the repository itself.
fn plain_copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("the root can be listed") {
        let path = entry.expect("an entry").path();
        if path.file_name() != Some(OsStr::new(".git")) {
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(&path).arg(to);
            Run::of(copy).success();
        }
    }
}

fn restore_in_random_order(sandbox: &Sandbox, moments: &[Moment]) {
    let mut random = Random::from_environment();
    for step in 0..moments.len() {
        let moment = random.pick(moments);
        let standing = sandbox.tree();
        sandbox.restore(&moment.id).success();
        let copied = Tree::capture(&moment.copy);
        let now = sandbox.tree();
        for path in &moment.held {
            assert_eq!(
                now.nodes.get(path),
                copied.nodes.get(path),
                "step {step}: {}",
                path.escape_ascii()
            );
        }
        let extra = now
            .nodes
            .iter()
            .filter(|(path, node)| !copied.nodes.contains_key(*path) && !node.is_dir());
        for (path, _) in extra {
            assert!(
                standing.nodes.contains_key(path),
                "step {step}: {} came from nowhere",
                path.escape_ascii()
            );
        }
        for (path, node) in copied.nodes.iter().filter(|(_, node)| node.is_dir()) {
            assert_eq!(
                now.nodes.get(path),
                Some(node),
                "step {step}: {}",
                OsStr::from_bytes(path).display()
            );
        }
    }
}

fn fsck(sandbox: &Sandbox) {
    if let Some(git) = Git::find(sandbox.home()) {
        git.with("GIT_DIR", sandbox.store())
            .run(&["fsck", "--full", "--strict"])
            .success();
    }
}
