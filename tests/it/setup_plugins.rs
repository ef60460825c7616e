//! The plugin files for agents that run JavaScript: what they tell, and that they throw nothing and
//! come back in time whatever the program is.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::bench::{Run, Sandbox, given, golden, skipped};
use crate::setup::{linked, run_as};

/// Plays a session, and every handler once more with odd arguments.
const PLAY: &str = r#"
const odd = [[], [undefined], [null, null], [{}, {}], [1, "2"]];
const all = async (handlers, special) => {
  for (const handler of handlers) for (const words of odd) {
    const answer = await handler(...words);
    if (handler === special && answer?.action !== "allow") throw new Error("no answer");
  }
};
const opencode = await (await import("./opencode.mjs")).CheckpointPlugin({ directory: process.cwd() });
const event = (type, properties) => opencode.event({ event: { type, properties } });
await event("session.created", { info: { id: "s" } });
await event("session.created", { info: { id: "sub", parentID: "s" } });
await opencode["chat.message"]({ sessionID: "s" }, { message: { id: "m" }, parts: [
  { type: "text", text: "do it" }, { type: "text", text: "not typed", synthetic: true } ] });
await opencode["tool.execute.before"]({ tool: "bash", sessionID: "sub", callID: "c" }, { args: { command: "ls" } });
await opencode["tool.execute.before"]({ tool: "read", sessionID: "s", callID: "d" }, { args: {} });
await event("session.idle", { sessionID: "s" });
await event("session.error", { sessionID: "s", error: { name: "APIError" } });
await event("file.edited", { file: "/p/f" });
await event("file.edited", {});
const on = {};
const amp = (await import("./amp.mjs")).default;
amp({ on: (name, handler) => { on[name] = handler; } });
const context = { thread: { id: "T" } };
await on["session.start"]({}, context);
await on["agent.start"]({ message: "do it", id: 7 }, context);
await on["tool.call"]({ tool: "Bash", toolUseID: "u", input: { cmd: "ls" } }, context);
await on["tool.result"]({ tool: "edit_file", input: { path: "/p/f" } }, context);
await on["tool.result"]({ tool: "Read", input: { path: "/p/f" } }, context);
await on["agent.end"]({ status: "error" }, context);
const cline = (await import("./cline.mjs")).default.hooks;
await cline.beforeRun({ sessionId: "k", userMessage: "do it" });
await cline.beforeTool({ sessionId: "k", toolCall: { toolName: "run_commands", toolCallId: "x" }, input: { commands: ["ls"] } });
await cline.afterTool({ sessionId: "k", toolCall: { toolName: "replace_in_file" }, input: { path: "/p/f" } });
await cline.afterTool({ sessionId: "k", toolCall: { toolName: "read_file" }, input: { path: "/p/f" } });
await cline.afterRun({ sessionId: "k" });
if (process.argv[2] === "odd") {
  await all(Object.values(opencode));
  amp({});
  await all(Object.values(on), on["tool.call"]);
  await all(Object.values(cline));
}
console.log("played");
"#;

fn node() -> Option<&'static Path> {
    let found = ["/usr/bin/node", "/usr/local/bin/node"].map(Path::new);
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        skipped("needs node");
    }
    found
}

/// Writes the plugins with the path of a stand-in for the program.
fn plugins(program: Option<&str>) -> Sandbox {
    let sandbox = Sandbox::new();
    let path = linked(&sandbox, "bin");
    for (agent, file, module) in [
        (
            "opencode",
            ".config/opencode/plugins/checkpoint.js",
            "opencode.mjs",
        ),
        ("amp", ".config/amp/plugins/checkpoint.ts", "amp.mjs"),
        ("cline", ".cline/plugins/checkpoint.ts", "cline.mjs"),
    ] {
        run_as(&sandbox, &path, &["setup", agent, "--yes"]).success();
        sandbox.write(module, sandbox.read(sandbox.home().join(file)));
    }
    crate::bench::fixtures::remove(&path);
    if let Some(text) = program {
        sandbox.write(&path, text).chmod(&path, 0o755);
    }
    sandbox.write("play.mjs", PLAY);
    sandbox
}

fn play(node: &Path, sandbox: &Sandbox, how: &str) -> Run {
    let mut command = Command::new(node);
    command.args(["play.mjs", how]).current_dir(sandbox.root());
    Run::of(command).success().stdout_has("played")
}

#[test]
fn each_plugin_tells_a_session_in_the_words_that_the_hook_reads() {
    let node = given!(node());
    let sandbox = plugins(Some("#!/bin/sh\necho \"$* $(cat)\" >>told\n"));
    play(node, &sandbox, "plainly");
    let told = sandbox.read("told");
    let told = told.replace(&sandbox.root().display().to_string(), "ROOT");
    let mut told: Vec<&str> = told.lines().collect();
    // The first checkpoint is made beside what follows, by agents that know nothing of each other.
    told.sort_by_key(|line| (line.contains("--first"), line.split(['{', ' ']).nth(2)));
    golden("snapshots/plugins.txt", &(told.join("\n") + "\n"));
}

#[test]
fn no_plugin_throws_or_hangs_whatever_the_program_is() {
    let node = given!(node());
    for program in [
        None,
        Some("no program"),
        Some("#!/bin/sh\nexec /bin/false\n"),
        Some("#!/bin/sh\necho \"no command 'hook'\" >&2\nexit 2\n"),
    ] {
        let run = play(node, &plugins(program), "odd");
        assert_eq!(run.stderr, "", "{program:?}");
    }
    // One that hangs is given up, here after a second and not after five.
    let sandbox = plugins(Some("#!/bin/sh\nexec sleep 100\n"));
    for module in ["opencode.mjs", "amp.mjs", "cline.mjs"] {
        let text = sandbox.read(module);
        sandbox.write(module, text.replace("seconds * 1000", "seconds * 40"));
    }
    let start = Instant::now();
    play(node, &sandbox, "plainly");
    assert!(start.elapsed() < Duration::from_secs(20));
}
