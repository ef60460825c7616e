//! The entry of our MCP server that `setup` writes for each agent: its form, what others wrote
//! beside it, and its removal.

use serde_json::{Value, json};

use crate::bench::{Sandbox, Tree, os};
use crate::setup::{linked, run_as};

/// Where each agent finds our server, by its place in the home directory, and below which key.
const OF_USER: [(&str, &str, &str); 10] = [
    (
        "claude",
        ".claude/skills/checkpoint/.mcp.json",
        "mcpServers",
    ),
    (
        "gemini",
        ".gemini/extensions/checkpoint/gemini-extension.json",
        "mcpServers",
    ),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("copilot", ".copilot/mcp-config.json", "mcpServers"),
    ("opencode", ".config/opencode/opencode.json", "mcp"),
    ("amp", ".config/amp/settings.json", "amp.mcpServers"),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "mcpServers",
    ),
    ("vscode", VSCODE, "servers"),
    ("zed", ZED, "context_servers"),
];
const OF_PROJECT: [(&str, &str, &str); 8] = [
    (
        "claude",
        ".claude/skills/checkpoint/.mcp.json",
        "mcpServers",
    ),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("copilot", ".github/mcp.json", "mcpServers"),
    ("opencode", ".opencode/opencode.json", "mcp"),
    ("amp", ".amp/settings.json", "amp.mcpServers"),
    ("vscode", ".vscode/mcp.json", "servers"),
    ("zed", ".zed/settings.json", "context_servers"),
];
const VSCODE: &str = if cfg!(windows) {
    "AppData/Roaming/Code/User/mcp.json"
} else {
    ".config/Code/User/mcp.json"
};
const CODEX: &str = ".codex/config.toml";
const GOOSE: &str = if cfg!(windows) {
    "AppData/Roaming/Block/goose/config/config.yaml"
} else {
    ".config/goose/config.yaml"
};
const ZED: &str = if cfg!(windows) {
    "AppData/Roaming/Zed/settings.json"
} else {
    ".config/zed/settings.json"
};

fn entry(agent: &str) -> Value {
    let program = Sandbox::binary();
    match agent {
        "opencode" => json!({ "type": "local", "command": [program, "mcp"], "enabled": true }),
        "vscode" => json!({ "type": "stdio", "command": program, "args": ["mcp"] }),
        "copilot" => {
            json!({ "type": "local", "command": program, "args": ["mcp"], "tools": ["*"] })
        }
        _ => json!({ "command": program, "args": ["mcp"] }),
    }
}

#[test]
fn each_agent_gets_our_server_in_the_form_that_it_reads() {
    for (in_project, table) in [(false, &OF_USER[..]), (true, &OF_PROJECT[..])] {
        for (agent, file, key) in table {
            let sandbox = Sandbox::new();
            let flag = if in_project { "--project" } else { "--yes" };
            sandbox.run(&["setup", agent, "--yes", flag]).success();
            let top = if in_project {
                sandbox.root()
            } else {
                sandbox.home()
            };
            let text = sandbox.read(top.join(file));
            let settings: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(settings[key]["checkpoint"], entry(agent), "{agent}: {text}");
        }
    }
    let sandbox = Sandbox::new();
    sandbox.run(&["setup", "codex", "goose", "--yes"]).success();
    let program = Value::from(Sandbox::binary().to_str().expect("UTF-8"));
    let codex = sandbox.read(sandbox.home().join(CODEX));
    let wanted = format!("[mcp_servers.checkpoint]\ncommand = {program}\nargs = [\"mcp\"]\n");
    assert_eq!(codex, wanted);
    let goose = sandbox.read(sandbox.home().join(GOOSE));
    assert!(
        goose.starts_with("extensions:\n  checkpoint:\n    enabled: true\n"),
        "{goose}"
    );
    assert!(goose.contains(&format!("    cmd: {program}\n")), "{goose}");
    sandbox
        .run(&["setup", "goose", "--project", "--yes"])
        .code(1)
        .stdout_has("keeps no settings in a project");
}

