//! A store written by a newer program: read as far as possible, never written.

use crate::bench::{Git, Sandbox};

const WRITERS: [&[&str]; 11] = [
    &["create"],
    &["restore", "first", "--yes"],
    &["restore", "--resume"],
    &["undo", "--yes"],
    &["redo", "--yes"],
    &["prune"],
    &["delete", "first", "--yes"],
    &["pin", "first"],
    &["unpin", "first"],
    &["verify", "--repair"],
    &["create", "--force", "--keep", "1", "--yes"],
];

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
    for args in WRITERS {
        let run = sandbox.run(args);
        assert_ne!(run.code, 0, "{run}");
        assert!(
            !matches!(args[0], "create" | "prune" | "verify") || run.code == 6,
            "{run}"
        );
    }
    assert_eq!(
        sandbox.fails(6, "create --json").error_code(),
        "store_too_new"
    );
}

#[test]
fn a_store_with_a_larger_format_number_is_read_and_not_written() {
    let sandbox = story();
    for rest in ["root /elsewhere\n", "", "something else entirely \0\u{1}\n"] {
        crate::bench::fixtures::write_description(&sandbox.store(), &format!("format 2\n{rest}"));
        sandbox.renew_watches();
        nobody_writes(&sandbox);
        for args in [
            &["list"][..],
            &["show", "first"],
            &["status"],
            &["verify"],
            &["verify", "--full"],
        ] {
            sandbox.run(args).success().stderr_has("newer format");
        }
        assert_eq!(sandbox.listed_ids().len(), 2);
    }
}

#[test]
fn a_commit_with_a_larger_format_number_is_read_and_keeps_others_from_writing() {
    let sandbox = story();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
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
