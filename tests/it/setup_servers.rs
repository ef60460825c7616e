//! The entry of our MCP server that `setup` writes for each agent: its form, what others wrote
//! beside it, and its removal.

use serde_json::{Value, json};

use crate::bench::{Sandbox, Tree};
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
    sandbox.ok("setup codex --yes");
    let program = Value::from(Sandbox::binary().to_str().expect("UTF-8"));
    let codex = sandbox.read(sandbox.home().join(CODEX));
    let wanted = format!("[mcp_servers.checkpoint]\ncommand = {program}\nargs = [\"mcp\"]\n");
    assert_eq!(codex, wanted);
    sandbox
        .fails(1, "setup goose --project --yes")
        .stdout_has("keeps no settings in a project");
}

/// Settings of others, each for an agent.
const OTHERS: [(&str, &str, &str); 20] = [
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
            let is_json = agent != "codex";
            // A file of nothing is made anew, and what is empty without ours goes with them.
            let is_nothing = text.trim().len() < 4 || text.replace(' ', "").contains("{}");
            let has_more = later && !is_nothing && !text.starts_with('\u{feff}');
            let more = match (has_more, is_json) {
                (false, _) => "",
                (true, true) => "// later\n",
                (true, false) => "# later\n",
            };
            sandbox.write(&path, format!("{more}{with}"));
            sandbox.ok("setup --remove --yes");
            let left = sandbox.read(&path);
            if has_more {
                // The end of the last line stays as it was needed.
                let expected = format!("{more}{text}");
                assert_eq!(left.trim_end(), expected.trim_end(), "from\n{with}");
            } else {
                assert_eq!(left, text, "from\n{with}");
                assert_eq!(Tree::capture(sandbox.home()), before, "{agent}");
            }
        }
    }
}

#[test]
fn what_its_user_changed_in_our_entry_stays_and_only_the_program_follows() {
    let sandbox = Sandbox::new();
    let (old, new) = (linked(&sandbox, "it's \"old\""), linked(&sandbox, "new"));
    let [cursor, codex] = [".cursor/mcp.json", CODEX].map(|file| sandbox.home().join(file));
    let agents = ["setup", "cursor", "codex", "--yes"];
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
    let texts = [&cursor, &codex].map(|path| sandbox.read(path));
    run_as(&sandbox, &new, &agents).success();
    let new_program = new.to_str().expect("UTF-8");
    let quoted = Value::from(old.to_str().expect("UTF-8")).to_string();
    let wanted = Value::from(new_program).to_string();
    for (path, text) in [&cursor, &codex].into_iter().zip(&texts) {
        assert_eq!(sandbox.read(path), text.replace(&quoted, &wanted));
    }
    run_as(&sandbox, &new, &["setup", "--remove", "--yes"]).success();
    assert!(!cursor.exists());
    assert_eq!(sandbox.read(&codex), "\n# mine\n[z]\n");
}
