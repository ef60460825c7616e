//! `mcp` with what no good client sends.

use crate::bench::os::symlink;
use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::mcp_client::{McpClient, STATELESS};
use crate::bench::sample::{Draw, is_full};

const ERA: &str = "2025-11-25";

/// Rows of a line, and the code and id of its answer; 0 for one that gets none.
#[test]
fn an_odd_line_gets_an_error_or_nothing_and_the_next_request_its_answer() {
    let sandbox = Sandbox::new();
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"{}"}}}}"#,
        "x".repeat(17 << 20)
    );
    let lines = r#"garbage => -32700 null
        {"jsonrpc":"2.0","id":70 => -32700 null
        BOM => 0 null
         => 0 null
        [] => -32600 null
        17 => -32600 null
        {"jsonrpc":"2.0","id":1.5,"method":"ping"} => -32600 null
        {"jsonrpc":"2.0","id":71,"method":5} => -32600 null
        {"jsonrpc":"2.0","id":"73","method":"tools/call","params":{"name":7}} => -32602 "73"
        {"jsonrpc":"2.0","id":0,"method":"no/such"} => -32601 0
        {"jsonrpc":"2.0","method":"notifications/odd","params":{}} => 0 null
        {"jsonrpc":"2.0","id":99,"result":{}} => 0 null
        LONG => -32600 null"#;
    for row in lines.lines() {
        let (line, expected) = row.split_once(" => ").expect(row);
        let line = line.trim_start().replace("BOM", "\u{feff}");
        client.line(&line.replace("LONG", &long));
        if expected.starts_with('0') {
            let nothing = client.message_within(Duration::from_millis(100));
            assert_eq!(nothing, None, "{row}");
            continue;
        }
        let answer = client.message();
        let found = format!("{} {}", answer["error"]["code"], answer["id"]);
        assert_eq!(found, expected, "{row}: {answer}");
    }
    assert!(client.request("ping", json!({}))["result"].is_object());
}

fn value(draw: &mut Draw, depth: usize) -> Value {
    let texts = "|latest|undo|one|-|--help|@/etc/passwd|../..|/etc|a\nb|%41|\u{202e}x|\
                 999999999999999999999|~|a.txt|src/";
    let texts: Vec<&str> = texts.split('|').collect();
    match draw.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => draw.below(2).eq(&1).into(),
        2 => draw.number().into(),
        3 => (-1.5).into(),
        4 => "x".repeat(draw.below(6_000)).into(),
        5 => texts[draw.below(texts.len())].into(),
        6 => (0..draw.below(4)).map(|_| value(draw, depth - 1)).collect(),
        _ => json!({ "a=b": value(draw, depth - 1), "c": value(draw, depth - 1) }),
    }
}

#[test]
fn any_arguments_get_one_answer_that_fits_the_schema() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\n").write("src/b", "two\n");
    sandbox.create("one");
    let other = Sandbox::new();
    other.write("x", "1");
    let foreign = other.create("other");
    let untouched = other.tree();
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    let tools = client.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    let validators: HashMap<&str, Validator> = tools
        .iter()
        .map(|tool| {
            (
                tool["name"].as_str().expect("a name"),
                jsonschema::validator_for(&tool["outputSchema"]).expect("a schema"),
            )
        })
        .collect();
    let mut draw = Draw::new();
    for _ in 0..if is_full() { 10_000 } else { 400 } {
        let tool = &tools[draw.below(tools.len())];
        let name = tool["name"].as_str().expect("a name");
        let known: Vec<&String> = tool["inputSchema"]["properties"]
            .as_object()
            .expect("an object")
            .keys()
            .collect();
        let mut arguments = json!({});
        for _ in 0..draw.below(5) {
            let key = if draw.below(10) == 0 {
                "odd"
            } else {
                known[draw.below(known.len())]
            };
            arguments[key] = match draw.below(4) {
                0 => foreign.clone().into(),
                1 => "one".into(),
                _ => value(&mut draw, 2),
            };
        }
        let arguments = if draw.below(20) == 0 {
            value(&mut draw, 2)
        } else {
            arguments
        };
        let name = if draw.below(50) == 0 {
            "checkpoint_delete"
        } else {
            name
        };
        let params = json!({ "name": name, "arguments": arguments });
        let answer = client.request("tools/call", params.clone());
        if answer["error"].is_object() {
            assert!(
                !arguments_are_an_object(&params) || !validators.contains_key(name),
                "{params}: {answer}"
            );
            continue;
        }
        let document = &answer["result"]["structuredContent"];
        let flaw = validators[name].validate(document).err();
        assert!(flaw.is_none(), "{params}: {flaw:?}: {document}");
        assert_eq!(
            answer["result"]["isError"] == true,
            document["ok"] != true,
            "{params}: {document}"
        );
    }
    other
        .tree()
        .assert_is(&untouched, "a directory that is not served");
    sandbox.ok("verify");
}

fn arguments_are_an_object(params: &Value) -> bool {
    params["arguments"].is_object() || params["arguments"].is_null()
}

