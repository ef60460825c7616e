//! The entry of our MCP server that `setup` writes for each agent, beside what others wrote.

use crate::bench::{Sandbox, Tree};
use crate::setup::{linked, run_as};

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

/// Settings of others, by agent and file.
const OTHERS: [(&str, &str, &[&str]); 9] = [
    (
        "codex",
        CODEX,
        &[
            "# mine",
            "model = \"x\" # mine\r\n\r\n[a]\r\nb = 1\r\n",
            "[mcp_servers.other]\ncommand = \"a\"\n\n# of the next\n[z]\n",
            "a = [\n  1,\n  [2],\n]\ntext = \"\"\"\n[mcp_servers.other]\n\"\"\"\n\n\n",
            "\n",
            "[[profiles]]\nname = 'checkpoint'",
            "\u{feff}a = 1\n",
            "n = \"\"\"\n[mcp_servers.checkpoint]\ncommand = \"a\"\n\"\"\"\n",
        ],
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        &[
            "{ \"mcpServers\": { } }\n",
            "{\n  // mine\n  \"mcpServers\": {\n    \"a\": { \"command\": \"checkpoint\" }, // last\n  },\n}",
        ],
    ),
    (
        "copilot",
        ".copilot/mcp-config.json",
        &["{\"mcpServers\":{}}", "{ }"],
    ),
    (
        "amp",
        ".config/amp/settings.json",
        &["{\r\n\t\"amp.mcpServers.x\": 1\r\n}\r\n"],
    ),
    (
        "zed",
        ZED,
        &[
            "// Zed settings\n{\n  \"context_servers\": {\n    \"x\": {}\n  }\n}\n",
            "// only a comment {}\n{}\n",
        ],
    ),
    (
        "vscode",
        VSCODE,
        &["{\n\t\"inputs\": [],\n\t\"servers\": {}\n}"],
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        &["{\n  \"$schema\": \"x\", /* a */\n}\n"],
    ),
    (
        "cline",
        ".cline/data/settings/cline_mcp_settings.json",
        &["\u{feff}{\"mcpServers\":{\"a\":1}}"],
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        &["", "\n\n"],
    ),
];

#[test]
fn what_others_wrote_beside_our_server_stays_and_comes_back_byte_for_byte() {
    let others = OTHERS.iter();
    let others = others
        .flat_map(|(agent, file, texts)| texts.iter().map(move |text| (*agent, *file, *text)));
    for (agent, file, text) in others {
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