/// Settings of others, each for an agent.
const OTHERS: [(&str, &str, &str); 29] = [
    (
        "goose",
        GOOSE,
        "desc: \"multi\nextensions:\nend: \"\nz: 1\n",
    ),
    ("goose", GOOSE, "extensions: &all\n  a: 1\n"),
    ("codex", CODEX, "# mine"),
    (
        "codex",
        CODEX,
        "model = \"x\" # mine\r\n\r\n[a]\r\nb = 1\r\n",
    ),
    (
        "codex",
        CODEX,
        "[mcp_servers.other]\ncommand = \"a\"\n\n# of the next\n[z]\n",
    ),
    (
        "codex",
        CODEX,
        "a = [\n  1,\n  [2],\n]\ntext = \"\"\"\n[mcp_servers.other]\n\"\"\"\n\n\n",
    ),
    ("codex", CODEX, "\n"),
    ("codex", CODEX, "[[profiles]]\nname = 'checkpoint'"),
    ("codex", CODEX, "\u{feff}a = 1\n"),
    ("goose", GOOSE, "GOOSE_MODEL: x"),
    (
        "goose",
        GOOSE,
        "# mine\n---\nGOOSE_MODEL: x\n\nextensions:\n    # first\n    developer:\n        enabled: true\n        args: []\n\n# last\nlist:\n- a: 1\n- b\n",
    ),
    ("goose", GOOSE, "extensions: {}\nb: 1\n"),
    ("goose", GOOSE, "extensions:\nb: 1\r\n"),
    (
        "goose",
        GOOSE,
        "extensions:\r\n  a:\r\n    cmd: checkpoint\r\n",
    ),
    ("goose", GOOSE, "extensions:\n  'a b':\n    cmd: x"),
    (
        "goose",
        GOOSE,
        "X: 'Set in config.yaml\n  extensions:\n  foo: x'\nextensions:\n  a: 1 # b\n",
    ),
    (
        "codex",
        CODEX,
        "n = \"\"\"\n[mcp_servers.checkpoint]\ncommand = \"a\"\n\"\"\"\n",
    ),
    ("cursor", ".cursor/mcp.json", "{ \"mcpServers\": { } }\n"),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"checkpoint\" }, // last\n  },\n}",
    ),
    ("copilot", ".copilot/mcp-config.json", "{\"mcpServers\":{}}"),
    ("copilot", ".copilot/mcp-config.json", "{ }"),
    (
        "amp",
        ".config/amp/settings.json",
        "{\r\n\t\"amp.mcpServers.x\": 1\r\n}\r\n",
    ),
    (
        "zed",
        ZED,
        "// Zed settings\n{\n  \"context_servers\": {\n    \"x\": {}\n  }\n}\n",
    ),
    ("zed", ZED, "// only a comment {}\n{}\n"),
    (
        "vscode",
        VSCODE,
        "{\n\t\"inputs\": [],\n\t\"servers\": {}\n}",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  \"$schema\": \"x\", /* a */\n}\n",
    ),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        "\u{feff}{\"mcpServers\":{\"a\":1}}",
    ),
    ("windsurf", ".codeium/windsurf/mcp_config.json", ""),
    ("windsurf", ".codeium/windsurf/mcp_config.json", "\n\n"),
];

