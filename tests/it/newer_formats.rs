//! A store written by a newer program: read as far as possible, never written.

use crate::bench::{Git, Sandbox, given};

const WRITERS: &str = "create|create --force --keep 1 --yes|restore first --yes|prune|\
    verify --repair|delete first --yes|pin first";
/// Those that may find nothing to do.
const OTHER_WRITERS: &str = "restore --resume|undo --yes|redo --yes|unpin first";

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox.write("a", "2");
    sandbox.create("second");
    sandbox
}

fn nobody_writes(sandbox: &Sandbox) {
    sandbox.watch(&sandbox.store()).watch(&sandbox.path("a"));
    for line in WRITERS.split('|') {
        sandbox.fails(6, line);
    }
    for line in OTHER_WRITERS.split('|') {
        let run = sandbox.cmd(line);
        assert_ne!(run.code, 0, "{run}");
    }
    let run = sandbox.fails(6, "create --json");
    assert_eq!(run.error_code(), "store_too_new");
}

#[test]
fn a_store_with_a_larger_format_number_is_read_and_not_written() {
    let sandbox = story();
    for rest in ["root /elsewhere\n", "", "something else entirely \0\u{1}\n"] {
        crate::bench::fixtures::write_description(&sandbox.store(), &format!("format 2\n{rest}"));
        sandbox.renew_watches();
        nobody_writes(&sandbox);
        sandbox.fails(6, "delete --all --yes");
        for line in ["list", "show first", "status", "verify", "verify --full"] {
            sandbox.ok(line).stderr_has("newer format");
        }
        assert_eq!(sandbox.listed_ids().len(), 2);
    }
}

#[test]
fn a_commit_with_a_larger_format_number_is_read_and_keeps_others_from_writing() {
    let sandbox = story();
    let git = given!(Git::find(sandbox.root()));
    let git = git.with("GIT_DIR", sandbox.store());
    let id = sandbox.shown("second")["id"].as_str().unwrap().to_owned();
    let text = git
        .output(&["cat-file", "commit", &id])
        .replace("Checkpoint-Format: 1", "Checkpoint-Format: 2");
    let text = format!(
        "{}\nNobody-Knows: this\n",
        text.replace("Sequence: 2", "Sequence: 3")
    );
    let made = String::from_utf8(git.filter(
        &["hash-object", "-t", "commit", "-w", "--stdin"],
        text.as_bytes(),
    ))
    .unwrap();
    let made = made.trim().to_owned();
    git.run(&["update-ref", &format!("refs/checkpoints/{made}"), &made])
        .success();
    nobody_writes(&sandbox);
    assert!(sandbox.listed_ids().contains(&made[..8].to_owned()));
    sandbox.ok("verify");
}
