//! `hook`: a checkpoint at each moment that matters, and never anything that stops an agent.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::fixtures::{files_below, write_description};
use crate::bench::screen::screen;
use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox, Tree, limit};

/// An agent at work in the sandbox.
pub struct Agent<'s> {
    pub sandbox: &'s Sandbox,
    pub name: &'static str,
    pub session: &'static str,
}

impl Agent<'_> {
    /// Runs the hook with an event of Claude Code, whose words all others resemble.
    pub fn event(&self, name: &str, fields: &Value) -> Run {
        let mut document = json!({
            "session_id": self.session,
            "cwd": self.sandbox.root(),
            "hook_event_name": name,
        });
        for (key, value) in fields.as_object().expect("an object") {
            document[key] = value.clone();
        }
        hook(
            self.sandbox,
            &["--agent", self.name],
            document.to_string().as_bytes(),
        )
    }

    pub fn prompt(&self, text: &str) -> Run {
        self.event("UserPromptSubmit", &json!({ "prompt": text }))
    }

    pub fn shell(&self, command: &str) -> Run {
        let call = json!({ "tool_name": "Bash", "tool_use_id": format!("call of {} bytes", command.len()), "tool_input": { "command": command } });
        self.event("PreToolUse", &call)
    }
}

/// Runs the hook with these words and bytes; it ends with 0, silently, with one document at most.
pub fn hook(sandbox: &Sandbox, words: &[&str], event: &[u8]) -> Run {
    let mut command = sandbox.command(&[], &[&["hook"], words].concat());
    let began = Instant::now();
    let output = limit::output_fed(&mut command, event).expect("it can be started");
    let run = Run::from_output(format!("{command:?}"), &output);
    // Under Wine a program takes long to start.
    let limit = Duration::from_millis(if cfg!(windows) { 9000 } else { 2200 });
    assert!(began.elapsed() < limit, "{run}");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    if !run.stdout.is_empty() {
        let answer: Value = serde_json::from_str(&run.stdout).expect("one document");
        assert!(answer.is_object(), "{run}");
    }
    run
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox
}

pub fn claude(sandbox: &Sandbox) -> Agent<'_> {
    Agent {
        sandbox,
        name: "claude",
        session: "session-one",
    }
}

/// Reasons of all checkpoints, oldest first.
fn reasons(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.listed();
    let reason = |row: &Value| row["reason"].as_str().expect("a reason").to_owned();
    listed.iter().rev().map(reason).collect()
}

#[test]
fn each_moment_has_its_checkpoint_and_an_unchanged_directory_needs_none() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.event("SessionStart", &json!({})).stdout_is("");
    assert!(!sandbox.store().exists());
    agent.prompt("\n  fix the bug  \nall of it").stdout_is("");
    agent.prompt("and on");
    for (at, name) in ["Stop", "StopFailure", "PreCompact"].iter().enumerate() {
        agent.event(name, &json!({ "prompt_id": format!("before {at}") }));
        sandbox.write("a", format!("{at} of the turn"));
        agent.event(name, &json!({ "error": "rate_limit", "at": at }));
    }
    agent.shell("make it");
    sandbox.write("b", "by the shell");
    agent.shell("make   more");
    agent.event("SessionEnd", &json!({}));
    assert_eq!(
        reasons(&sandbox),
        [
            "before: fix the bug",
            "after: and on",
            "turn failed (rate_limit)",
            "before compaction",
            "before Bash: make   more",
        ]
    );
    let shown = sandbox.shown("latest")["provenance"].clone();
    assert_eq!(shown["agent_name"], "claude");
    assert_eq!(shown["session"], "session-one");
    assert_eq!(shown["prompt_id"], "#2");
    assert_eq!(shown["tool_name"], "Bash");
    assert_eq!(shown["tool_use_id"], "call of 11 bytes");
    assert_eq!(shown["moment"], "pre-tool");
    let answer = agent.event("SessionStart", &json!({ "source": "resume" }));
    let answer: Value = serde_json::from_str(&answer.stdout).expect("a document");
    let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
    let context = context.expect("a line");
    assert!(context.contains("5 checkpoints"), "{context}");
    assert!(context.chars().count() <= 600, "{context}");
    sandbox.ok("verify --full");
}

