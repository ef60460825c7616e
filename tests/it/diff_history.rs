//! Real repositories: the patch between two commits is that of `git diff --no-index`, and leads
//! from one to the other.
//!
//! `CHECKPOINT_REPOS` names them, separated by colons; without it there is nothing to do.

use std::collections::BTreeSet;
use std::path::Path;

use crate::bench::{Git, Sandbox, skipped};
use crate::diff_oracle::{Twins, assert_same_patch, raw};

/// Number of places in the history; at each, a commit and one a few commits later are compared.
const PLACES: usize = 11;
const STEP: usize = 5;

#[test]
fn patches_between_real_commits_are_those_of_git() {
    let Some(repos) = std::env::var_os("CHECKPOINT_REPOS") else {
        return skipped("set CHECKPOINT_REPOS");
    };
    for repo in std::env::split_paths(&repos) {
        walk_through(&repo);
    }
}

fn walk_through(repo: &Path) {
    let sandbox = Sandbox::bare();
    sandbox.real_clock();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let source = repo.display().to_string();
    git.run(&["clone", "-q", "--shared", "--no-checkout", &source, "."])
        .success();
    std::fs::write(
        sandbox.path(".git/info/attributes"),
        "* -text -filter -ident -working-tree-encoding\n",
    )
    .expect("attributes can be switched off");
    // Outside that clone, so that git finds neither repository nor attributes.
    let judge = Git::find(sandbox.home()).expect("git was there");
    let twins = Twins::new(sandbox.top().join("twins"));
    let commits = commits(&git);
    let (mut before, mut pairs, mut bytes): (Option<String>, usize, usize) = (None, 0, 0);
    for (at, commit) in commits.iter().enumerate() {
        let (from, to) = if at % 2 == 1 { ("a", "b") } else { ("b", "a") };
        let id = record(&sandbox, &git, commit, &twins, to);
        if let Some(before) = &before {
            let (one, two) = if to == "b" {
                (before, &id)
            } else {
                (&id, before)
            };
            let when = format!("{source}: {one} ({from} or {to}) and {two} at {commit}");
            let patch = raw(&sandbox, &["diff", one, two], 0);
            assert_same_patch(&patch, &twins.judged(&judge, &[]), &when);
            let whole = raw(&sandbox, &["diff", one, two, "--binary"], 0);
            twins.assert_leads_from_a_to_b(&judge, &whole, &when);
            // The directory stands at the newer of the two.
            let present = raw(&sandbox, &["diff", before], 0);
            let expected = raw(&sandbox, &["diff", before, &id], 0);
            assert!(
                present == expected,
                "{when}: the directory differs in another way"
            );
            (pairs, bytes) = (pairs + 1, bytes + patch.len());
        }
        before = Some(id);
    }
    assert!(pairs >= 20, "{source}: only {pairs} pairs");
    println!("{source}: {pairs} pairs, {bytes} bytes of patches");
}

/// Commits spread evenly over the first-parent history, each with a later one; oldest first.
fn commits(git: &Git) -> Vec<String> {
    let all = git.output(&["rev-list", "--first-parent", "--reverse", "--all"]);
    let all: Vec<&str> = all.lines().collect();
    let last = all.len() - 1 - STEP;
    let chosen: BTreeSet<usize> = (0..PLACES)
        .map(|at| at * last / (PLACES - 1))
        .flat_map(|at| [at, at + STEP])
        .collect();
    chosen.into_iter().map(|at| all[at].to_owned()).collect()
}

/// Checks out a commit, makes a checkpoint, and copies what it holds.
fn record(sandbox: &Sandbox, git: &Git, commit: &str, twins: &Twins, name: &str) -> String {
    git.run(&["checkout", "-q", "-f", "--detach", commit])
        .success();
    git.run(&["clean", "-q", "-ffdx"]).success();
    let data = sandbox
        .run(&["create", "--json", "--max-files", "0", "--reason", commit])
        .success()
        .data();
    let secrets = data["left_out"]["secrets"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let secrets: Vec<String> = secrets
        .iter()
        .filter_map(|item| Some(item["path"].as_str()?.to_owned()))
        .collect();
    twins.copy(name, sandbox.root(), &secrets);
    data["id"].as_str().expect("an id").to_owned()
}
