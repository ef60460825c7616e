//! `hook` with the documents that real agent programs wrote; `hook_events/ORIGIN.md` says which.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::fixtures::write_description;
use crate::bench::{Run, Sandbox};
use crate::hook::hook;

/// The documents at which a directory that moved gets a checkpoint; at no other.
const RECORDED: &str = "
claude: PreCompact-manual PreToolUse-Bash Stop StopFailure UserPromptSubmit
cline: PreCompact PreToolUse TaskCancel TaskComplete UserPromptSubmit
codex: Interrupt PreCompact-auto PreToolUse-Bash Stop UserPromptSubmit
copilot: ErrorOccurred PreCompact-manual PreToolUse-Bash Stop UserPromptSubmit
copilot-camel: agentStop errorOccurred preCompact-manual preToolUse-bash userPromptSubmitted
cursor: beforeSubmitPrompt preCompact preToolUse-Shell stop-aborted stop
gemini: AfterAgent-with-context AfterAgent BeforeAgent-with-context BeforeAgent BeforeTool-run_shell_command PreCompress-manual
opencode: chat.message experimental.session.compacting session.error session.idle tool.execute.before-bash
qwen: PreCompact-manual PreToolUse-run_shell_command Stop UserPromptSubmit-empty UserPromptSubmit
windsurf: post_cascade_response pre_run_command pre_user_prompt
";

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it can be listed");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it").path()).collect();
    paths.sort();
    paths
}

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hook_events");
    let mut all = sorted(&all);
    all.retain(|path| path.is_dir());
    all
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").display().to_string()
}

/// The name by which `setup` calls the agent of a folder.
fn agent(folder: &Path) -> String {
    match stem(folder).as_str() {
        "qwen" => "claude".to_owned(),
        name => name.trim_end_matches("-camel").to_owned(),
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("by hand");
    sandbox.write("a", "2");
    sandbox
}

/// Runs the hook with a recorded document as if the agent worked in the sandbox; returns whether
/// it made a checkpoint.
fn play(sandbox: &Sandbox, agent: &str, document: &Path) -> bool {
    let before = sandbox.listed().len();
    run_hook(sandbox, agent, document);
    sandbox.listed().len() > before
}

fn run_hook(sandbox: &Sandbox, agent: &str, document: &Path) -> Run {
    let text = fs::read_to_string(document).expect("it can be read");
    let root = serde_json::to_string(sandbox.root()).expect("a path");
    let text = text.replace("/home/user/project", root.trim_matches('"'));
    hook(sandbox, &["--agent", agent], text.as_bytes())
}

#[test]
fn recorded_documents_lead_to_checkpoints_at_the_moments_that_matter() {
    let mut found = String::from("\n");
    for folder in folders() {
        let mut names = String::new();
        for document in sorted(&folder) {
            if play(&project(), &agent(&folder), &document) {
                names = format!("{names} {}", stem(&document));
            }
        }
        found = format!("{found}{}:{names}\n", stem(&folder));
    }
    assert_eq!(found, RECORDED);
}

#[test]
fn what_an_agent_tells_itself_is_no_prompt_of_the_user() {
    let names = ["UserPromptSubmit", "userPromptSubmitted", "chat.message"];
    for folder in folders() {
        let is_prompt = |path: &&PathBuf| names.contains(&stem(path).as_str());
        let documents = sorted(&folder);
        let Some(prompt) = documents.iter().find(is_prompt) else {
            continue;
        };
        let name = stem(prompt);
        let sandbox = project();
        play(&sandbox, &agent(&folder), prompt);
        for other in &documents {
            if stem(other).starts_with(&name) && other != prompt {
                sandbox.write("a", stem(other));
                play(&sandbox, &agent(&folder), other);
            }
        }
        let known = sandbox.json("rewind");
        let prompts = known["prompts"].as_array().map(Vec::len);
        assert_eq!(prompts, Some(1), "{}: {known}", folder.display());
    }
}

#[test]
fn the_prompt_of_gemini_is_told_from_what_the_session_was_told() {
    let sandbox = project();
    let gemini = folders().into_iter().find(|path| stem(path) == "gemini");
    let document = gemini.expect("it").join("BeforeAgent-with-context.json");
    assert!(play(&sandbox, "gemini", &document));
    let reason = sandbox.listed()[0]["reason"].clone();
    assert_eq!(reason, "before: Say uno for one, then build");
}

/// Codex takes a hook for failed if its answer has a key that the event does not know; for
/// `hookSpecificOutput`, that is so at most events.
#[test]
fn codex_knows_every_key_of_an_answer() {
    let codex = folders().into_iter().find(|path| stem(path) == "codex");
    let mut told = 0;
    for document in sorted(&codex.expect("it")) {
        for is_usable in [true, false] {
            let sandbox = project();
            sandbox.env("TMPDIR", sandbox.home());
            if !is_usable {
                write_description(&sandbox.store(), "format 2\nroot /elsewhere\n");
            }
            let run = run_hook(&sandbox, "codex", &document);
            if run.stdout.is_empty() {
                continue;
            }
            told += 1;
            let answer: Value = serde_json::from_str(&run.stdout).expect("a document");
            for (key, value) in answer.as_object().expect("an object") {
                match key.as_str() {
                    "systemMessage" => assert!(value.is_string(), "{run}"),
                    "hookSpecificOutput" => {
                        assert!(stem(&document).starts_with("SessionStart"), "{run}");
                        let keys: Vec<_> = value.as_object().expect("it").keys().collect();
                        assert_eq!(keys, ["hookEventName", "additionalContext"], "{run}");
                        assert_eq!(value["hookEventName"], "SessionStart", "{run}");
                    }
                    _ => panic!("{run}"),
                }
            }
        }
    }
    assert!(told > 8, "{told}");
}
