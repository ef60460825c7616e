//! The audit trail: each `create` appends a line if the user asked for it, and never fails because
//! of it.

use crate::bench::os::PermissionsExt as _;

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::hook::hook;

const LOG: &str = ".audit/checkpoint-operations.log";
const MADE: &str = ".checkpoints/checkpoint-manifest.log";

fn audited() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.user_config("audit = true\n").write("a", "1");
    sandbox
}

/// Lines of the log, without the path of the program.
fn log(sandbox: &Sandbox) -> Vec<String> {
    let program = Sandbox::binary().display().to_string();
    sandbox
        .read(LOG)
        .replace(&program, "checkpoint")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[cfg(unix)]
#[test]
fn each_create_leaves_a_line_and_each_made_one_two() {
    let sandbox = audited();
    sandbox
        .at("2026-01-02T03:04:05Z")
        .run(&["create", "-r", "it's a\nstart", "--json"])
        .success();
    sandbox
        .at("2026-01-02T03:04:05.500Z")
        .run(&["create", "-r", "it's a\nstart"])
        .success();
    sandbox.run(&["create", "--scope", "none"]).code(3);
    sandbox.run(&["list"]).success();
    assert_eq!(
        log(&sandbox),
        [
            r#"[CHECKPOINT] 2026-01-02T03:04:05Z | Command: checkpoint create -r "$(printf 'it\047s a\012start')" --json | Exit: 0"#,
            r#"[CHECKPOINT] 2026-01-02T03:04:05Z | Command: checkpoint create -r "$(printf 'it\047s a\012start')" | Exit: 0"#,
            "[CHECKPOINT] 2026-01-02T03:04:06Z | Command: checkpoint create --scope none | Exit: 3",
        ]
    );
    assert_eq!(
        sandbox.read(MADE),
        "2026-01-02T03:04:05Z: Checkpoint created successfully\n"
    );
    for (path, mode) in [
        (LOG, 0o600),
        (MADE, 0o600),
        (".audit", 0o700),
        (".checkpoints", 0o700),
    ] {
        assert_eq!(
            std::fs::metadata(sandbox.path(path))
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            mode,
            "{path}"
        );
    }
    assert_eq!(sandbox.status()["drift"]["added"], 0);
}

#[test]
fn an_edit_of_any_agent_leaves_a_line_where_checkpoints_are_made() {
    let sandbox = audited();
    let root = sandbox.root().display().to_string();
    let edit = |agent: &str, fields: Value| {
        let mut event = json!({"session_id": "s", "cwd": root});
        for (key, value) in fields.as_object().expect("an object") {
            event[key] = value.clone();
        }
        hook(&sandbox, &["--agent", agent], event.to_string().as_bytes());
    };
    let of_claude = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/p/a"}});
    edit("claude", of_claude.clone());
    assert!(!sandbox.exists(".audit"), "there is no store yet");
    sandbox.at("2026-01-02T03:04:05Z").create("first");
    let patch = "*** Begin Patch\n*** Update File: b\n+x\n*** Add File: c\n+x\n*** End Patch\n";
    edit("claude", of_claude);
    edit(
        "codex",
        json!({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}}),
    );
    edit(
        "gemini",
        json!({"hook_event_name": "AfterTool", "tool_name": "replace", "tool_input": {"file_path": "d"}}),
    );
    edit(
        "cursor",
        json!({"hook_event_name": "afterFileEdit", "file_path": "e", "edits": []}),
    );
    edit(
        "copilot",
        json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": {"path": "f\ng"}}),
    );
    edit(
        "windsurf",
        json!({"agent_action_name": "post_write_code", "tool_info": {"file_path": "h"}}),
    );
    edit(
        "opencode",
        json!({"hook_event_name": "file.edited", "file": "i"}),
    );
    edit(
        "cline",
        json!({"hookName": "PostToolUse", "toolName": "Edit", "input": {"path": "j"}}),
    );
    edit(
        "claude",
        json!({"hook_event_name": "PostToolUse", "tool_name": "NotebookEdit", "tool_input": {"notebook_path": "k"}}),
    );
    for tool in ["Write", "Read", "Bash"] {
        edit(
            "claude",
            json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": {"file_path": "k"}}),
        );
    }
    let lines = log(&sandbox).split_off(1);
    let edited = |line: &String| {
        let said = line.strip_prefix("[CHECKPOINT] 2026-01-02T03:04:")?;
        Some(said.split_once("Z | Manifest updated: ")?.1.to_owned())
    };
    let paths: Vec<String> = lines.iter().filter_map(edited).collect();
    let expected = ["/p/a", "b", "d", "e", r"f\x0ag", "h", "i", "j", "k"];
    assert_eq!(paths, expected, "{lines:?}");
    assert_eq!(sandbox.listed().len(), 1, "an edit makes no checkpoint");
}

#[test]
fn nothing_is_logged_unless_the_user_asks_for_it() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write(".checkpoint.toml", "audit = true\n");
    sandbox
        .run(&["create"])
        .success()
        .stderr_has("'audit' is only allowed in the user's own configuration");
    assert!(!sandbox.exists(".audit") && !sandbox.exists(".checkpoints"));
}

#[test]
fn a_log_that_cannot_be_written_is_a_warning_and_nothing_is_written_through_a_link() {
    let sandbox = audited();
    let theirs = sandbox.home().join("theirs");
    sandbox
        .write(&theirs, "1")
        .watch(&theirs)
        .symlink(LOG, &theirs);
    sandbox
        .run(&["create"])
        .success()
        .stderr_has("this create is missing from the audit trail");
    let run = sandbox
        .run(&["create", "--json"])
        .success()
        .stderr_has("this create is missing from the audit trail");
    assert_eq!(run.data()["created"], true);
    let elsewhere = sandbox.home().join("elsewhere");
    sandbox
        .mkdir(&elsewhere)
        .watch(&elsewhere)
        .remove(".audit")
        .symlink(".audit", &elsewhere);
    sandbox
        .run(&["create"])
        .success()
        .stderr_has("this create is missing from the audit trail");
    sandbox.remove(".audit").mkdir(".audit").fifo(LOG);
    sandbox
        .run(&["create", "--scope", "none"])
        .code(3)
        .stderr_has("this create is missing from the audit trail");
}

#[test]
fn a_refused_root_gets_no_log() {
    let sandbox = audited();
    sandbox.run_in(sandbox.home(), &["create"]).code(4);
    assert!(!sandbox.home().join(".audit").exists());
}

#[test]
fn nothing_is_appended_through_a_hard_link() {
    let sandbox = audited();
    let theirs = sandbox.home().join("theirs");
    sandbox
        .write(&theirs, "1")
        .mkdir(".audit")
        .mkdir(".checkpoints");
    for log in [LOG, MADE] {
        std::fs::hard_link(&theirs, sandbox.path(log)).unwrap();
        let run = sandbox
            .run(&["create", "--json"])
            .success()
            .stderr_has("this create is missing from the audit trail");
        assert!(
            run.stderr.contains("hard link") && run.data()["created"] == true,
            "{run}"
        );
        sandbox.remove(log);
    }
    assert_eq!(sandbox.read(&theirs), "1");
}
