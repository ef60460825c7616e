//! Real repositories: at commits of their history, a checkpoint has the tree that git makes of the
//! same files; the patch between two is that of `git diff --no-index`, and leads from one to the
//! other; and restores in random order are equal to plain copies.
//!
//! `CHECKPOINT_REPOS` names them, separated by colons; without it, it is the one of this project.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::bench::sample::is_full;
use crate::bench::tree::Tree;
use crate::bench::{Git, Sandbox, given, skipped};
use crate::diff_oracle::{Twins, assert_same_patch, raw};
use crate::roundtrip::generator::Random;

/// A checkpoint of a commit.
struct Moment {
    id: String,
    /// A copy of what was there.
    copy: PathBuf,
    /// The paths that it holds, as far as git can tell: those in its index, and one that was added.
    held: BTreeSet<Vec<u8>>,
}

#[test]
fn real_histories_come_back_and_their_patches_are_those_of_git() {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).into();
    let repos = std::env::var_os("CHECKPOINT_REPOS").unwrap_or_else(own);
    for repo in std::env::split_paths(&repos) {
        let sandbox = Sandbox::bare();
        sandbox.real_clock();
        let git = given!(Git::find(sandbox.root()));
        let source = repo.display().to_string();
        let clone = ["clone", "-q", "--shared", "--no-checkout", &source, "."];
        if git.run(&clone).code != 0 {
            return skipped("this is no repository");
        }
        let commits = commits(&git);
        if commits.len() < 2 {
            return skipped("a shallow clone has no history");
        }
        git.ok("config core.autocrlf false");
        let attributes = sandbox.path(".git/info/attributes");
        std::fs::write(
            attributes,
            "* -text -filter -ident -working-tree-encoding\n",
        )
        .expect("attributes can be switched off");
        let twins = Twins::new(sandbox.top().join("twins"));
        let mut moments: Vec<Moment> = Vec::new();
        for commit in &commits {
            let moment = record(&sandbox, &git, commit, &twins, moments.len());
            if let Some(before) = moments.last() {
                compare(&sandbox, &twins, before, &moment);
            }
            moments.push(moment);
        }
        sandbox.watch(&sandbox.path(".git"));
        restore_in_random_order(&sandbox, &moments);
        let fsck = Git::find(sandbox.home()).expect("git was there");
        fsck.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
}

/// Commits spread evenly over the first-parent history, oldest first.
fn commits(git: &Git) -> Vec<String> {
    let number = if is_full() { 8 } else { 2 };
    let all = git.output(&["rev-list", "--first-parent", "--reverse", "--all"]);
    let all: Vec<&str> = all.lines().collect();
    let chosen: BTreeSet<usize> = (1..=number).map(|at| at * all.len() / number).collect();
    let chosen = chosen
        .into_iter()
        .filter_map(|at| all.get(at.checked_sub(1)?));
    chosen.map(|commit| (*commit).to_owned()).collect()
}

/// Checks out a commit and records it, every second one with a file that git does not track.
fn record(sandbox: &Sandbox, git: &Git, commit: &str, twins: &Twins, at: usize) -> Moment {
    git.run(&["checkout", "-q", "-f", "--detach", commit])
        .success();
    git.ok("clean -q -ffdx");
    sandbox.mkdir("an-empty-directory/deep");
    let listed = git.filter(&["ls-files", "-z"], b"");
    let listed = listed.split(|byte| *byte == 0).filter(|p| !p.is_empty());
    let mut held: BTreeSet<Vec<u8>> = listed.map(<[u8]>::to_vec).collect();
    if at % 2 == 1 {
        sandbox.write("an-untracked-file.txt", commit);
        held.insert(b"an-untracked-file.txt".to_vec());
    }
    let watch = crate::bench::watch::Watch::over(&sandbox.path(".git/refs"));
    let data = sandbox.json(format!("create --max-files 0 --reason {commit}"));
    watch.assert_untouched();
    // Secrets, and the stores among the files of a project's tests.
    let left_out = ["secrets", "directories"].map(|kind| data["left_out"][kind].as_array());
    let left_out: Vec<String> = left_out
        .into_iter()
        .flatten()
        .flatten()
        .map(|one| one["path"].as_str().expect("a path").to_owned())
        .collect();
    let is_out = |path: &[u8]| {
        let mut outs = left_out.iter().map(String::as_bytes);
        outs.any(|out| {
            path.strip_prefix(out)
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    };
    held.retain(|path| !is_out(path));
    let id = data["id"].as_str().expect("an id").to_owned();
    let scratch = sandbox.top().join("scratch");
    let expected = git.write_tree_of_some(sandbox.root(), &scratch, |path| held.contains(path));
    assert_eq!(sandbox.shown(&id)["tree_id"], expected.as_str(), "{commit}");
    let name = format!("copy-{at}");
    twins.copy(&name, sandbox.root(), &left_out);
    let copy = twins.dir(&name);
    Moment { id, copy, held }
}

fn compare(sandbox: &Sandbox, twins: &Twins, before: &Moment, after: &Moment) {
    // Outside the clone, so that git finds neither repository nor attributes.
    let judge = Git::find(sandbox.home()).expect("git was there");
    for (one, two) in [(before, after), (after, before)] {
        twins.copy("a", &one.copy, &[]);
        twins.copy("b", &two.copy, &[]);
        let when = format!("{} and {}", one.id, two.id);
        let patch = raw(sandbox, &["diff", &one.id, &two.id], 0);
        assert_same_patch(&patch, &twins.judged(&judge, &[]), &when);
        let whole = raw(sandbox, &["diff", &one.id, &two.id, "--binary"], 0);
        twins.assert_leads_from_a_to_b(&judge, &whole, &when);
    }
    let present = raw(sandbox, &["diff", &before.id], 0);
    let expected = raw(sandbox, &["diff", &before.id, &after.id], 0);
    assert!(present == expected, "the directory is at {}", after.id);
}

fn restore_in_random_order(sandbox: &Sandbox, moments: &[Moment]) {
    let mut random = Random::from_environment();
    for step in 0..moments.len() {
        let moment = random.pick(moments);
        let before = sandbox.tree();
        sandbox.restore(&moment.id).success();
        let copied = Tree::capture(&moment.copy);
        let now = sandbox.tree();
        let dirs = copied.nodes.iter().filter(|(_, node)| node.is_dir());
        for path in moment.held.iter().chain(dirs.map(|(path, _)| path)) {
            let [is, was] = [&now, &copied].map(|tree| tree.nodes.get(path));
            assert_eq!(is, was, "step {step}: {}", path.escape_ascii());
        }
        let mut files = now.nodes.iter().filter(|(_, node)| !node.is_dir());
        let is_new =
            |path: &Vec<u8>| !copied.nodes.contains_key(path) && !before.nodes.contains_key(path);
        let new = files.find(|(path, _)| is_new(path));
        assert!(new.is_none(), "step {step}: {new:?} came from nowhere");
    }
}