#[test]
fn notes_of_hooks_are_not_captured_where_temporary_files_lie_in_the_root() {
    let sandbox = project();
    sandbox.env("TMPDIR", sandbox.root());
    claude(&sandbox).prompt("one");
    let notes = || fs::read_dir(sandbox.root()).expect("a directory").flatten();
    let is_note = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(".checkpoint-");
    assert!(notes().any(|entry| is_note(&entry.file_name())));
    let listed = sandbox.ok("ls -R @");
    assert_eq!(listed.stdout, "a\n");
    sandbox.ok("status").stdout_has("nothing since");
}

#[test]
fn the_first_checkpoint_of_a_directory_has_a_handler_of_its_own() {
    let sandbox = project();
    let start =
        json!({ "session_id": "s", "cwd": sandbox.root(), "hook_event_name": "SessionStart" });
    let first = || {
        hook(
            &sandbox,
            &["--agent", "claude", "--first"],
            start.to_string().as_bytes(),
        )
    };
    first().stdout_is("");
    sandbox.write("a", "2");
    first().stdout_is("");
    assert_eq!(reasons(&sandbox), ["session start"]);
}

#[test]
fn the_same_event_counts_once_whichever_agent_tells_it() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("one");
    let cursor = json!({
        "conversation_id": "other", "generation_id": "g", "hook_event_name": "beforeSubmitPrompt",
        "workspace_roots": [sandbox.root()], "prompt": "one", "user_email": "me@example.org",
    });
    hook(
        &sandbox,
        &["--agent", "cursor"],
        cursor.to_string().as_bytes(),
    );
    agent.prompt("one");
    assert_eq!(reasons(&sandbox), ["before: one"]);
    sandbox.write("a", "2").at("2026-11-24T12:00:20Z");
    agent.prompt("one");
    sandbox.at("2026-11-24T12:01:00Z");
    agent.prompt("one");
    assert_eq!(reasons(&sandbox), ["before: one", "before: one"]);
    let prompts = sandbox.json("rewind");
    assert_eq!(prompts["prompts"].as_array().map(Vec::len), Some(3));
    for file in files_below(&sandbox.store()) {
        let bytes = fs::read(&file).expect("it can be read");
        assert!(
            !String::from_utf8_lossy(&bytes).contains("me@example"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn no_checkpoint_is_made_while_a_subagent_works_or_a_hold_stands() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("go");
    let changed = |text: &str| {
        sandbox.write("a", text);
    };
    changed("in a subagent");
    let call = json!({ "tool_name": "Bash", "agent_id": "x", "tool_input": { "command": "c" } });
    agent.event("PreToolUse", &call);
    agent.event("SubagentStart", &json!({ "agent_id": "x" }));
    agent.shell("one");
    agent.event("Stop", &json!({}));
    agent.event("SubagentStop", &json!({ "agent_id": "x" }));
    let tasks = json!({ "background_tasks": [{ "type": "local_agent", "status": "running" }] });
    agent.event("Stop", &tasks);
    sandbox.ok("hold wave");
    agent.shell("two").stdout_is("");
    sandbox.ok("release wave");
    assert_eq!(reasons(&sandbox), ["before: go"]);
    agent.shell("three");
    assert_eq!(
        reasons(&sandbox).last().map(String::as_str),
        Some("before Bash: three")
    );
}

#[test]
fn the_settings_of_the_user_say_when_and_with_which_words() {
    for (settings, expected) in [
        (
            "auto = \"prompts\"",
            vec!["before: secret plan", "after: secret plan"],
        ),
        ("auto = \"off\"", vec![]),
        (
            "prompts = \"off\"",
            vec!["before prompt 1", "before Bash", "after prompt 1"],
        ),
    ] {
        let sandbox = project();
        sandbox.user_config(settings);
        let agent = claude(&sandbox);
        agent.prompt("secret plan\nin two lines");
        sandbox.write("a", "2");
        agent.shell("rm secret");
        sandbox.write("a", "3");
        agent.event("Stop", &json!({}));
        let expected: Vec<String> = expected
            .iter()
            .map(|text| {
                text.replace("before prompt", "before: prompt")
                    .replace("after prompt", "after: prompt")
            })
            .collect();
        assert_eq!(reasons(&sandbox), expected, "{settings}");
        if settings.starts_with("prompts") {
            for file in files_below(&sandbox.store()) {
                let bytes = fs::read(&file).expect("it can be read");
                assert!(
                    !String::from_utf8_lossy(&bytes).contains("secret"),
                    "{}",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn a_turn_that_failed_marks_the_open_workflow_as_interrupted() {
    let sandbox = project();
    sandbox.ok("workflow init --id run1 --phase one");
    let agent = claude(&sandbox);
    agent.prompt("go");
    agent.event("StopFailure", &json!({ "error": "rate_limit" }));
    sandbox.ok("workflow status").stdout_has("rate_limit");
    agent
        .event("SessionStart", &json!({}))
        .stdout_has("unfinished");
}

#[test]
fn whatever_comes_in_it_ends_with_0_and_says_nothing() {
    let sandbox = project();
    let deep = [vec![b'['; 5000], vec![b']'; 5000]].concat();
    let huge = format!(
        "{{\"hook_event_name\":\"Stop\",\"x\":\"{}\"}}",
        "y".repeat(9 << 20)
    );
    let inputs: [&[u8]; 10] = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"{\"hook_event_name\":5}",
        b"{\"hook_event_name\":\"Unknown\"}",
        &deep,
        huge.as_bytes(),
    ];
    for words in [
        &[][..],
        &["--agent", "claude"],
        &["--agent", "nobody"],
        &["--bad", "x"],
        &["a", "b"],
    ] {
        for input in inputs {
            hook(&sandbox, words, input).stdout_is("");
        }
    }
    let gone =
        json!({ "session_id": "s", "cwd": sandbox.top().join("gone"), "hook_event_name": "Stop" });
    hook(&sandbox, &[], gone.to_string().as_bytes());
    assert!(!sandbox.store().exists());
}

/// Damages the place of the store in some way.
type Harm = fn(&Sandbox);

#[test]
fn a_store_that_cannot_be_used_is_told_once_for_each_session() {
    let harms: [(&str, Harm); 2] = [
        ("newer format", |sandbox| {
            write_description(&sandbox.store(), "format 2\nroot /elsewhere\n");
        }),
        ("a file as the base", |sandbox| {
            fs::remove_dir_all(sandbox.base()).expect("it can be removed");
            fs::write(sandbox.base(), "x").expect("it can be written");
        }),
    ];
    for (name, harm) in harms {
        let sandbox = project();
        let temporary = sandbox.home().join("tmp");
        fs::create_dir(&temporary).expect("it can be made");
        sandbox.env("TMPDIR", &temporary);
        sandbox.create("first");
        harm(&sandbox);
        sandbox.write("a", "2");
        let agent = claude(&sandbox);
        let told = agent.prompt("one");
        assert!(told.stdout.contains("systemMessage"), "{name}: {told}");
        agent.prompt("two").stdout_is("");
        let other = Agent {
            session: "other",
            ..claude(&sandbox)
        };
        assert!(
            other.prompt("three").stdout.contains("systemMessage"),
            "{name}"
        );
    }
}

#[test]
fn a_lock_that_another_holds_is_waited_for_within_the_budget() {
    let sandbox = project();
    sandbox.create("first");
    sandbox.write("a", "2");
    let lock = File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    lock.lock().expect("it is free");
    let agent = claude(&sandbox);
    let told = agent.prompt("one");
    assert!(told.stdout.contains("systemMessage"), "{told}");
    // A question does not wait for the store.
    agent
        .shell("checkpoint restore @ --yes")
        .stdout_has("\"ask\"");
    drop(lock);
    agent.prompt("two");
    assert_eq!(reasons(&sandbox), ["first", "before: two"]);
}

#[test]
fn a_rewind_goes_back_to_before_a_prompt_and_undo_takes_it_back() {
    let sandbox = project();
    let agent = claude(&sandbox);
    let mut states = Vec::new();
    for number in 1..=3 {
        agent.prompt(&format!("prompt number {number}"));
        states.push(sandbox.tree());
        sandbox.write("a", format!("after {number}"));
        sandbox.write(format!("new {number}"), "x");
    }
    let end = sandbox.tree();
    let listed = sandbox.ok("rewind").stdout_has("prompt number 2");
    assert_eq!(listed.stdout.lines().count(), 3, "{listed}");
    // The newest first, each with what changed in its turn.
    let first = listed.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with("*  3  ") && first.ends_with("prompt number 3"),
        "{listed}"
    );
    assert_eq!(listed.stdout.matches("+1 ~1 -0").count(), 2, "{listed}");
    for (selector, at) in [
        ("prompt:~1", 2),
        ("prompt:~3", 0),
        ("prompt:2", 1),
        ("session:session-one", 0),
    ] {
        let to = sandbox.home().join("elsewhere");
        let _ = fs::remove_dir_all(&to);
        sandbox
            .run(&["restore", selector, "--to", &to.to_string_lossy()])
            .success();
        Tree::capture(&to).assert_is(&states[at], selector);
    }
    sandbox
        .ok("rewind 2 --yes")
        .stderr_has("for the conversation, in Claude Code: /rewind, Restore conversation");
    sandbox.tree().assert_is(&states[1], "after the rewind");
    let listed = sandbox.ok("rewind");
    let here = listed.stdout.lines().find(|line| line.starts_with('*'));
    assert!(
        here.is_some_and(|line| line.starts_with("*  2  ")),
        "{listed}"
    );
    listed.stderr_has("* you are here\n");
    let data = sandbox.json("rewind");
    assert_eq!(
        (&data["position"], &data["prompts"][0]["number"]),
        (&2.into(), &3.into())
    );
    assert_eq!(data["prompts"][2]["counts"]["added"], 1);
    agent.prompt("another way");
    sandbox.ok("rewind").stdout_has("(again from before 2)");
    sandbox.undo().success();
    sandbox.tree().assert_is(&end, "after undo");
    sandbox.fails(3, "rewind 9").stderr_has("no prompt 9");
    sandbox
        .fails(3, "restore prompt:9 --yes")
        .stderr_has("checkpoint rewind");
    let of_session = sandbox.ok("list --session session-one --json");
    assert_eq!(
        of_session.data()["checkpoints"].as_array().map(Vec::len),
        Some(4)
    );
    sandbox.fails(3, "list --session unknown");
}

#[test]
fn a_rewind_says_whose_prompts_it_takes_back_too() {
    let sandbox = project();
    let (agent, other) = (
        claude(&sandbox),
        Agent {
            name: "codex",
            session: "thread",
            ..claude(&sandbox)
        },
    );
    other.prompt("before all of it");
    other.event("Stop", &json!({}));
    for number in 1..=2 {
        agent.prompt(&format!("mine {number}"));
        sandbox.write("a", format!("mine {number}"));
        other.prompt(&format!("theirs {number}"));
        sandbox.write("b", format!("theirs {number}"));
        other.event("Stop", &json!({}));
    }
    let rewind = |words: &[&str]| {
        let session = ["rewind", "--session", "session-one"];
        sandbox.run(&[&session[..], words].concat()).success()
    };
    rewind(&[]).stderr_has("codex had 3 prompts here too: 'checkpoint rewind --session thread'\n");
    let sentence = |count: &str| {
        format!("warning: this also takes back work of {count} of codex, session thread\n")
    };
    rewind(&["1", "--dry-run"]).stderr_has(&sentence("2 prompts"));
    let data = rewind(&["2", "--dry-run", "--json"]).json();
    assert_eq!(data["warnings"][0]["code"], "also_before");
    let unended = sandbox.cmd("rewind 1 --session thread --dry-run");
    unended.stderr_has("takes back work of 2 prompts of claude, session session-one\n");
    sandbox
        .cmd("rewind 2 --session thread --dry-run")
        .stderr_has("takes back work of 2 prompts of claude");
    agent.event("Stop", &json!({}));
    sandbox
        .cmd("rewind 3 --session thread --dry-run")
        .stderr_has("takes back work of 1 prompt of claude");
    let Some(run) = dialogue(
        &sandbox,
        "$checkpoint rewind 2 --session session-one",
        &[("[y/N]", "n\\n")],
    ) else {
        return;
    };
    let shown = screen(&run.clone().code(4).stdout).join("\n");
    assert!(
        shown.contains("Go back to before prompt 2 (mine 2)?"),
        "{run}"
    );
    assert_eq!(
        shown.matches(sentence("1 prompt").trim()).count(),
        1,
        "{run}"
    );
    rewind(&["2", "--yes"]).stderr_has(&sentence("1 prompt"));
    assert_eq!(sandbox.read("b"), "theirs 1");
}

#[test]
fn on_a_terminal_a_prompt_is_chosen_from_the_list() {
    let sandbox = project();
    let agent = claude(&sandbox);
    for number in 1..=2 {
        agent.prompt(&format!("prompt number {number}"));
        sandbox.write("a", format!("after {number}"));
    }
    let line = "stty rows 12 cols 120; $checkpoint rewind";
    // The plan of the second is shown in a moment.
    let keys = [
        ("which", "\\033[B"),
        ("uld modify", "'; sleep 1; printf '\\r"),
    ];
    let Some(run) = dialogue(&sandbox, line, &keys) else {
        return;
    };
    run.success();
    assert_eq!(sandbox.read("a"), "1");
    let left = dialogue(&sandbox, line, &[("which", "\\033")]);
    left.expect("a terminal").code(4);
}

#[test]
fn a_session_whose_first_checkpoint_is_gone_names_none() {
    let sandbox = project();
    let agent = claude(&sandbox);
    for number in 1..=3 {
        sandbox.write("a", format!("before {number}"));
        agent.prompt(&format!("prompt {number}"));
    }
    let ids = sandbox.listed_ids();
    let (oldest, second) = (ids[2].clone(), ids[1].clone());
    sandbox.ok("show session:session-one");
    sandbox.ok(format!("delete {oldest} --yes"));
    let run = sandbox.cmd("restore session:session-one --yes");
    let run = run.code(3).stderr_has("is no longer kept");
    run.stderr_has(&second[..8]);
    sandbox.ok(format!("delete {} {second} --yes", ids[0]));
    sandbox.fails(3, "restore session:session-one --yes");
}

#[test]
fn without_its_notes_a_session_is_told_by_the_checkpoints() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("one");
    sandbox.write("a", "2");
    agent.prompt("two");
    fs::remove_file(sandbox.store().join("checkpoint/agent-sessions")).expect("the notes");
    sandbox.ok("rewind").stdout_has("two");
    sandbox.ok("verify --full");
    sandbox.ok("restore prompt:1 --yes");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn a_forced_panic_stops_nothing() {
    let sandbox = project();
    // No thread can have so large a stack, so that starting one fails.
    sandbox.env("RUST_MIN_STACK", "99999999999999");
    claude(&sandbox).prompt("one").stdout_is("");
    assert!(Path::new(sandbox.root()).exists());
}

#[test]
fn checkpoints_before_tools_go_before_those_before_prompts() {
    let sandbox = project();
    sandbox.user_config("keep_auto = 3");
    let agent = claude(&sandbox);
    let changed = |text: &str| {
        sandbox.write("a", text);
    };
    agent.prompt("one");
    changed("tool one");
    agent.shell("one");
    changed("two");
    agent.prompt("two");
    let other = Agent {
        session: "session-two",
        ..claude(&sandbox)
    };
    changed("three");
    other.prompt("three");
    assert_eq!(
        reasons(&sandbox),
        ["before: one", "before: two", "before: three"]
    );
    changed("tool four");
    other.shell("four");
    assert_eq!(
        reasons(&sandbox),
        ["before: two", "before: three", "before Bash: four"]
    );
    sandbox.create("by hand");
    assert_eq!(reasons(&sandbox).len(), 3 + 1);
}

#[test]
fn a_call_of_ours_that_changes_files_is_asked_about_where_the_agent_can_ask() {
    let sandbox = project();
    sandbox.create("first");
    let line = "cd x && checkpoint restore @ --yes";
    for (name, tool, key) in [
        ("claude", "Bash", "/hookSpecificOutput/permissionDecision"),
        ("copilot", "bash", "/permissionDecision"),
    ] {
        let agent = Agent {
            name,
            ..claude(&sandbox)
        };
        let call = |command: &str, mode: &str| {
            agent.event(
                "PreToolUse",
                &json!({
                    "tool_name": tool, "tool_input": { "command": command },
                    "permission_mode": mode, "tool_use_id": format!("{command} {mode}"),
                }),
            )
        };
        let asked: Value = serde_json::from_str(&call(line, "default").stdout).expect("a document");
        assert_eq!(asked.pointer(key), Some(&json!("ask")), "{asked}");
        call("checkpoint restore @ --dry-run", "default").stdout_is("");
        call("git restore .", "default").stdout_is("");
        call(line, "bypassPermissions").stdout_is("");
    }
    // Gemini CLI without a person at its terminal would wait for an answer for ever.
    for name in ["codex", "cursor", "gemini", "opencode"] {
        let agent = Agent {
            name,
            ..claude(&sandbox)
        };
        agent.shell(line).stdout_is("");
    }
}

#[test]
fn a_session_is_named_exactly_and_the_current_one_comes_first() {
    let sandbox = project();
    let of = |session| Agent {
        session,
        ..claude(&sandbox)
    };
    of("sess1").prompt("mine");
    sandbox.write("a", "2");
    of("sess10").prompt("other");
    let listed = sandbox.ok("rewind").stdout_has("other");
    assert!(listed.stderr.contains("session sess10"), "{listed}");
    sandbox.ok("rewind --session sess1").stdout_has("mine");
    sandbox.ok("rewind --session sess").stdout_has("other");
    // The end of a turn of another session changes nothing.
    of("sess1").event("Stop", &json!({}));
    sandbox.ok("rewind").stdout_has("other");
    sandbox
        .env("CLAUDECODE", "1")
        .env("CLAUDE_CODE_SESSION_ID", "sess1");
    sandbox.ok("rewind").stdout_has("mine");
    sandbox.ok("rewind --session current").stdout_has("mine");
    sandbox.ok("restore session:current --yes");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn sessions_of_one_name_are_told_apart_by_their_agents() {
    let sandbox = project();
    let of = |name| Agent {
        sandbox: &sandbox,
        name,
        session: "one-name",
    };
    of("codex").prompt("of codex");
    sandbox.write("a", "2");
    of("claude").prompt("of claude");
    let told = "'checkpoint rewind --session codex:one-name'";
    sandbox.ok("rewind").stderr_has(told);
    for agent in ["codex", "claude"] {
        let name = format!("{agent}:one-name");
        let listed = sandbox.run(&["rewind", "--session", &name]).success();
        assert_eq!(listed.stdout.lines().count(), 1, "{listed}");
        listed.stdout_has(&format!("of {agent}"));
        let listed = sandbox.run(&["list", "--session", &name]).success();
        assert_eq!(listed.stdout.matches("before: ").count(), 1, "{listed}");
        let first = format!("session:{name}");
        let shown = sandbox.ok(format!("show {first}"));
        shown.stdout_has(&format!("of {agent}"));
    }
    let planned = ["rewind", "1", "--session", "codex:one-name", "--dry-run"];
    sandbox.run(&planned).success().stderr_has("codex:one-name");
}

#[test]
fn the_current_session_is_of_the_agent_in_whose_shell_this_runs() {
    let sandbox = project();
    let of = |name, session| Agent {
        sandbox: &sandbox,
        name,
        session,
    };
    of("opencode", "one").event("chat.message", &json!({ "prompt": "of opencode" }));
    sandbox.write("a", "2");
    of("codex", "two").prompt("of codex");
    let current = |told: &str| {
        let listed = sandbox.cmd("rewind --session current");
        listed.success().stdout_has(told);
    };
    current("of codex");
    sandbox.env("OPENCODE", "1");
    current("of opencode");
    sandbox.unset_env("OPENCODE").env("CURSOR_AGENT", "1");
    sandbox.fails(3, "rewind --session current");
    sandbox.ok("rewind").stdout_has("of codex");
}

#[test]
fn the_same_words_to_two_agents_or_after_a_turn_are_two_prompts() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("go on");
    sandbox.write("a", "2");
    let codex = Agent {
        name: "codex",
        session: "thread",
        ..claude(&sandbox)
    };
    codex.prompt("go on");
    agent.event("Stop", &json!({}));
    sandbox.write("a", "3");
    agent.prompt("go on");
    let listed = sandbox.ok("rewind --session session-one");
    assert_eq!(listed.stdout.lines().count(), 2, "{listed}");
    sandbox.ok("rewind --session thread").stdout_has("go on");
}

#[test]
fn many_other_sessions_and_lost_notes_hide_no_prompt() {
    let sandbox = project();
    let agent = claude(&sandbox);
    agent.prompt("important work");
    for number in 0..70 {
        let start = json!({ "session_id": format!("other {number}") });
        agent.event("SessionStart", &start);
    }
    sandbox.ok("rewind").stdout_has("important work");
    fs::write(sandbox.store().join("checkpoint/agent-sessions"), "?").expect("the notes");
    agent.event("SessionStart", &json!({ "session_id": "one more" }));
    sandbox.write("a", "2");
    agent.prompt("and more");
    let listed = sandbox.ok("rewind").stdout_has("important work");
    assert!(listed.stdout.contains("  2  "), "{listed}");
}

#[test]
fn a_linked_worktree_that_is_ignored_above_has_a_store_of_its_own() {
    let sandbox = project();
    sandbox.create("of the project");
    let tree = sandbox.path("worktrees/w1");
    sandbox
        .write(".gitignore", "worktrees/\n")
        .write("worktrees/w1/code", "good");
    let link = format!("gitdir: {}/.git/worktrees/w1\n", sandbox.root().display());
    fs::write(tree.join(".git"), link).expect("it can be written");
    let prompt = json!({ "prompt": "one", "cwd": tree });
    claude(&sandbox).event("UserPromptSubmit", &prompt);
    let dir = tree.to_string_lossy().into_owned();
    sandbox
        .run(&["-C", &dir, "ls"])
        .success()
        .stdout_has("code");
}

#[test]
fn a_document_with_half_a_letter_or_a_mark_before_it_is_read() {
    let sandbox = project();
    let event = |prompt: &str| {
        let root = json!(sandbox.root());
        format!(
            "{{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"s\",\"cwd\":{root},\"prompt\":\"{prompt}\"}}"
        )
    };
    let half = event("cut \\ud83d");
    hook(&sandbox, &["--agent", "claude"], half.as_bytes());
    sandbox.write("a", "2");
    let marked = [
        b"\xef\xbb\xbf".as_slice(),
        event("caf\u{e9} x").replace('\u{e9}', "@").as_bytes(),
    ]
    .concat();
    let latin: Vec<u8> = marked
        .iter()
        .map(|byte| if *byte == b'@' { 0xe9 } else { *byte })
        .collect();
    hook(&sandbox, &["--agent", "claude"], &latin);
    assert_eq!(
        reasons(&sandbox),
        ["before: cut \u{fffd}", "before: caf\u{fffd} x"]
    );
}

#[test]
fn a_configuration_that_cannot_be_read_records_nothing_it_may_forbid() {
    let sandbox = project();
    sandbox.user_config("prompts = \"off\"\nkeep = 10O\n");
    let told = claude(&sandbox).prompt("very private words");
    let _ = told
        .stdout_has("nothing was recorded")
        .stdout_has("config.toml");
    sandbox.user_config("");
    sandbox.create("made later");
    for file in files_below(&sandbox.store()) {
        let bytes = fs::read(&file).expect("it can be read");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("private words"), "{}", file.display());
    }
}

#[test]
fn settings_of_the_user_and_the_system_get_no_store() {
    let sandbox = project();
    sandbox.write(sandbox.home().join(".config/x"), "1");
    let system = if cfg!(windows) {
        [r"C:\Windows", r"C:\ProgramData"]
    } else {
        ["/etc", "/proc"]
    };
    let settings = sandbox.home().join(".config");
    for dir in [settings, system[0].into(), system[1].into()] {
        let prompt = json!({ "session_id": dir, "prompt": "one", "cwd": dir });
        claude(&sandbox).event("UserPromptSubmit", &prompt);
    }
    assert!(!sandbox.base().join("projects").exists());
}

#[test]
fn a_directory_in_which_nothing_is_begun_unasked_is_named_once() {
    let sandbox = project();
    sandbox.write(sandbox.home().join(".local/share/app/x"), "1");
    let dir = sandbox.home().join(".local/share/app");
    let prompt = json!({ "prompt": "one", "cwd": dir });
    let first = claude(&sandbox).event("UserPromptSubmit", &prompt);
    first.stdout_has("a directory of settings");
    assert_eq!(
        claude(&sandbox).event("UserPromptSubmit", &prompt).stdout,
        ""
    );
    sandbox
        .run_in(&dir, &["doctor"])
        .stdout_has("a directory of settings");
    assert!(!sandbox.base().join("projects").exists());
}

#[test]
fn a_project_that_was_moved_away_is_named_at_the_next_prompt() {
    let sandbox = project();
    let gone = json!({ "prompt": "one", "cwd": sandbox.top().join("gone/deep") });
    claude(&sandbox)
        .event("UserPromptSubmit", &gone)
        .stdout_has("does not exist");
    assert_eq!(claude(&sandbox).event("UserPromptSubmit", &gone).stdout, "");
    assert_eq!(claude(&sandbox).event("Stop", &gone).stdout, "");
}

#[test]
fn an_event_is_read_from_an_agent_that_does_not_close_the_pipe() {
    let sandbox = project();
    sandbox.write("a", "open pipe");
    let event = json!({ "session_id": "s", "cwd": sandbox.root(), "prompt": "{one}",
        "hook_event_name": "UserPromptSubmit" });
    let mut command = sandbox.command(&[], &["hook", "--agent", "claude"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it can be started");
    let mut pipe = child.stdin.take().expect("a pipe");
    let document = event.to_string();
    let (head, tail) = document.split_at(40);
    pipe.write_all(head.as_bytes()).expect("it is read");
    pipe.write_all(tail.as_bytes()).expect("it is read");
    assert!(limit::output_of("hook", child).status.success());
    drop(pipe);
    assert_eq!(sandbox.listed().len(), 1);
}

#[test]
fn a_partial_checkpoint_is_told_once_for_each_session() {
    let sandbox = project();
    let Some(wrapper) = crate::partial::wrapper(&sandbox) else {
        return;
    };
    sandbox.write("closed", "x").chmod("closed", 0);
    let prompt = |text: &str| {
        sandbox.write("a", text);
        let event = json!({ "session_id": "s", "cwd": sandbox.root(), "prompt": text,
            "hook_event_name": "UserPromptSubmit" });
        let mut command = sandbox.command(wrapper, &["hook", "--agent", "claude"]);
        let output = limit::output_fed(&mut command, event.to_string().as_bytes());
        Run::from_output(format!("{command:?}"), &output.expect("it can be started"))
    };
    prompt("one").stdout_has("is partial");
    assert_eq!(prompt("two").stdout, "");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn the_same_words_after_a_change_are_another_prompt() {
    let sandbox = project();
    claude(&sandbox).prompt("continue");
    claude(&sandbox).prompt("continue");
    assert_eq!(sandbox.listed().len(), 1);
    sandbox.write("a", "by hand");
    claude(&sandbox).prompt("continue");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn a_session_whose_root_is_gone_goes_on_where_its_shell_stands_in_a_store() {
    let sandbox = project();
    sandbox.write("a", "1").create("mine");
    let gone = sandbox.top().join("gone");
    fs::create_dir(&gone).expect("a directory");
    claude(&sandbox).event("SessionStart", &json!({ "cwd": gone }));
    fs::remove_dir_all(&gone).expect("it goes");
    sandbox.write("a", "2");
    claude(&sandbox).prompt("two");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn the_same_words_in_two_agents_are_two_prompts_if_something_changed_between() {
    let sandbox = project();
    let claude = |words: &str, id: &str| {
        let event = json!({ "prompt": words, "prompt_id": id });
        claude(&sandbox).event("UserPromptSubmit", &event);
    };
    let cursor = |words: &str, id: &str| {
        let event = json!({
            "hook_event_name": "beforeSubmitPrompt", "conversation_id": "two", "generation_id": id,
            "workspace_roots": [sandbox.root()], "prompt": words,
        });
        hook(
            &sandbox,
            &["--agent", "cursor"],
            event.to_string().as_bytes(),
        );
    };
    claude("begin", "1");
    sandbox.write("a", "2");
    cursor("continue", "g1");
    claude("continue", "2");
    let before = sandbox.listed().len();
    sandbox.write("a", "by the user");
    claude("continue", "3");
    assert_eq!(sandbox.listed().len(), before + 1);
    sandbox.ok("cat @:a").stdout_is("by the user");
    // Told twice under one name, it counts once.
    sandbox.write("a", "by the agent");
    claude("continue", "3");
    assert_eq!(sandbox.listed().len(), before + 1);
}