#[test]
fn what_others_wrote_beside_our_server_stays_and_comes_back_byte_for_byte() {
    for (agent, file, text) in OTHERS {
        for later in [false, true] {
            let sandbox = Sandbox::new();
            let path = sandbox.home().join(file);
            sandbox.write(&path, text);
            let before = Tree::capture(sandbox.home());
            let old = linked(&sandbox, "before");
            run_as(&sandbox, &old, &["setup", agent, "--yes"]).success();
            sandbox.run(&["setup", agent, "--yes"]).success();
            let with = sandbox.read(&path);
            let program = Sandbox::binary().to_str().expect("UTF-8");
            assert_eq!(with.matches(program).count(), 1, "{text}\n{with}");
            assert!(!with.contains("/before/checkpoint"), "{text}\n{with}");
            sandbox
                .run(&["setup", agent])
                .success()
                .stdout_has("already set up");
            let is_json = !matches!(agent, "codex" | "goose");
            // A file of nothing is made anew.
            let is_nothing = text.trim().len() < 4;
            let has_more = later && !is_nothing && !text.starts_with('\u{feff}');
            let more = match (has_more, is_json) {
                (false, _) => "",
                (true, true) => "// later\n",
                (true, false) => "# later\n",
            };
            sandbox.write(&path, format!("{more}{with}"));
            sandbox.run(&["setup", "--remove", "--yes"]).success();
            let left = sandbox.read(&path);
            if has_more {
                // The end of the last line, and a value that is nothing, stay as they were needed.
                let tidy = |text: &str| text.trim_end().replace("extensions: {}", "extensions:");
                assert_eq!(tidy(&left), tidy(&format!("{more}{text}")), "from\n{with}");
            } else {
                assert_eq!(left, text, "from\n{with}");
                assert_eq!(Tree::capture(sandbox.home()), before, "{agent}");
            }
        }
    }
}

#[test]
fn a_server_of_our_name_that_is_another_is_left_alone_and_named() {
    let cases = [
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers":{"checkpoint":{"command":"npx","args":["mcp"]}}}"#,
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers":{"checkpoint":{"url":"https://x"}}}"#,
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            r#"{"mcpServers":{"checkpoint":{"command":"checkpoint","args":["serve"]}}}"#,
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            r#"{"mcp":{"checkpoint":{"command":["npx","mcp"]}}}"#,
        ),
        (
            "codex",
            CODEX,
            "[mcp_servers.checkpoint]\ncommand = \"other\"\nargs = [\"mcp\"]\n",
        ),
        (
            "codex",
            CODEX,
            "[mcp_servers]\ncheckpoint = { url = \"x\" }\n",
        ),
        (
            "goose",
            GOOSE,
            "extensions:\n  checkpoint:\n    cmd: other\n    args: [mcp]\n",
        ),
        (
            "goose",
            GOOSE,
            "extensions:\n  checkpoint:\n    type: builtin\n",
        ),
    ];
    for (agent, file, text) in cases {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(file);
        sandbox.write(&path, text);
        sandbox
            .run(&["setup", agent, "--yes"])
            .code(1)
            .stdout_has("is another server");
        assert_eq!(sandbox.read(&path), text);
        sandbox.run(&["setup", "--remove", "--yes"]).success();
        assert_eq!(sandbox.read(&path), text);
    }
}

#[test]
fn what_its_user_changed_in_our_entry_stays_and_only_the_program_follows() {
    let sandbox = Sandbox::new();
    let (old, new) = (linked(&sandbox, "it's \"old\""), linked(&sandbox, "new"));
    let [cursor, codex, goose] =
        [".cursor/mcp.json", CODEX, GOOSE].map(|file| sandbox.home().join(file));
    let agents = ["setup", "cursor", "codex", "goose", "--yes"];
    run_as(&sandbox, &old, &agents).success();
    sandbox.write(
        &cursor,
        sandbox
            .read(&cursor)
            .replace("\"mcp\"", "\"mcp\", \"--allow\", \"/srv\""),
    );
    sandbox.write(
        &codex,
        sandbox.read(&codex)
            + "tool_timeout_sec = 60\n\n[mcp_servers.checkpoint.env]\nA = \"1\"\n\n# mine\n[z]\n",
    );
    // As Goose writes it again, in its own order.
    let old_program = old.to_str().expect("UTF-8").replace('\'', "''");
    sandbox.write(
        &goose,
        format!("extensions:\n  checkpoint:\n    args:\n    - mcp\n    bundled: null\n    cmd: '{old_program}'\n    enabled: false\n    type: stdio\n"),
    );
    let texts = [&cursor, &codex, &goose].map(|path| sandbox.read(path));
    run_as(&sandbox, &new, &agents).success();
    let new_program = new.to_str().expect("UTF-8");
    let quoted = Value::from(old.to_str().expect("UTF-8")).to_string();
    let wanted = Value::from(new_program).to_string();
    for (path, text) in [&cursor, &codex].into_iter().zip(&texts) {
        assert_eq!(sandbox.read(path), text.replace(&quoted, &wanted));
    }
    assert_eq!(
        sandbox.read(&goose),
        texts[2].replace(&format!("'{old_program}'"), &wanted)
    );
    run_as(&sandbox, &new, &["setup", "--remove", "--yes"]).success();
    assert!(!cursor.exists() && !goose.exists());
    assert_eq!(sandbox.read(&codex), "\n# mine\n[z]\n");
}

