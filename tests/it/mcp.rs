//! `mcp`: what a client sees, in each era of the protocol.

use std::time::{Duration, Instant};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::bench::mcp_client::{McpClient, STATELESS};
use crate::bench::{Sandbox, strace};

const ERAS: [&str; 3] = ["2025-06-18", "2025-11-25", STATELESS];
const NAMES: [&str; 13] = [
    "checkpoint_create",
    "checkpoint_list",
    "checkpoint_show",
    "checkpoint_diff",
    "checkpoint_find",
    "checkpoint_read",
    "checkpoint_status",
    "checkpoint_plan_restore",
    "checkpoint_restore",
    "workflow_status",
    "workflow_next",
    "workflow_resume",
    "workflow_step",
];

pub fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("a.txt", "one\n")
        .write("src/main.rs", "fn main() {}\n");
    sandbox
}

/// The words of each line: a tool, its arguments, and what comes after `=>`.
fn calls(lines: &str) -> impl Iterator<Item = (&str, Value, &str)> {
    lines.lines().map(|line| {
        let (call, rest) = line.split_once(" => ").unwrap_or((line, ""));
        let (tool, arguments) = call.trim().split_once(' ').expect("two words");
        (tool, serde_json::from_str(arguments).expect(line), rest)
    })
}

fn tools(client: &mut McpClient) -> Vec<Value> {
    let listed = client.request("tools/list", json!({}));
    listed["result"]["tools"].as_array().expect("tools").clone()
}

#[test]
fn each_era_is_spoken_and_others_are_refused() {
    let sandbox = project();
    for era in ERAS {
        let mut client = McpClient::of(&sandbox, &[], era, false);
        let names: Vec<Value> = tools(&mut client)
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert_eq!(names, NAMES, "{era}");
        let unknown = client.request("tools/call", json!({ "name": "checkpoint_delete" }));
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        let unknown = client.request("nothing/known", json!({}));
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        let (code, rest) = client.end();
        assert_eq!((code, rest.len()), (Some(0), 0), "{rest:?}");
    }
    let mut client = McpClient::of(&sandbox, &[], STATELESS, false);
    let known = client.request("server/discover", json!({}));
    let versions = &known["result"]["supportedVersions"];
    assert_eq!(*versions, json!(ERAS), "{known}");
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2031-01-01" });
    let refused = client.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(
        refused["error"]["data"]["supported"],
        json!(ERAS),
        "{refused}"
    );
}

#[test]
fn what_is_listed_is_short_plain_and_valid() {
    let sandbox = project();
    let mut client = McpClient::start(&sandbox, &[]);
    let info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let first = client.request("initialize", params);
    let instructions = first["result"]["instructions"].as_str().expect("a text");
    assert!(instructions.starts_with("When ") && instructions.len() <= 2048);
    assert_eq!(first["result"]["serverInfo"]["name"], "checkpoint");
    // Resources are not offered, so a request for them names no method.
    assert!(first["result"]["capabilities"]["resources"].is_null());
    for method in ["resources/list", "resources/templates/list"] {
        let refused = client.request(method, json!({}))["error"].clone();
        assert_eq!(refused["code"], -32601, "{refused}");
        let message = refused["message"].as_str().expect("a text");
        assert!(message.contains("checkpoint_list"), "{refused}");
    }
    let tools = tools(&mut client);
    for tool in &tools {
        let name = tool["name"].as_str().expect("a name");
        let input = tool["inputSchema"].as_object().expect("an object");
        let keys: Vec<&String> = input.keys().collect();
        assert_eq!(
            keys,
            ["type", "properties", "required", "additionalProperties"],
            "{name}"
        );
        let arguments = input["properties"].as_object().expect("an object");
        for (argument, schema) in arguments {
            let said = schema["description"].as_str().unwrap_or_default();
            assert!(!said.is_empty(), "{name} {argument}");
            let bounds: &[&str] = match argument.as_str() {
                "limit" => &[" 20 ", " 100 ", "25,000"],
                "max_bytes" => &["4 to 20,000"],
                _ => &[],
            };
            for bound in bounds {
                assert!(said.contains(bound), "{name} {argument}: {said}");
            }
        }
        jsonschema::validator_for(&tool["inputSchema"]).expect(name);
        jsonschema::validator_for(&tool["outputSchema"]).expect(name);
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let hints = &tool["annotations"];
        let changes = matches!(
            name,
            "checkpoint_create" | "checkpoint_restore" | "workflow_step"
        );
        assert_eq!(hints["readOnlyHint"], !changes, "{name}");
        assert_eq!(
            hints["destructiveHint"],
            name == "checkpoint_restore",
            "{name}"
        );
        let asks = &tool["_meta"]["anthropic/requiresUserInteraction"];
        assert_eq!(*asks == true, name == "checkpoint_restore", "{name}");
    }
    // A client reads all of it before the first call.
    let length: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    assert!(length < 160_000, "{length}");
}

