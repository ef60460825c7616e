//! FIFOs and sockets are recorded as present, never opened or deleted, and make none partial.

use std::time::{Duration, Instant};

use crate::bench::{Sandbox, tree::Kind};

fn with_specials() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .fifo("pipe")
        .mkdir("d")
        .socket("d/socket");
    sandbox
}

#[cfg(unix)]
#[test]
fn specials_are_recorded_with_exit_0_and_without_waiting() {
    let sandbox = with_specials();
    let begun = Instant::now();
    let data = sandbox.run(&["create", "--json"]).success().data();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "a FIFO was waited for"
    );
    assert_eq!(data["coverage"], "complete");
    let uncaptured = data["uncaptured"].as_array().expect("a list");
    let seen: Vec<(&str, &str)> = uncaptured
        .iter()
        .map(|one| {
            (
                one["path"].as_str().unwrap_or_default(),
                one["why"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(seen, [("d/socket", "socket"), ("pipe", "fifo")]);
}

#[cfg(unix)]
#[test]
fn a_restore_leaves_specials_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .write("a", "2")
        .fifo("pipe")
        .mkdir("d")
        .socket("d/socket")
        .write("d/file", "f");
    let data = sandbox.restore_data(&[&id]);
    let tree = sandbox.tree();
    assert_eq!(tree.get("pipe").map(|node| &node.kind), Some(&Kind::Fifo));
    assert_eq!(
        tree.get("d/socket").map(|node| &node.kind),
        Some(&Kind::Socket)
    );
    assert!(tree.get("d/file").is_none(), "what can be held goes");
    assert!(data["left_alone"].to_string().contains("\"d"), "{data}");
}

#[cfg(unix)]
#[test]
fn a_special_where_the_target_needs_a_file_is_a_conflict() {
    for name in ["a", "d", "d/b"] {
        let sandbox = Sandbox::new();
        sandbox
            .write("a", "1")
            .write("d/b", "1")
            .write("other", "1");
        let id = sandbox.create("before");
        sandbox.remove(name).fifo(name).write("other", "2");
        let before = sandbox.tree();
        let run = sandbox.run(&["restore", &id, "--yes", "--json"]).code(4);
        assert_eq!(run.error_code(), "conflict");
        assert!(run.stdout.contains(name), "{run}");
        sandbox.tree().assert_is(&before, "after the refusal");
    }
}

#[cfg(unix)]
#[test]
fn a_directory_holding_a_special_where_the_target_needs_a_file_is_a_conflict() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox.remove("a").mkdir("a").fifo("a/pipe");
    let before = sandbox.tree();
    sandbox.restore(&id).code(4).stderr_has("a/pipe");
    sandbox.tree().assert_is(&before, "after the refusal");
}

#[test]
fn files_over_the_users_own_limit_are_recorded_like_specials() {
    let sandbox = Sandbox::new();
    sandbox
        .user_config("max_file_size = 1000\n")
        .write("small", "1")
        .write("large", "x".repeat(1001));
    let data = sandbox.create_data(&[]);
    assert_eq!(
        (&data["coverage"], &data["counts"]["file_count"]),
        (&"complete".into(), &1.into())
    );
    assert_eq!(data["uncaptured"][0]["path"], "large");
    sandbox.write("small", "2").write("large", "y".repeat(1001));
    sandbox.restore("latest").success();
    assert!(
        sandbox.read("large").starts_with('y'),
        "what was not held is left alone"
    );
}
