//! Restores over MCP: by plans that were shown, once, and whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::mcp_client::{McpClient, STATELESS};
use crate::bench::sample::{Draw, is_full};
use crate::bench::{Sandbox, Tree};
use crate::mcp::project;

const ERA: &str = "2025-11-25";

fn plan(client: &mut McpClient, arguments: Value) -> String {
    let data = client.data("checkpoint_plan_restore", arguments);
    data["plan_digest"].as_str().expect("a digest").to_owned()
}

#[track_caller]
fn not_known(client: &mut McpClient, arguments: Value) {
    let code = client.refusal("checkpoint_restore", arguments);
    assert_eq!(code, "plan_not_known");
}

/// Sends a call whose answer is not awaited.
fn send(client: &mut McpClient, tool: &str, arguments: &Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    client.send("tools/call", params);
}

/// A session by tools alone: a checkpoint before each of five changes, what broke is found, one
/// file restored, and that undone.
fn session(mut client: McpClient, root: &Path) {
    let write =
        |name: &str, text: &str| fs::write(root.join(name), text).expect("it can be written");
    let mut states = Vec::new();
    for change in 0..5 {
        states.push(Tree::capture(root));
        let reason = format!("before change {change}");
        client.data("checkpoint_create", json!({ "reason": reason }));
        let broken = if change == 2 { "panic!()" } else { "" };
        write("lib.rs", &format!("fn f() {{ {broken} }} // {change}\n"));
        write(&format!("new-{change}"), &change.to_string());
    }
    let last = Tree::capture(root);
    let found = client.data("checkpoint_find", json!({ "text": "panic!" }));
    assert_eq!(found["matches"][0]["first_in"]["reason"], "before change 3");
    let diff = json!({ "from": "before change 2", "to": "before change 3", "patch": true });
    let diff = client.call("checkpoint_diff", diff);
    let patch = diff["content"][1]["text"].as_str().expect("a patch");
    assert!(patch.contains("+fn f() { panic!() } // 2"), "{patch}");
    let one = json!({ "checkpoint": "before change 2", "paths": ["lib.rs"] });
    let digest = plan(&mut client, one);
    Tree::capture(root).assert_is(&last, "a plan changes nothing");
    client.data("checkpoint_restore", json!({ "plan": digest }));
    let text = fs::read_to_string(root.join("lib.rs")).expect("a file");
    assert_eq!(text, "fn f() {  } // 1\n");
    let digest = plan(&mut client, json!({ "checkpoint": "undo" }));
    client.data("checkpoint_restore", json!({ "plan": digest }));
    Tree::capture(root).assert_is(&last, "after the undo");
    for (number, state) in states.iter().enumerate() {
        let reason = format!("before change {number}");
        let digest = plan(&mut client, json!({ "checkpoint": reason }));
        client.data("checkpoint_restore", json!({ "plan": digest }));
        Tree::capture(root).assert_is(state, &reason);
    }
}

#[test]
fn a_session_by_tools_alone_goes_back_exactly() {
    let sandbox = project();
    session(McpClient::of(&sandbox, &[], ERA, false), sandbox.root());
}

#[test]
fn two_clients_at_once_do_not_meet() {
    let sandbox = Sandbox::bare();
    sandbox.write("one/a", "1").write("two/a", "1");
    let clients = ["one", "two"].map(|folder| {
        let root = sandbox.path(folder);
        let client = McpClient::of(&sandbox, &["--directory", folder], STATELESS, false);
        (client, root)
    });
    std::thread::scope(|scope| {
        for (client, root) in clients {
            scope.spawn(move || session(client, &root));
        }
    });
}

#[test]
fn a_plan_is_refused_if_it_is_used_invented_foreign_or_old() {
    let sandbox = project();
    sandbox.write("sub/x", "1");
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    sandbox.write("a.txt", "two\n").write("new", "1");
    let before = sandbox.tree();
    let digest = plan(&mut client, json!({ "checkpoint": "one" }));
    for wrong in [
        "",
        "0123456789abcdef",
        "../../etc",
        &digest[1..],
        &digest.to_uppercase(),
    ] {
        if wrong != digest {
            not_known(&mut client, json!({ "plan": wrong }));
        }
    }
    let elsewhere = json!({ "plan": digest, "directory": sandbox.path("sub") });
    not_known(&mut client, elsewhere);
    let mut other = McpClient::of(&sandbox, &[], ERA, false);
    not_known(&mut other, json!({ "plan": digest }));
    sandbox
        .tree()
        .assert_is(&before, "refused plans change nothing");
    // A plan of the command line was not shown by this server.
    let shown = sandbox.restore_data(&["one", "--dry-run", "--overlay"]);
    let shown = shown["plan_digest"].as_str().expect("a digest");
    not_known(&mut client, json!({ "plan": shown }));
    sandbox.write("new", "22");
    let moved = sandbox.tree();
    let result = client.call("checkpoint_restore", json!({ "plan": digest }));
    assert_eq!(
        result["structuredContent"]["error"]["code"], "consent_needed",
        "{result}"
    );
    sandbox.tree().assert_is(&moved, "something has moved");
    // What it would do now is shown, and carried out only once it was planned anew.
    let now = result["content"][1]["text"].as_str().expect("the new plan");
    let now: Value = serde_json::from_str(now.split_once(": ").expect("a plan").1).expect("JSON");
    assert_eq!(now["data"]["counts"]["deleted"], 1, "{now}");
    assert!(now["data"]["plan_digest"].is_null(), "{now}");
    let shown = result.to_string();
    assert!(shown.contains("checkpoint_plan_restore again"), "{shown}");
    assert!(!shown.contains("--dry-run"), "{shown}");
    let now = plan(&mut client, json!({ "checkpoint": "one" }));
    client.data("checkpoint_restore", json!({ "plan": now }));
    assert_eq!(
        (sandbox.read("a.txt"), sandbox.exists("new")),
        ("one\n".to_owned(), false)
    );
    not_known(&mut client, json!({ "plan": now }));
    not_known(&mut client, json!({ "plan": digest }));
}