fn validator(tools: &[Value], name: &str) -> Validator {
    let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
    jsonschema::validator_for(&tool["outputSchema"]).expect("a schema")
}

#[test]
fn every_tool_answers_by_its_schema() {
    let sandbox = project();
    sandbox.ok("workflow init --phase plan --phase build::plan");
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let tools = tools(&mut client);
    let lines = r#"checkpoint_create {"reason":"one"}
        checkpoint_create {"reason":"a part","scope":["src"],"type":"file_backup","expires":"24h"}
        checkpoint_create {"reason":"values","state":{"step":3,"of":["a","b"]}}
        checkpoint_list {}
        checkpoint_list {"reason":"o*","limit":1,"since":"2h"}
        checkpoint_show {"checkpoint":"one"}
        checkpoint_diff {}
        checkpoint_diff {"from":"one","to":"one","patch":true,"paths":["src"]}
        checkpoint_find {"path":"*.rs"}
        checkpoint_find {"text":"main","path":"src/"}
        checkpoint_read {"checkpoint":"one","path":"a.txt"}
        checkpoint_status {}
        checkpoint_plan_restore {"checkpoint":"one","paths":["src/main.rs"],"overlay":true}
        workflow_status {}
        workflow_next {}
        workflow_step {"phase":"plan","action":"start"}
        workflow_step {"phase":"plan","action":"progress","text":"-half of it"}
        workflow_resume {}
        workflow_step {"phase":"plan","action":"done"}
        workflow_step {"phase":"build","action":"start"}
        workflow_step {"phase":"build","action":"fail","text":"no"}
        workflow_step {"phase":"build","action":"skip","text":"not needed"}"#;
    for (name, arguments, _) in calls(lines) {
        let result = client.call(name, arguments.clone());
        let document = &result["structuredContent"];
        let validator = validator(&tools, name);
        assert!(
            validator.is_valid(document),
            "{name}: {:?}",
            validator.validate(document).err()
        );
        assert_ne!(result["isError"], true, "{name} {arguments}: {document}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(
            serde_json::from_str::<Value>(text).expect("JSON"),
            *document
        );
    }
}

#[test]
fn every_refusal_fits_the_schema_too() {
    let sandbox = project();
    sandbox.create("one");
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let tools = tools(&mut client);
    let lines = r#"checkpoint_create {"reason":" "}
        checkpoint_create {}
        checkpoint_show {"checkpoint":"nothing"}
        checkpoint_show {"checkpoint":"--help"}
        checkpoint_find {}
        checkpoint_read {"checkpoint":"one","path":"nothing"}
        checkpoint_restore {"plan":"0123456789abcdef"}
        workflow_step {"phase":"plan","action":"delete"}
        workflow_status {"id":"nothing"}"#;
    for (name, arguments, _) in calls(lines) {
        let result = client.call(name, arguments.clone());
        let document = &result["structuredContent"];
        assert_eq!(result["isError"], true, "{name} {arguments}: {document}");
        let is_valid = validator(&tools, name).is_valid(document);
        let has_message = document["error"]["message"].is_string();
        assert!(is_valid && has_message, "{name}: {document}");
    }
}

