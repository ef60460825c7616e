//! FIFOs and sockets are recorded as present, never opened or deleted, and make none partial;
//! `stories/specials.md` has the rest.

use std::time::{Duration, Instant};

use crate::bench::{Sandbox, tree::Kind};

#[cfg(unix)]
#[test]
fn specials_are_recorded_with_exit_0_and_without_waiting() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .fifo("pipe")
        .mkdir("d")
        .socket("d/socket");
    let begun = Instant::now();
    let data = sandbox.json("create");
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
