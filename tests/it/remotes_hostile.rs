//! Remotes that lie: refused whole with a clear error, nothing written outside, no command run.

use std::fs;

use crate::bench::remote::{Remote, text};
use crate::bench::sample::Draw;
use crate::bench::{Sandbox, cases, fixtures, os, strace};

/// A sandbox that knows a remote, and the commit that a friend pushed there.
struct Stage {
    sandbox: Sandbox,
    remote: Remote,
    /// The checkpoint that is there, and the ref of its line.
    checkpoint: String,
    line: String,
}

impl Stage {
    fn new() -> Option<Self> {
        let (friend, sandbox) = (Sandbox::new(), Sandbox::new());
        let remote = Remote::bare_directory(&sandbox)?;
        friend
            .write("a", "one")
            .write("d/b", fixtures::noise(3, 30_000));
        friend.create("one");
        remote.add_to(&friend);
        friend.ok("push");
        remote.add_to(&sandbox);
        sandbox.write("a", "mine");
        sandbox.create("mine");
        let checkpoint = friend.shown("latest")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let line = remote
            .refs()
            .split_whitespace()
            .nth(1)
            .expect("a ref")
            .to_owned();
        Some(Self {
            sandbox,
            remote,
            checkpoint,
            line,
        })
    }

    fn put(&self, kind: &str, content: &[u8]) -> String {
        self.remote.git().put(kind, content)
    }

    /// A tree of one entry.
    fn tree(&self, mode: &str, name: &[u8], id: &str) -> String {
        self.put("tree", &entry(mode, name, id))
    }

    /// A commit with these parents.
    fn commit(&self, tree: &str, parents: &[&str], message: &str) -> String {
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let who = "checkpoint <checkpoint@localhost> 1700000000 +0000";
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}");
        self.put("commit", text.as_bytes())
    }

    /// Makes a carrier the newest of the line.
    fn carrier(&self, refs: &[u8], parents: &[&str]) -> String {
        let tree = self.tree("100644", b"refs", &self.put("blob", refs));
        let id = self.commit(&tree, parents, "x\n\nCarrier-Format: 1\n");
        self.set(&self.line, &id);
        id
    }

    fn set(&self, name: &str, id: &str) {
        let path = self.remote.place().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, format!("{id}\n")).expect("it is written");
    }

    /// A checkpoint whose tree is this one; as a line.
    fn checkpoint_of(&self, tree: &str) {
        let git = self.remote.git();
        let message = git.output(&["log", "-1", "--format=%B", &self.checkpoint]);
        let id = self.commit(tree, &[], &message);
        let refs = format!("{id} refs/checkpoints/{id}\n");
        self.carrier(refs.as_bytes(), &[&id]);
    }

    #[track_caller]
    fn is_refused(&self, what: &str) {
        let before = self.sandbox.listed_ids();
        let run = self.sandbox.cmd("fetch");
        assert!(matches!(run.code, 1 | 6), "{what}: {run}");
        assert!(run.stderr.contains("origin"), "{what}: {run}");
        assert_eq!(self.sandbox.listed_ids(), before, "{what}");
        let there = self.sandbox.json("list --remote origin");
        assert_eq!(
            there["checkpoints"].as_array().map(Vec::len),
            Some(0),
            "{what}"
        );
        let packs = self.sandbox.store().join("objects/pack");
        let packs = fs::read_dir(packs).expect("a folder").count();
        assert!(packs <= 2, "{what}: {packs} files are left");
    }
}

fn entry(mode: &str, name: &[u8], id: &str) -> Vec<u8> {
    let id: Vec<u8> = (0..20)
        .map(|at| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).expect("hex"))
        .collect();
    [mode.as_bytes(), b" ", name, b"\0", &id].concat()
}