#[test]
fn a_cursor_of_another_spelling_and_a_state_without_values_are_refused() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    for cursor in ["+1", "01", " 1", "-1", "1.0", "0x1", ""] {
        let code = client.refusal("checkpoint_list", json!({ "cursor": cursor }));
        assert_eq!(code, "usage", "{cursor}");
    }
    let empty = json!({ "reason": "two", "state": {} });
    assert_eq!(client.refusal("checkpoint_create", empty), "usage");
    assert_eq!(sandbox.listed().len(), 1);
}

#[test]
fn what_an_input_schema_forbids_is_refused() {
    let sandbox = project();
    sandbox.create("one");
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let tools = tools(&mut client);
    let lines = r#"checkpoint_list {"limit":0} => 'limit' LIMITS
        checkpoint_find {"path":"a","limit":0} => 'limit' LIMITS
        checkpoint_list {"limit":100001} => 'limit' LIMITS
        checkpoint_list {"limit":"5"} => 'limit' LIMITS
        checkpoint_read {"checkpoint":"one","path":"a","max_bytes":3} => 'max_bytes' BYTES
        checkpoint_read {"checkpoint":"one","path":"a","max_bytes":20001} => 'max_bytes' BYTES
        checkpoint_create {"reason":"LONG"} => 'reason' has more than 4096 characters
        checkpoint_create {"reason":7} => 'reason' is no string
        checkpoint_create {"reason":"r","scope":[MANY"a"]} => 'scope' has more than 1000 items
        checkpoint_create {"reason":"r","scope":["LONG"]} => 'scope' has an item that has more than 4096 characters
        checkpoint_create {"reason":"r","scope":["a",7]} => 'scope' has an item that is no string
        checkpoint_create {"reason":"r","scope":"a"} => 'scope' is no list
        checkpoint_create {"reason":"r","state":[]} => 'state' is no object
        checkpoint_diff {"patch":"yes"} => 'patch' is neither true nor false
        workflow_step {"phase":"p","action":"end"} => 'action' is none of start, progress, done, fail, skip
        checkpoint_create {"reason":"r","type":"database_savepoint"} => 'type' is none of git_stash, file_backup, state_snapshot"#
        .replace("LIMITS", "is no whole number from 1 to 100000")
        .replace("BYTES", "is no whole number from 4 to 20000")
        .replace("LONG", &"é".repeat(4_097))
        .replace("MANY", &r#""a","#.repeat(1_000));
    for (name, arguments, flaw) in calls(&lines) {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let schema = jsonschema::validator_for(&tool["inputSchema"]).expect(name);
        assert!(!schema.is_valid(&arguments), "{name} {arguments}");
        let error = client.call(name, arguments)["structuredContent"]["error"].clone();
        assert_eq!(error["code"], "usage", "{name}");
        assert_eq!(error["message"], format!("the argument {flaw}"), "{name}");
    }
    for (name, argument, said) in [
        (
            "checkpoint_create",
            "reason",
            "`before the parser is split`",
        ),
        ("checkpoint_list", "session", "`current`"),
        ("checkpoint_diff", "from", "If not given, @"),
        ("checkpoint_diff", "to", "If not given, the directory"),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect(name);
        let schema = &tool["inputSchema"]["properties"][argument];
        let description = schema["description"].as_str().expect("a text");
        assert!(
            description.contains(said),
            "{name} {argument}: {description}"
        );
    }
    for tool in tools {
        let id = &tool["inputSchema"]["properties"]["id"]["description"];
        let id = id.as_str().unwrap_or("project, newest");
        assert!(id.contains("project") && id.contains("newest"), "{tool}");
    }
}

#[test]
fn what_is_recorded_twice_is_there_once() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &[], STATELESS, false);
    let first = client.data("checkpoint_create", json!({ "reason": "one" }));
    std::thread::sleep(Duration::from_millis(1100));
    let again = client.data("checkpoint_create", json!({ "reason": "one" }));
    assert_eq!(
        (first["id"].clone(), false.into()),
        (again["id"].clone(), again["created"].clone())
    );
    let other = client.data("checkpoint_create", json!({ "reason": "two" }));
    assert_ne!(first["id"], other["id"]);
    let listed = client.data("checkpoint_list", json!({}));
    assert_eq!(listed["checkpoints"].as_array().map(Vec::len), Some(2));
    assert_eq!(listed["checkpoints"][0]["source"], "mcp");
}

