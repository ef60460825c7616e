//! The words of each agent, as its own documents have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use checkpoint::agent::dialect::{self, AgentEvent, AgentName};
use checkpoint::model::session::provenance::Moment;
use serde_json::Value;

use crate::bench::fixtures::files_below;
use crate::bench::sample::is_full;
use crate::bench::{Sandbox, cases};
use crate::hook::hook;

/// What the longest known beginning of a file's name says of the moment.
const NAMES: [(Option<Moment>, &str); 12] = [
    (
        Some(Moment::TurnEnd),
        "AfterAgent Stop TaskComplete agentStop post_cascade_response session.idle \
     stop",
    ),
    (
        None,
        "AfterTool BeforeTool-write_file PostCompact PostToolUse PreCompress-auto \
     PreToolUse- post_ postToolUse preToolUse subagentSt",
    ),
    (
        Some(Moment::Prompt),
        "BeforeAgent UserPromptSubmit beforeSubmitPrompt chat.message pre_user_prompt \
     userPromptSubmitted",
    ),
    (
        Some(Moment::PreTool),
        "BeforeTool-run_shell_command PreToolUse-Bash PreToolUse-run_shell_command \
     PreToolUse.json preToolUse-Shell preToolUse-bash pre_run_command \
     tool.execute.before-bash",
    ),
    (
        Some(Moment::TurnFailed),
        "ErrorOccurred StopFailure errorOccurred session.error",
    ),
    (
        Some(Moment::Interrupted),
        "Interrupt TaskCancel stop-aborted",
    ),
    (
        Some(Moment::PreCompact),
        "PreCompact PreCompress-manual experimental.session.compacting preCompact",
    ),
    (Some(Moment::SessionEnd), "SessionEnd sessionEnd"),
    (
        Some(Moment::SessionStart),
        "SessionStart TaskResume TaskStart session.created sessionStart",
    ),
    (Some(Moment::SubagentStart), "SubagentStart"),
    (Some(Moment::SubagentEnd), "SubagentStop"),
    (Some(Moment::FileEdited), "post_write_code"),
];

/// The agent whose words a folder holds; Qwen Code uses those of Claude Code.
fn agent_of(folder: &str) -> AgentName {
    let name = match folder {
        "qwen" => "claude",
        "copilot-camel" => "copilot",
        other => other,
    };
    name.parse().expect("a known agent")
}

/// Each recorded or published document, with its folder and name.
fn documents() -> Vec<(String, String, PathBuf)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hook_events");
    let name =
        |path: Option<&std::ffi::OsStr>| path.expect("a name").to_string_lossy().into_owned();
    let found = files_below(&top).into_iter();
    let found = found.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let documents: Vec<_> = found
        .filter(|path| !path.components().any(|part| part.as_os_str() == "schema"))
        .map(|path| {
            let folder = name(path.parent().and_then(Path::file_name));
            (folder, name(path.file_name()), path)
        })
        .collect();
    assert!(documents.len() > 100, "{}", documents.len());
    documents
}

fn expected(name: &str) -> Option<Moment> {
    match name {
        "subagentStart.json" => return Some(Moment::SubagentStart),
        "subagentStop.json" => return Some(Moment::SubagentEnd),
        _ => {}
    }
    let known = NAMES.iter();
    let known = known.flat_map(|(moment, names)| names.split(' ').map(move |name| (name, moment)));
    let found = known.filter(|(begin, _)| name.starts_with(begin));
    let found = found.max_by_key(|(begin, _)| begin.len());
    *found.unwrap_or_else(|| panic!("{name} is not known")).1
}

/// The directory of the project in each document.
const PROJECT: &str = "/home/user/project";

/// The same as an absolute path of this system.
fn absolute() -> &'static str {
    if cfg!(windows) {
        "C:/home/user/project"
    } else {
        PROJECT
    }
}

fn dirs(event: &AgentEvent) -> impl Iterator<Item = &PathBuf> {
    event.dirs.projects.iter().chain(&event.dirs.current)
}

fn parsed(path: &Path, agent: Option<AgentName>) -> Option<AgentEvent> {
    let text = fs::read_to_string(path).expect("it can be read");
    dialect::parse(text.replace(PROJECT, absolute()).as_bytes(), agent)
}

#[test]
fn every_document_of_an_agent_is_read_with_what_it_tells() {
    for (folder, name, path) in documents() {
        let read = parsed(&path, Some(agent_of(&folder)));
        let moment = read.as_ref().map(|event| event.moment);
        assert_eq!(moment, expected(&name), "{folder}/{name}");
        let Some(event) = read else { continue };
        let here = format!("{folder}/{name}: {event:?}");
        assert!(!event.session.is_empty(), "{here}");
        assert!(
            dirs(&event).all(|dir| dir.starts_with(absolute())),
            "{here}"
        );
        assert!(
            dirs(&event).next().is_some() || folder == "windsurf",
            "{here}"
        );
        assert_eq!(
            event.agent_id.is_some(),
            name == "subagentStart.json"
                || name.contains("in-subagent")
                || (name.to_lowercase().contains("subagent") && folder != "cursor"),
            "{here}"
        );
        match event.moment {
            Moment::Prompt => assert_eq!(event.prompt.is_none(), name.contains("empty"), "{here}"),
            Moment::PreTool => assert!(
                event.command.is_some() && (event.tool.is_some() || folder == "windsurf"),
                "{here}"
            ),
            Moment::TurnFailed => assert!(event.cause.is_some(), "{here}"),
            _ => {}
        }
    }
}

