//! The entry of our MCP server that `setup` writes for each agent, beside what others wrote.

use crate::bench::{Sandbox, Tree};
use crate::setup::{linked, run_as};

/// Rows of an agent, a file and what others wrote there, as a string of JSON.
const OTHERS: &str = include_str!("setup_servers.txt");

/// The place of a file below the home directory.
fn place(file: &str) -> &str {
    match (file, cfg!(windows)) {
        ("VSCODE", true) => "AppData/Roaming/Code/User/mcp.json",
        ("VSCODE", false) => ".config/Code/User/mcp.json",
        ("ZED", true) => "AppData/Roaming/Zed/settings.json",
        ("ZED", false) => ".config/zed/settings.json",
        (other, _) => other,
    }
}

#[test]
fn what_others_wrote_beside_our_server_stays_and_comes_back_byte_for_byte() {
    for row in OTHERS.lines() {
        let (agent, rest) = row.split_once(' ').expect("an agent");
        let (file, text) = rest.split_once(' ').expect("a file");
        let text: &str = &serde_json::from_str::<String>(text).expect("a text");
        for later in [false, true] {
            let sandbox = Sandbox::new();
            let path = sandbox.home().join(place(file));
            sandbox.write(&path, text);
            let before = Tree::capture(sandbox.home());
            let old = linked(&sandbox, "before");
            run_as(&sandbox, &old, &["setup", agent, "--yes"]).success();
            sandbox.ok(format!("setup {agent} --yes"));
            let with = sandbox.read(&path);
            let program = Sandbox::binary().to_str().expect("UTF-8");
            assert_eq!(with.matches(program).count(), 1, "{text}\n{with}");
            assert!(!with.contains("/before/checkpoint"), "{text}\n{with}");
            let again = sandbox.ok(format!("setup {agent}"));
            again.stdout_has("already set up");
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