#[test]
fn long_answers_come_in_pages_and_whole_in_the_end() {
    let sandbox = project();
    for number in 0..400 {
        sandbox.write(format!("many/{number:03}-{}", "x".repeat(100)), "1");
    }
    let text = "ä line of text\u{1}\n".repeat(4_000);
    sandbox
        .write("long.txt", &text)
        .write("binary", vec![0xff; 70_000]);
    let mut client = McpClient::of(&sandbox, &[], "2025-06-18", false);
    client.data("checkpoint_create", json!({ "reason": "one" }));
    let mut pages = |tool: &str, mut arguments: Value, take: &dyn Fn(&Value) -> Vec<u8>| {
        let (mut whole, mut count) = (Vec::new(), 0);
        loop {
            let result = client.call(tool, arguments.clone());
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert!(text.chars().count() <= 25_000, "{tool}");
            whole.extend(take(&result["structuredContent"]["data"]));
            count += 1;
            match result["_meta"]["nextCursor"].as_str() {
                Some(cursor) => arguments["cursor"] = cursor.into(),
                None => return (whole, count),
            }
        }
    };
    let file = |path: &str| json!({ "checkpoint": "one", "path": path });
    let read = |data: &Value| data["text"].as_str().expect("a text").as_bytes().to_vec();
    let (found, count) = pages("checkpoint_read", file("long.txt"), &read);
    assert!(found == text.as_bytes() && count > 2, "{count}");
    let read = |data: &Value| data["hex"].as_str().expect("hex").as_bytes().to_vec();
    let (found, _) = pages("checkpoint_read", file("binary"), &read);
    assert_eq!(found, "ff".repeat(70_000).as_bytes());
    let mut few = file("long.txt");
    few["max_bytes"] = 5.into();
    few["cursor"] = (text.len() - 60).to_string().into();
    let read = |data: &Value| data["text"].as_str().expect("a text").as_bytes().to_vec();
    let (found, _) = pages("checkpoint_read", few, &read);
    assert_eq!(found, &text.as_bytes()[text.len() - 60..]);
    let names = |data: &Value| {
        let changes = data["changes"].as_array().expect("changes").iter();
        changes
            .flat_map(|change| change["path"].as_str().expect("a path").bytes())
            .collect()
    };
    let (found, count) = pages("checkpoint_show", json!({ "checkpoint": "one" }), &names);
    assert!(count > 2 && found.len() > 400 * 100, "{count}");
    let paths = |data: &Value| {
        let matches = data["matches"].as_array().expect("matches").iter();
        matches
            .flat_map(|one| one["path"].as_str().expect("a path").bytes())
            .collect()
    };
    let search = json!({ "text": "1", "path": "many/*" });
    let (found, count) = pages("checkpoint_find", search, &paths);
    assert_eq!(
        (found.len(), count > 3),
        (400 * "many/000-".len() + 400 * 100, true)
    );
}

#[test]
fn prompts_are_read() {
    let sandbox = project();
    sandbox.create("one");
    let mut client = McpClient::of(&sandbox, &[], STATELESS, false);
    for name in ["rewind", "resume"] {
        let prompt = client.request("prompts/get", json!({ "name": name, "arguments": {} }));
        assert!(
            prompt["result"]["messages"][0]["content"]["text"].is_string(),
            "{prompt}"
        );
    }
}

#[test]
fn four_calls_are_worked_on_at_once_and_each_is_answered() {
    let sandbox = project();
    sandbox.create("one");
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let ids: Vec<u64> = (0..20)
        .map(|at| {
            let tool = ["diff", "list", "create", "status"][at % 4];
            let tool = format!("checkpoint_{tool}");
            let reason = json!({ "reason": at.to_string() });
            let arguments = if at % 4 == 2 { reason } else { json!({}) };
            client.send(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            )
        })
        .collect();
    let mut answered: Vec<u64> = ids
        .iter()
        .map(|_| client.message()["id"].as_u64().expect("an id"))
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, ids);
    let (code, rest) = client.end();
    assert_eq!((code, rest.len()), (Some(0), 0));
}