#[test]
fn carriers_that_say_what_none_says_are_refused() {
    let Some(stage) = Stage::new() else { return };
    let id = stage.checkpoint.clone();
    let good = format!("{id} refs/checkpoints/{id}\n");
    for refs in [
        format!("{id} refs/heads/main\n"),
        format!("{id} HEAD\n"),
        format!("{id} refs/checkpoints/../../x\n"),
        format!("{id} --upload-pack=touch x\n"),
        format!("{id} refs/remotes/origin/x\n"),
        format!("{id} refs/workflows/../x\n"),
        format!("{good}0123 refs/pins/{id}\n"),
        format!("{good}{id}\n"),
        "x".to_owned(),
        format!("{good}{id} refs/meta/{id}\n"),
        format!("{good}{id} refs/workflows/demo\n"),
        format!("{0} refs/checkpoints/{0}\n", "1".repeat(40)),
        format!("{0} refs/pins/{0}\n", "1".repeat(40)),
    ] {
        stage.carrier(refs.as_bytes(), &[&id]);
        stage.is_refused(&refs);
    }
    stage.carrier(&[0xff, b'\n'], &[&id]);
    stage.is_refused("no text");
    let said = stage.sandbox.fails(6, "fetch").stderr;
    assert!(said.contains(&stage.line), "the line is named: {said}");
    let other = stage.commit(&stage.put("tree", b""), &[], "plain\n");
    stage.carrier(good.as_bytes(), &[&id, &other]);
    stage.is_refused("a parent that is no checkpoint");
    stage.set(&stage.line, &other);
    stage.is_refused("no carrier");
    stage.set(&stage.line, &stage.put("blob", b"x"));
    stage.is_refused("a blob");
    let tree = stage.tree("100644", b"refs", &stage.put("blob", good.as_bytes()));
    stage.set(
        &stage.line,
        &stage.commit(&tree, &[&id], "x\n\nCarrier-Format: 2\n"),
    );
    stage.is_refused("a newer format");
    stage.set(
        &stage.line,
        &stage.commit(&stage.put("tree", b""), &[&id], "x\n\nCarrier-Format: 1\n"),
    );
    stage.is_refused("no file of refs");
    stage.carrier(good.as_bytes(), &[&id]);
    stage.sandbox.ok("fetch");
}

#[test]
fn trees_with_names_that_lead_elsewhere_are_refused() {
    let Some(stage) = Stage::new() else { return };
    let blob = stage.put("blob", b"x");
    for name in [
        &b".git"[..],
        b".GIT",
        b"..",
        b".",
        b"",
        b"a/b",
        b"/abs",
        b".git/config",
    ] {
        stage.checkpoint_of(&stage.tree("100644", name, &blob));
        stage.is_refused(&String::from_utf8_lossy(name));
    }
    let twice = [entry("100644", b"a", &blob), entry("100644", b"a", &blob)].concat();
    stage.checkpoint_of(&stage.put("tree", &twice));
    stage.is_refused("a name twice");
    let unsorted = [entry("100644", b"b", &blob), entry("100644", b"a", &blob)].concat();
    stage.checkpoint_of(&stage.put("tree", &unsorted));
    stage.is_refused("not sorted");
    stage.checkpoint_of(&stage.tree("40000", b"d", &blob));
    stage.is_refused("a blob as a directory");
    let mut bomb = stage.tree("100644", b"a", &blob);
    for _ in 0..12 {
        let entries: Vec<u8> = (0..10_u8)
            .flat_map(|nth| entry("40000", &[b'a' + nth], &bomb))
            .collect();
        bomb = stage.put("tree", &entries);
    }
    stage.checkpoint_of(&bomb);
    stage.is_refused("more files than any disk holds");
    let said = stage.sandbox.fails(6, "fetch").stderr;
    assert!(said.contains(&stage.line), "the line is named: {said}");
    for target in ["", "a\0b", &"x".repeat(5000)] {
        let link = stage.tree("120000", b"l", &stage.put("blob", target.as_bytes()));
        stage.checkpoint_of(&link);
        stage.is_refused("a link that no system can have");
    }
}

