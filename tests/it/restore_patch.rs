//! `restore --patch`: single changes inside files, through the plan, safety checkpoint and journal of
//! every restore.

use crate::bench::sample::Draw;
use crate::bench::{Sandbox, cases};

fn numbered(odd: &[usize], word: &str) -> String {
    let line = |number: usize| {
        if odd.contains(&number) {
            format!("{word} {number}\n")
        } else {
            format!("line {number}\n")
        }
    };
    (0..60).map(line).collect()
}

/// A directory in which lines of two files differ from its checkpoint, with the patch back.
fn project(odd: &[usize]) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a b.txt", numbered(odd, "old"))
        .write("src/é.rs", numbered(odd, "old"))
        .write("other", "other\n");
    sandbox.create("first");
    sandbox
        .write("a b.txt", numbered(odd, "new"))
        .write("src/é.rs", numbered(odd, "new"))
        .write("other", "edited\n");
    sandbox.create("second");
    let patch = sandbox.cmd("diff second first -- 'a b.txt' src/é.rs");
    (sandbox, patch.success().stdout)
}

/// The head of the patch of a file, and its hunks.
fn parts(patch: &str) -> Vec<(String, Vec<String>)> {
    let files = patch.split("diff --git ").skip(1);
    let cut = |file: &str| {
        let mut parts = file.split("\n@@ ");
        let head = format!("diff --git {}\n", parts.next().expect("a head"));
        let hunks = parts.map(|hunk| format!("@@ {}\n", hunk.trim_end_matches('\n')));
        (head, hunks.collect())
    };
    files.map(cut).collect()
}

#[test]
fn chosen_hunks_come_back_and_undo_and_redo_know_them() {
    let odd = [3, 20, 40, 55];
    let (sandbox, patch) = project(&odd);
    let files = parts(&patch);
    assert_eq!(
        files
            .iter()
            .map(|(_, hunks)| hunks.len())
            .collect::<Vec<_>>(),
        [4, 4]
    );
    let file = sandbox.top().join("chosen.patch");
    let named = file.to_str().expect("text");
    let mut draw = Draw::new();
    for _ in 0..cases(6) {
        let before = sandbox.tree();
        let mut text = String::new();
        let mut left = Vec::new();
        for (head, hunks) in &files {
            let chosen: Vec<bool> = hunks.iter().map(|_| draw.below(2) == 0).collect();
            let parts = hunks.iter().zip(&chosen).filter(|(_, is_in)| **is_in);
            let parts: String = parts.map(|(hunk, _)| hunk.as_str()).collect();
            if !parts.is_empty() {
                text.push_str(&format!("{head}{parts}"));
            }
            let rest = odd.iter().zip(chosen).filter(|(_, is_in)| !is_in);
            left.push(rest.map(|(number, _)| *number).collect::<Vec<_>>());
        }
        if text.is_empty() {
            continue;
        }
        std::fs::write(&file, &text).expect("it is written");
        let stored = sandbox.listed_ids();
        let shown = sandbox
            .run(&["restore", "--patch", named, "--dry-run", "--json"])
            .data();
        assert_eq!(
            (sandbox.tree(), sandbox.listed_ids()),
            (before.clone(), stored)
        );
        assert_eq!(shown["since"], serde_json::json!([]), "there is no step");
        let digest = shown["plan_digest"].as_str().expect("a plan");
        sandbox
            .run(&["restore", "--patch", named, "--plan", digest, "--yes"])
            .success();
        for (name, left) in ["a b.txt", "src/é.rs"].into_iter().zip(left) {
            let both = numbered(&odd, "old");
            let expected: String = both
                .lines()
                .zip(numbered(&left, "new").lines())
                .enumerate()
                .map(|(at, (old, new))| {
                    if left.contains(&at) { new } else { old }.to_owned() + "\n"
                })
                .collect();
            assert_eq!(sandbox.read(name), expected, "{text}");
        }
        assert_eq!(sandbox.read("other"), "edited\n");
        let after = sandbox.tree();
        sandbox.undo().success();
        assert_eq!(sandbox.tree(), before);
        sandbox.redo().success();
        assert_eq!(sandbox.tree(), after);
        sandbox.undo().success();
    }
    sandbox.ok("verify");
}
