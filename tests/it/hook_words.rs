//! The words of each agent, as its own documents have them.

use std::fs;
use std::path::{Path, PathBuf};

use checkpoint::agent::dialect::{self, AgentEvent, AgentName};
use serde_json::Value;

use crate::bench::fixtures::files_below;
use crate::bench::sample::{Draw, is_full};
use crate::bench::{Sandbox, cases, golden};
use crate::hook::hook;

/// The agent whose words a folder holds; Qwen Code uses those of Claude Code.
fn agent_of(folder: &str) -> AgentName {
    let name = match folder {
        "qwen" => "claude",
        "copilot-camel" => "copilot",
        other => other,
    };
    name.parse().expect("a known agent")
}

/// A recorded or published document: its folder and name, the agent, and the text.
struct Document {
    name: String,
    agent: AgentName,
    text: String,
}

fn documents() -> Vec<Document> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hook_events");
    let mut paths = files_below(&top);
    paths.retain(|path| {
        let is_schema = path.components().any(|part| part.as_os_str() == "schema");
        path.extension().is_some_and(|end| end == "json") && !is_schema
    });
    assert!(paths.len() > 100, "{}", paths.len());
    let document = |path: PathBuf| {
        let mut names = path.iter().rev().map(|name| name.display().to_string());
        let (name, folder) = (
            names.next().expect("a name"),
            names.next().expect("a folder"),
        );
        Document {
            name: format!("{folder}/{name}"),
            agent: agent_of(&folder),
            text: fs::read_to_string(&path).expect("it can be read"),
        }
    };
    paths.into_iter().map(document).collect()
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

/// The fields of an event that tell something.
fn told(event: &AgentEvent) -> String {
    let text = format!("{event:?}").replace(absolute(), PROJECT);
    let is_told = |field: &&str| {
        let nothing = [": None", ": false", ": []", ": \"\""];
        field.contains('{') || !nothing.iter().any(|end| field.ends_with(end))
    };
    let text = text
        .trim_start_matches("AgentEvent { ")
        .trim_end_matches(" }");
    let fields: Vec<&str> = text.split(", ").filter(is_told).collect();
    fields.join(", ")
}

/// Rows of a document, the agent that its words alone tell, and what is read of it.
#[test]
fn every_document_of_an_agent_is_read_with_what_it_tells() {
    let mut rows = String::new();
    for Document { name, agent, text } in documents() {
        let text = text.replace(PROJECT, absolute());
        let unnamed = dialect::parse(text.as_bytes(), None);
        let unnamed = unnamed.map_or("-", |event| event.agent.into_str());
        let read = dialect::parse(text.as_bytes(), Some(agent));
        let read = read.as_ref().map_or("-".to_owned(), told);
        rows.push_str(&format!("{name} {unnamed} {read}\n"));
    }
    golden("hook_events/read.txt", &rows);
}

#[test]
fn each_document_is_answered_silently_by_the_program() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for Document { name, agent, text } in documents() {
        let is_event = dialect::parse(text.as_bytes(), Some(agent)).is_some();
        let text = text.replace(PROJECT, &root_of(&sandbox));
        let run = hook(&sandbox, &["--agent", agent.into_str()], text.as_bytes());
        let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        assert!(answer["systemMessage"].is_null(), "{name}: {run}");
        let is_cline = agent.into_str() == "cline" && is_event;
        assert_eq!(answer["cancel"] == false, is_cline, "{name}: {run}");
    }
    sandbox.ok("verify");
}

fn root_of(sandbox: &Sandbox) -> String {
    sandbox.root().display().to_string().replace('\\', "/")
}

/// The agents of which there are documents.
const MUTATED: [&str; 8] = [
    "claude", "codex", "gemini", "cursor", "copilot", "opencode", "cline", "windsurf",
];

/// The texts of each agent, with another directory in them.
fn texts_of_agents(project: &str) -> impl Iterator<Item = (AgentName, Vec<String>)> {
    let all = documents();
    MUTATED.into_iter().map(move |agent| {
        let agent: AgentName = agent.parse().expect("an agent");
        let own = all.iter().filter(|document| document.agent == agent);
        let texts = own.map(|document| document.text.replace(PROJECT, project));
        (agent, texts.collect())
    })
}

/// Changes a document somewhere: bytes, or a value in place of the directory.
fn mutated(draw: &mut Draw, document: &str, project: &str) -> Vec<u8> {
    let mut bytes = document.as_bytes().to_vec();
    for _ in 0..=draw.below(4) {
        let at = draw.below(bytes.len());
        match draw.below(6) {
            0 => bytes[at] ^= 1 << draw.below(8),
            1 => bytes.truncate(at.max(1)),
            2 => {
                let odd = [b'"', b'{', b'[', b'\\', 0xff, 0];
                drop(bytes.splice(at..at, odd[draw.below(6)..].iter().copied()));
            }
            3 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let value = ["null", "5", "[]", "{}", "true", "-1e999"][draw.below(6)];
                let named = format!("\"{project}\"");
                bytes = text.replacen(&named, value, 1).into_bytes();
            }
            4 => drop(bytes.drain(at..(at + draw.below(40)).min(bytes.len()))),
            _ => bytes.extend_from_within(at..),
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    bytes
}

#[test]
fn mutations_of_each_agents_documents_are_read_or_passed_over() {
    let mut draw = Draw::new();
    for (agent, own) in texts_of_agents(PROJECT) {
        for _ in 0..cases(if is_full() { 10_000 } else { 2_000 }) {
            let which = draw.below(own.len());
            let bytes = mutated(&mut draw, &own[which], PROJECT);
            for named in [Some(agent), None] {
                let _ = dialect::parse(&bytes, named);
            }
        }
    }
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
    let number = cases(if is_full() { 400 } else { 13 });
    let mut draw = Draw::new();
    let sandbox = Sandbox::new();
    sandbox.env("TMPDIR", sandbox.home());
    sandbox.write("a", "1").create("first");
    let root = root_of(&sandbox);
    for (agent, own) in texts_of_agents(&root) {
        for turn in 0..number {
            let which = draw.below(own.len());
            let document = mutated(&mut draw, &own[which], &root);
            if turn % 8 == 0 {
                sandbox.write("a", turn.to_string());
            }
            let run = hook(&sandbox, &["--agent", agent.into_str()], &document);
            if run.stdout.is_empty() {
                continue;
            }
            let answer: Value = serde_json::from_str(&run.stdout).expect("a document");
            let mut keys = answer.as_object().expect("an object").keys();
            assert!(keys.all(|key| keys_of(agent).contains(&&**key)), "{run}");
        }
    }
    sandbox.ok("verify");
}