/// Spellings of directories outside of a project, and a few within.
fn spellings(outside: &str) -> Vec<String> {
    let name = outside.rsplit('/').next().expect("a name");
    let spellings = "..|../|./..|../.|../project-2|../project-2/|../project-2/.|../project-2/deep|\
        link|link/|link/.|link/deep|link/deep/..|./link|inside/../link|inside/deep|\
        inside/deep/..|inside/../..|inside/../../project-2|top|top/|top/tmp|top/etc|/|//|/..|\
        /etc|/tmp|/proc/self/cwd/..|/proc/self/root|../PROJECT-2|..//project-2|nothing/..|\
        nothing/../..|nothing|../nothing|../project|../projec|~|~/x|";
    let mut spellings: Vec<String> = spellings.split('|').map(str::to_owned).collect();
    for lead in ["", "/", "//", "./", "inside/../", "inside/./../"] {
        for tail in "|/|/.|/deep|/deep/..|/../project-2|//|/secret|/nothing".split('|') {
            let lead = if lead.starts_with('/') || lead.is_empty() {
                lead.to_owned()
            } else {
                format!("{lead}../")
            };
            let path = if lead.ends_with("../") {
                format!("{lead}{name}{tail}")
            } else {
                format!("{lead}{outside}{tail}")
            };
            spellings.push(path);
        }
    }
    spellings
}

#[test]
fn a_directory_outside_is_refused_however_it_is_spelled() {
    let sandbox = Sandbox::rooted_at("work/project");
    sandbox.write("inside/a", "1").write("a", "1");
    let outside = sandbox.root().parent().expect("a parent").join("project-2");
    fs::create_dir_all(outside.join("deep")).expect("a folder");
    fs::write(outside.join("secret"), "1").expect("a file");
    symlink(&outside, sandbox.path("link")).expect("a link");
    symlink("../../project-2/deep", sandbox.path("inside/deep")).expect("a link");
    symlink("/", sandbox.path("top")).expect("a link");
    let outside = outside.to_str().expect("UTF-8").to_owned();
    let spellings = spellings(&outside);
    // These are within, or nothing that is there.
    let is_within = |spelling: &String| {
        let inside = ["", "nothing", "../project"].contains(&spelling.as_str());
        inside || spelling.starts_with('~')
    };
    let mut client = McpClient::of(&sandbox, &[], STATELESS, false);
    let tried: Vec<&String> = spellings
        .iter()
        .filter(|spelling| !is_within(spelling))
        .collect();
    assert!(tried.len() >= 85, "{}", tried.len());
    for spelling in &tried {
        let arguments = json!({ "reason": "r", "directory": spelling });
        assert_eq!(
            client.refusal("checkpoint_create", arguments),
            "dir_not_allowed",
            "{spelling}"
        );
    }
    for within in ["inside", "./inside/", "inside/../inside", "."] {
        let result = client.call("checkpoint_status", json!({ "directory": within }));
        assert_ne!(result["isError"], true, "{within}: {result}");
    }
    let stores = sandbox.ok("list --all --json");
    assert!(!stores.stdout.contains("project-2"), "{stores}");
    let allowed = ["--allow", outside.as_str()];
    let mut client = McpClient::of(&sandbox, &allowed, STATELESS, false);
    client.data(
        "checkpoint_create",
        json!({ "reason": "r", "directory": outside, }),
    );
}

#[test]
fn a_link_that_takes_the_place_of_a_directory_leads_nowhere() {
    let sandbox = Sandbox::rooted_at("work/project");
    sandbox.write("sub/dir/a", "1").write("other", "1");
    let outside = sandbox.root().parent().expect("a parent").join("outside");
    fs::create_dir_all(outside.join("dir")).expect("a folder");
    fs::write(outside.join("dir/secret-word"), "secret-word").expect("a file");
    let (real, away) = (sandbox.path("sub"), sandbox.path("away"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(&real, &away);
                let _ = symlink(&outside, &real);
                let _ = fs::remove_file(&real);
                let _ = fs::rename(&away, &real);
            }
        });
        let mut client = McpClient::of(&sandbox, &[], ERA, false);
        for _ in 0..if is_full() { 2_000 } else { 150 } {
            let arguments = json!({ "reason": "r", "directory": "sub/dir" });
            let result = client.call("checkpoint_create", arguments);
            let counts = &result["structuredContent"]["data"]["counts"]["added"];
            assert!(*counts != 2, "{result}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    for store in sandbox.json("list --all")["stores"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let root = store["root"].as_str().unwrap_or_default().to_owned();
        let found = sandbox.run_in(
            sandbox.home(),
            &["-C", &root, "find", "secret-word", "--json"],
        );
        assert!(!found.stdout.contains("\"last_in\":{"), "{found}");
    }
}

#[test]
fn a_server_that_starts_in_no_project_allows_nothing_below_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let home = sandbox.home().to_path_buf();
    fs::create_dir_all(home.join("project")).expect("a folder");
    let mut client = McpClient::of(
        &sandbox,
        &["--directory", home.to_str().expect("UTF-8")],
        ERA,
        false,
    );
    let named = client.call(
        "checkpoint_status",
        json!({ "directory": home.join("project") }),
    );
    assert_ne!(
        named["isError"], true,
        "it was named, so it reaches below: {named}"
    );
    sandbox.env("CLAUDE_PROJECT_DIR", &home);
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    let below = json!({ "directory": home.join("project") });
    let refused = client.refusal("checkpoint_status", below);
    assert_eq!(refused, "dir_not_allowed");
    sandbox.env("CLAUDE_PROJECT_DIR", sandbox.root());
    let mut client = McpClient::of(&sandbox, &[], ERA, false);
    let status = client.data("checkpoint_status", json!({}));
    assert_eq!(status["root"].as_str(), sandbox.root().to_str());
}