#[test]
fn an_entry_that_was_changed_beyond_recognition_is_named_and_not_forgotten() {
    let changes: [(&str, &str, &str, &str); 3] = [
        ("zed", ZED, "\"command\": \"", "\"command\": \"/opt/run"),
        ("codex", CODEX, "command = \"", "command = \"/opt/run"),
        ("goose", GOOSE, "cmd: \"", "cmd: \"/opt/run"),
    ];
    for (agent, file, from, to) in changes {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(file);
        sandbox.run(&["setup", agent, "--yes"]).success();
        let program = Sandbox::binary().display().to_string();
        let to = format!("{to}-{agent}\"");
        let text = sandbox
            .read(&path)
            .replace(&format!("{from}{program}\""), &to);
        sandbox.write(&path, &text);
        for _ in 0..2 {
            sandbox
                .run(&["setup", agent, "--remove", "--yes"])
                .code(1)
                .stdout_has("was changed since it was written");
            assert_eq!(sandbox.read(&path), text);
        }
    }
}

#[test]
fn goose_keeps_a_server_that_its_user_wrote_and_comments_beside_ours() {
    let sandbox = Sandbox::new();
    let path = sandbox.home().join(GOOSE);
    let text = "extensions:\n  checkpoint:\n    cmd: /opt/bin/checkpoint\n    args:\n    - mcp\n    - --allow\n    - /x\n    enabled: false\n";
    sandbox.write(&path, text);
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    assert_eq!(sandbox.read(&path), text);
    sandbox.write(&path, "GOOSE_MODEL: x\n");
    sandbox.run(&["setup", "goose", "--yes"]).success();
    let with = sandbox.read(&path);
    let with = with.replace("extensions:\n", "extensions:\n  # mine\n");
    sandbox.write(
        &path,
        with.replace("  checkpoint:\n", "  checkpoint: # ours\n"),
    );
    sandbox
        .run(&["setup", "goose"])
        .success()
        .stdout_has("already set up");
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    assert_eq!(
        sandbox.read(&path),
        "GOOSE_MODEL: x\nextensions: {}\n  # mine\n"
    );
}

#[test]
fn the_record_of_a_copied_or_moved_home_names_the_files_of_this_one() {
    let sandbox = Sandbox::new();
    let agents = ["setup", "cursor", "codex", "zed", "goose", "--yes"];
    sandbox.write(
        sandbox.home().join(".cursor/mcp.json"),
        "{\"mcpServers\": {}}",
    );
    let before = Tree::capture(sandbox.home());
    sandbox.run(&agents).success();
    let first = Tree::capture(sandbox.home());
    let copy = sandbox.top().join("copy");
    let copied = std::process::Command::new("cp")
        .args(["-a".as_ref(), sandbox.home().as_os_str(), copy.as_os_str()])
        .status();
    assert!(copied.expect("cp").success());
    let mut remove = sandbox.command(&[], &["setup", "--remove", "--yes"]);
    remove.env("HOME", &copy);
    crate::bench::Run::of(remove).success();
    Tree::capture(sandbox.home()).assert_is(&first, "the home that was copied");
    Tree::capture(&copy).assert_is(&before, "the copy");
}