/// A fetch checks only what the newest tree that was checked before has not.
#[test]
fn what_lies_beside_a_tree_that_was_checked_is_bounded_and_checked_as_ever() {
    let Some(stage) = Stage::new() else { return };
    let blob = stage.put("blob", b"x");
    let many = |name: u8, below: &str| {
        let line = |nth: u8| entry("40000", &[name, b'0' + nth / 10, b'0' + nth % 10], below);
        stage.put("tree", &(0..80).flat_map(line).collect::<Vec<u8>>())
    };
    // 1,030,480 entries.
    let million = many(
        b'a',
        &many(b'b', &many(b'c', &stage.tree("100644", b"f", &blob))),
    );
    let root = |names: &[&[u8]]| {
        let lines = names.iter().map(|name| entry("40000", name, &million));
        stage.put("tree", &lines.collect::<Vec<_>>().concat())
    };
    stage.checkpoint_of(&root(&[b"a"]));
    stage.sandbox.ok("fetch");
    stage.checkpoint_of(&root(&[b"a", b"b"]));
    stage.sandbox.ok("fetch");
    let refused = |tree: &str, why: &str| {
        stage.checkpoint_of(tree);
        let run = stage.sandbox.fails(6, "fetch");
        assert!(run.stderr.contains(why), "{why}: {run}");
    };
    let large = "over 4000000 entries";
    refused(&root(&[b"a", b"b", b"c", b"d"]), large);
    refused(&many(b'a', &million), large);
    let one = entry("40000", b"a", &million);
    let above = entry("40000", b"..", &million);
    refused(&stage.put("tree", &[above, one.clone()].concat()), "..");
    let beside = entry("100644", b"b", &blob);
    stage.checkpoint_of(&stage.put("tree", &[one, beside].concat()));
    stage.sandbox.ok("fetch");
}

#[cfg(unix)]
#[test]
fn packs_that_git_lets_pass_are_read_and_hashed_again() {
    let Some(stage) = Stage::new() else { return };
    // A git that hands over packs changed in a few bytes.
    let bin = stage.sandbox.top().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    let packs = stage.sandbox.top().join("packs");
    fs::create_dir_all(&packs).expect("a folder");
    let git = stage.remote.git();
    let line = format!(
        "{}\n",
        stage
            .remote
            .refs()
            .split_whitespace()
            .next()
            .expect("an id")
    );
    let pack = git.filter(&["pack-objects", "--revs", "--stdout"], line.as_bytes());
    let script = format!(
        "#!/bin/sh\nPATH='{0}'\ncp '{1}'/* objects/pack\nmkdir -p \"$(dirname refs/fetched/{3})\"\n\
         echo {2} >refs/fetched/{3}\n",
        std::env::var("PATH").unwrap_or_default(),
        text(&packs),
        line.trim(),
        stage.line.trim_start_matches("refs/lines/")
    );
    fs::write(bin.join("git"), script).expect("it is written");
    os::set_mode(&bin.join("git"), 0o755).expect("a mode");
    stage.sandbox.env("PATH", text(&bin));
    let mut draw = Draw::new();
    for nth in 0..cases(60) {
        let mut changed = pack.clone();
        for _ in 0..=draw.below(3) {
            let at = draw.below(changed.len());
            match draw.below(4) {
                0 => changed.truncate(at.max(1)),
                1 => drop(changed.remove(at)),
                _ => changed[at] ^= 1 << draw.below(8),
            }
        }
        if changed == pack {
            continue;
        }
        fs::write(packs.join("pack-x.pack"), &changed).expect("it is written");
        stage.is_refused(&format!("mutation {nth}"));
    }
    fs::write(packs.join("pack-x.pack"), &pack).expect("it is written");
    stage.sandbox.ok("fetch");
}

#[cfg(unix)]
#[test]
fn a_push_and_a_fetch_start_git_and_what_it_starts_and_no_more() {
    if !strace::available() {
        return;
    }
    let Some(stage) = Stage::new() else { return };
    for command in ["fetch", "push"] {
        let (run, calls) = strace::reaching_out(&stage.sandbox, &[command]);
        run.success();
        let started = calls
            .iter()
            .filter(|call| call.contains("execve(") && call.ends_with("= 0"));
        let programs: Vec<&str> = started.filter_map(|call| call.split('"').nth(1)).collect();
        assert!(programs.len() > 2, "{programs:?}");
        for program in &programs[1..] {
            let name = program.rsplit('/').next().unwrap_or_default();
            let is_git = name == "git" || name.starts_with("git-");
            assert!(is_git || name == "sh", "{command} started {program}");
        }
        assert!(
            !calls.iter().any(|call| call.contains("AF_INET")),
            "{calls:?}"
        );
    }
    for command in [
        &["list"][..],
        &["remote"],
        &["show", "origin/latest"],
        &["status"],
    ] {
        let (run, calls) = strace::reaching_out(&stage.sandbox, command);
        run.success();
        assert_eq!(calls.len(), 1, "{command:?} reached out: {calls:?}");
    }
}