#[test]
fn a_plan_that_could_not_be_carried_out_can_be_tried_again() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &["--lock-timeout", "1"], ERA, false);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    sandbox.write("a.txt", "two\n");
    let digest = plan(&mut client, json!({ "checkpoint": "one" }));
    // Another process is at work for longer than the server waits.
    let held = fs::File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    held.lock().expect("it is free");
    let begun = Instant::now();
    let code = client.refusal("checkpoint_restore", json!({ "plan": digest }));
    assert_eq!(code, "busy");
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "as given, not the usual 30 s"
    );
    drop(held);
    client.data("checkpoint_restore", json!({ "plan": digest }));
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn a_later_page_is_of_the_same_plan_or_refused() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    for name in ["n1", "n2", "n3"] {
        sandbox.write(name, "1");
    }
    let page = |cursor: &str| json!({ "checkpoint": "one", "limit": 1, "cursor": cursor });
    let first = client.data("checkpoint_plan_restore", page("0"));
    let second = client.data("checkpoint_plan_restore", page("1"));
    assert_eq!(first["plan_digest"], second["plan_digest"]);
    sandbox.write("hidden", "1");
    assert_eq!(
        client.refusal("checkpoint_plan_restore", page("2")),
        "usage"
    );
}

#[test]
fn a_client_that_can_ask_asks_the_user() {
    for era in [ERA, STATELESS] {
        let sandbox = project();
        let mut client = McpClient::of(&sandbox, &[], era, true);
        client.data("checkpoint_create", json!({ "reason": "one" }));
        sandbox.write("a.txt", "two\n");
        let digest = plan(&mut client, json!({ "checkpoint": "one" }));
        let refused = client.refusal("checkpoint_restore", json!({ "plan": digest }));
        assert_eq!(
            (refused.as_str(), client.asked.len()),
            ("declined", 1),
            "{era}"
        );
        assert_eq!(sandbox.read("a.txt"), "two\n");
        let mut client = client.confirming();
        client.data("checkpoint_restore", json!({ "plan": digest }));
        assert_eq!(client.asked.len(), 2, "{era}");
        let said = client.asked[1].to_string();
        assert!(
            said.contains("add 0, modify 1 and delete 0 files"),
            "{said}"
        );
        assert_eq!(sandbox.read("a.txt"), "one\n");
    }
}

#[test]
fn a_forged_state_is_refused_and_changes_nothing() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &[], STATELESS, true);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    sandbox.write("a.txt", "two\n");
    let digest = plan(&mut client, json!({ "checkpoint": "one" }));
    let forged = json!({
        "name": "checkpoint_restore",
        "arguments": { "plan": digest },
        "requestState": "0123456789abcdef",
        "inputResponses": { "confirm": { "action": "accept", "content": { "confirm": true } } },
    });
    let answer = client.request("tools/call", forged);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert_eq!(sandbox.read("a.txt"), "two\n");
}

/// Many files, a checkpoint of them, and another state.
fn changed(count: usize) -> (Sandbox, Tree) {
    let sandbox = Sandbox::new();
    for number in 0..count {
        sandbox.write(format!("many/{number}"), format!("one {number}"));
    }
    sandbox.create("one");
    let then = sandbox.tree();
    for number in 0..count {
        sandbox.write(format!("many/{number}"), format!("another {number}"));
    }
    (sandbox, then)
}

#[test]
fn a_restore_ends_whole_where_the_input_ends_in_its_middle() {
    let (sandbox, then) = changed(1_500);
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    let digest = plan(&mut client, json!({ "checkpoint": "one" }));
    send(
        &mut client,
        "checkpoint_restore",
        &json!({ "plan": digest }),
    );
    let (code, rest) = client.end();
    assert_eq!(code, Some(0));
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_ne!(rest[0]["result"]["isError"], true, "{rest:?}");
    sandbox.tree().assert_is(&then, "after the restore");
}

#[test]
fn a_killed_server_leaves_a_sound_store_and_the_next_one_goes_on() {
    let (sandbox, then) = changed(300);
    let now = sandbox.tree();
    let mut draw = Draw::new();
    let mut seen = BTreeSet::new();
    for _ in 0..if is_full() { 100 } else { 8 } {
        let mut client = McpClient::of(&sandbox, &[], ERA, false);
        send(&mut client, "checkpoint_create", &json!({ "reason": "k" }));
        let digest = {
            let known = client.message();
            assert!(known["result"].is_object(), "{known}");
            let goal = if sandbox.tree().diff(&then).is_empty() {
                "k"
            } else {
                "one"
            };
            plan(&mut client, json!({ "checkpoint": goal }))
        };
        send(
            &mut client,
            "checkpoint_restore",
            &json!({ "plan": digest }),
        );
        std::thread::sleep(std::time::Duration::from_micros(draw.below(60_000) as u64));
        crate::bench::os::kill(client.pid());
        drop(client.end());
        let status = sandbox.status();
        seen.insert(status["pending"].is_null());
        if !status["pending"].is_null() {
            sandbox.ok("restore --resume");
        }
        // What a killed restore staged goes with the next command that writes.
        sandbox.ok("prune");
        sandbox.ok("verify");
        let tree = sandbox.tree();
        let is_one = tree.diff(&then).is_empty() || tree.diff(&now).is_empty();
        assert!(is_one, "neither state");
    }
    assert!(seen.contains(&true), "{seen:?}");
}