#[test]
fn a_cancelled_call_stops_and_gets_no_answer() {
    let sandbox = project();
    for number in 0..3_000 {
        sandbox.write(format!("many/{number}"), number.to_string().repeat(400));
    }
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let arguments = json!({ "name": "checkpoint_create", "arguments": { "reason": "one" } });
    let id = client.send("tools/call", arguments);
    std::thread::sleep(Duration::from_millis(20));
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    client.line(&cancelled.to_string());
    let began = Instant::now();
    let (code, rest) = client.end();
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert_eq!((code, rest.len()), (Some(0), 0), "{rest:?}");
    assert!(sandbox.listed().is_empty());
    sandbox.ok("verify");
}

#[test]
fn progress_is_told_and_only_grows() {
    let sandbox = project();
    for number in 0..3_000 {
        sandbox.write(format!("many/{number}"), format!("{number} ").repeat(2_000));
    }
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let params = json!({ "name": "checkpoint_create", "arguments": { "reason": "one" }, "_meta": { "progressToken": "t" } });
    let began = Instant::now();
    let answer = client.request("tools/call", params);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let told: Vec<f64> = client
        .progress
        .iter()
        .map(|note| note["progress"].as_f64().expect("a number"))
        .collect();
    let wanted = began.elapsed().as_secs_f64() * 2.0 - 2.0;
    assert!(
        f64::from(u32::try_from(told.len()).expect("a few")) >= wanted,
        "{} in {:?}",
        told.len(),
        began.elapsed()
    );
    assert!(told.is_sorted_by(|one, two| one < two), "{told:?}");
}

#[test]
fn no_program_is_started_and_no_network_used() {
    if !strace::available() {
        return;
    }
    let sandbox = project();
    let (run, reached) = strace::reaching_out(&sandbox, &["mcp"]);
    let run = run.success();
    assert_eq!(run.stdout, "");
    assert!(
        reached.len() == 1 && reached[0].contains("execve"),
        "{reached:?}"
    );
}

#[test]
fn a_hint_names_the_tool_that_does_it_where_there_is_one() {
    let sandbox = project();
    let mut client = McpClient::of(&sandbox, &[], "2025-11-25", false);
    let mut failed = |tool: &str, arguments: Value| {
        client.call(tool, arguments)["structuredContent"]["error"].clone()
    };
    let hint = |error: &Value| error["hint"].as_str().unwrap_or_default().to_owned();
    let none = failed("checkpoint_show", json!({ "checkpoint": "@" }));
    assert!(hint(&none).contains("checkpoint_create"), "{none}");
    sandbox.create("one");
    let unknown = failed("checkpoint_show", json!({ "checkpoint": "nothing" }));
    assert!(hint(&unknown).contains("'checkpoint_list'"), "{unknown}");
    // The words of the command stay beside it, for a shell.
    assert_eq!(unknown["command"][0], "checkpoint", "{unknown}");
    sandbox.ok("hold deploy");
    let held = failed("checkpoint_create", json!({ "reason": "two" }));
    let release = format!("checkpoint -C {} release deploy", sandbox.root().display());
    assert!(hint(&held).contains(&release), "no tool releases: {held}");
    sandbox.ok("release");
    let none = failed("workflow_status", json!({}));
    let init = format!("'checkpoint -C {} workflow init", sandbox.root().display());
    assert!(hint(&none).contains(&init), "no tool begins a run: {none}");
    let usage = failed("checkpoint_create", json!({ "reason": " " }));
    assert!(!hint(&usage).contains("--help"), "{usage}");
    sandbox.ok("workflow init --id w1 --phase plan");
    let step = json!({ "phase": "plan", "action": "done" });
    let step = failed("workflow_step", step);
    let call = "workflow_step {\"action\":\"start\",\"phase\":\"plan\",\"id\":\"w1\"}";
    assert!(hint(&step).contains(call), "{step}");
}