#[test]
fn a_moved_program_is_found_among_ten_thousand_servers() {
    let codex = |at| format!("[mcp_servers.s{at}]\ncommand = \"c\"\nargs = [\"mcp\"]\n");
    let goose = |at| format!("  s{at}:\n    cmd: c\n    args:\n    - mcp\n");
    let sandbox = Sandbox::new();
    let [toml, yaml] = [CODEX, GOOSE].map(|file| sandbox.home().join(file));
    let others: String = (0..10_000).map(codex).collect();
    sandbox.write(&toml, others);
    let (old, new) = (linked(&sandbox, "old"), linked(&sandbox, "new"));
    let agents = ["setup", "codex", "goose", "--yes"];
    run_as(&sandbox, &old, &agents).success();
    let others: String = (0..10_000).map(goose).collect();
    let ours = sandbox.read(&yaml);
    let ours = ours.split_once('\n').expect("a head").1;
    sandbox.write(&yaml, format!("extensions:\n{others}{ours}"));
    run_as(&sandbox, &new, &agents).success();
    for path in [toml, yaml] {
        let text = sandbox.read(path);
        assert!(text.contains("/new/checkpoint") && !text.contains("/old/checkpoint"));
    }
}

#[test]
fn settings_that_cannot_be_edited_safely_are_left_and_named() {
    let cases = [
        ("codex", CODEX, "["),
        (
            "codex",
            CODEX,
            "mcp_servers = { other = { command = \"a\" } }\n",
        ),
        ("codex", CODEX, "mcp_servers = 1\n"),
        ("codex", CODEX, "a = 1\na = 2\n"),
        ("goose", GOOSE, "{extensions: {}}\n"),
        ("goose", GOOSE, "extensions: { a: {} }\n"),
        ("goose", GOOSE, "extensions:\n\ta: 1\n"),
        ("goose", GOOSE, "extensions:\n  - a\n"),
        (
            "goose",
            GOOSE,
            "a: |\n  x\nextensions:\n  b: 1\nextensions:\n  c: 1\n",
        ),
        ("goose", GOOSE, "a: 1\n---\nb: 2\n"),
        ("goose", GOOSE, "\"extensions\":\n  a: 1\n"),
        ("goose", GOOSE, "extensions :\n  a: 1\n"),
        ("goose", GOOSE, "  a: 1\n  extensions:\n    b: 1\n"),
        ("goose", GOOSE, "extensions:\n- a\n- b\n"),
        ("goose", GOOSE, "- a\n- b\n"),
        ("goose", GOOSE, "a: |+\n  text"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}"),
        ("cursor", ".cursor/mcp.json", "[]"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
        ),
    ];
    for (agent, file, text) in cases {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(file);
        sandbox.write(&path, text);
        sandbox
            .run(&["setup", agent, "--yes"])
            .code(1)
            .stdout_has("left");
        assert_eq!(sandbox.read(&path), text, "{agent}");
        sandbox.run(&["setup", "--remove", "--yes"]).success();
        assert_eq!(sandbox.read(&path), text, "{agent}");
    }
}

#[test]
fn doctor_names_a_server_that_is_gone_or_calls_another_program() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("one");
    let old = linked(&sandbox, "old");
    run_as(&sandbox, &old, &["setup", "zed", "codex", "--yes"]).success();
    let run = sandbox.run(&["doctor"]).code(1);
    run.stdout_has("zed")
        .stdout_has("calls ")
        .stdout_has("/old/checkpoint");
    sandbox.run(&["setup", "zed", "codex", "--yes"]).success();
    let run = sandbox.run(&["doctor"]).success();
    run.stdout_has("the server is installed");
    crate::bench::fixtures::remove(&sandbox.home().join(ZED));
    let run = sandbox.run(&["doctor"]).code(1);
    let file = os::native(ZED.into()).display().to_string();
    run.stdout_has(&format!("{file} is not as it would be written"))
        .stdout_has("checkpoint setup zed");
}