#[test]
fn an_agent_is_recognized_by_its_words() {
    for (folder, name, path) in documents() {
        // Qwen Code and Copilot CLI in PascalCase write what Claude Code may write too.
        let Some(event) = parsed(&path, None) else {
            continue;
        };
        // What Codex writes at the end of a session has no word of its own.
        let is_alike = folder == "codex" && name == "SessionEnd.json";
        if !["qwen", "copilot"].contains(&folder.as_str()) && !is_alike {
            assert_eq!(event.agent, agent_of(&folder), "{folder}/{name}");
        }
    }
}

#[test]
fn each_document_is_answered_silently_by_the_program() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for (folder, name, path) in documents() {
        let text = fs::read_to_string(&path).expect("text");
        let root = sandbox.root().to_string_lossy().replace('\\', "/");
        let text = text.replace(PROJECT, &root);
        let agent = agent_of(&folder).into_str();
        let run = hook(&sandbox, &["--agent", agent], text.as_bytes());
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        assert!(answer["systemMessage"].is_null(), "{folder}/{name}: {run}");
        let is_cline = agent == "cline" && expected(&name).is_some();
        assert_eq!(
            answer["cancel"] == false,
            is_cline,
            "{folder}/{name}: {run}"
        );
    }
    sandbox.ok("verify");
}

/// The agents of which there are documents.
const MUTATED: [&str; 8] = [
    "claude", "codex", "gemini", "cursor", "copilot", "opencode", "cline", "windsurf",
];

/// A small generator, seeded, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

/// Changes a document somewhere: bytes, or a value in place of another.
fn mutated(dice: &mut Dice, document: &[u8]) -> Vec<u8> {
    let mut bytes = document.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice
            .roll(bytes.len().max(1))
            .min(bytes.len().saturating_sub(1));
        match dice.roll(6) {
            0 => bytes[at] ^= 1 << dice.roll(8),
            1 => bytes.truncate(at.max(1)),
            2 => drop(
                bytes.splice(
                    at..at,
                    [b'"', b'{', b'[', b'\\', 0xff, 0][dice.roll(6)..]
                        .iter()
                        .copied(),
                ),
            ),
            3 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let value = ["null", "5", "[]", "{}", "true", "-1e999"][dice.roll(6)];
                bytes = text
                    .replacen("\"/home/user/project\"", value, 1)
                    .into_bytes();
            }
            4 => {
                let end = (at + dice.roll(40)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => bytes.extend_from_within(at..),
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    bytes
}

#[test]
fn ten_thousand_mutations_of_each_agents_documents_are_read_or_passed_over() {
    let all: Vec<(AgentName, Vec<u8>)> = documents()
        .into_iter()
        .map(|(folder, _, path)| (agent_of(&folder), fs::read(path).expect("it can be read")))
        .collect();
    let mut dice = Dice(4242);
    for agent in MUTATED {
        let agent: AgentName = agent.parse().expect("an agent");
        let own: Vec<&Vec<u8>> = all
            .iter()
            .filter(|(of, _)| *of == agent)
            .map(|(_, bytes)| bytes)
            .collect();
        for _ in 0..cases(10_000) {
            let which = dice.roll(own.len());
            let bytes = mutated(&mut dice, own[which]);
            for named in [Some(agent), None] {
                let _ = dialect::parse(&bytes, named);
            }
        }
    }
}

/// Puts the sandbox in place of the directory that a document names, which may be no text any more.
fn at_home(sandbox: &Sandbox, mut bytes: Vec<u8>) -> Vec<u8> {
    const NAMED: &[u8] = b"/home/user/project";
    let root = sandbox.root().to_string_lossy().into_owned();
    let mut from = 0;
    let position = |bytes: &[u8]| bytes.windows(NAMED.len()).position(|part| part == NAMED);
    while let Some(at) = position(&bytes[from..]) {
        let begin = from + at;
        bytes.splice(begin..begin + NAMED.len(), root.bytes());
        from = begin + root.len();
    }
    bytes
}

/// The keys that an answer in the words of an agent may have.
fn keys_of(agent: AgentName) -> &'static [&'static str] {
    match agent.into_str() {
        "claude" | "codex" | "gemini" => &["systemMessage", "hookSpecificOutput"],
        "cursor" => &["additional_context"],
        "copilot" => &[
            "additionalContext",
            "permissionDecision",
            "permissionDecisionReason",
        ],
        "cline" => &["cancel"],
        _ => &[],
    }
}

#[test]
fn some_mutations_are_passed_over_by_the_program_too() {
    let number = cases(if is_full() { 1_000 } else { 13 });
    let all = documents();
    let mut dice = Dice(4243);
    let mut times = Vec::new();
    for agent in MUTATED {
        let agent: AgentName = agent.parse().expect("an agent");
        let own = all.iter().filter(|(of, ..)| agent_of(of) == agent);
        let own: Vec<Vec<u8>> = own
            .map(|(_, _, path)| fs::read(path).expect("it can be read"))
            .collect();
        let sandbox = Sandbox::new();
        sandbox.env("TMPDIR", sandbox.home());
        sandbox.write("a", "1").create("first");
        for turn in 0..number {
            let which = dice.roll(own.len());
            let document = at_home(&sandbox, mutated(&mut dice, &own[which]));
            if turn % 8 == 0 {
                sandbox.write("a", turn.to_string());
            }
            let began = Instant::now();
            let run = hook(&sandbox, &["--agent", agent.into_str()], &document);
            times.push(began.elapsed());
            if !run.stdout.is_empty() {
                let answer: Value = serde_json::from_str(&run.stdout).expect("a document");
                let keys = answer.as_object().expect("an object").keys();
                let known = keys_of(agent);
                assert!(
                    keys.clone().all(|key| known.contains(&key.as_str())),
                    "{run}"
                );
            }
        }
        sandbox.ok("verify");
    }
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "{} runs, {median:?} at the median, {slowest:?} at most",
        times.len()
    );
}
