//! The files that each agent gets: their places and their content.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::command_line::HookCall;
use crate::agent::setup::hook_tables::entries;
use crate::agent::setup::json_edit::{JsonEdit, pretty};
use crate::agent::setup::managed::{self, Leeway, ManagedKey};
use crate::agent::setup::places::SetupPlaces;
use crate::agent::setup::servers::{self, ServerEntry};
use crate::agent::setup::shared_entries::SharedEntries;
use crate::agent::setup::shared_hooks::HookEntries;
use crate::base::text::escape_path;
use crate::base::windows::verbatim::native_path;

/// The skills, by name.
const SKILLS: [(&str, &str); 2] = [
    ("checkpoint", include_str!("texts/checkpoint.md")),
    ("resume-workflow", include_str!("texts/resume-workflow.md")),
];
const README: &str = include_str!("texts/plugin.md");
const POLICY: &str = include_str!("texts/policy.toml");
const RULES: &str = include_str!("texts/checkpoint.rules");
const OPENCODE: &str = include_str!("texts/opencode.js");
const AMP: &str = include_str!("texts/amp.ts");
const CLINE: &str = include_str!("texts/cline.ts");
/// The plugin for Claude Code, in the folder of its settings.
const PLUGIN: &str = "skills/checkpoint";
/// What stands for the program in the texts.
const PROGRAM: &str = "\"PROGRAM\"";
const DESCRIPTION: &str =
    "A checkpoint of the working directory before each prompt, and the way back";

/// A file for an agent.
#[derive(Clone, Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub content: FileContent,
}

#[derive(Clone, Debug)]
pub enum FileContent {
    /// A file of ours alone.
    Own(String),
    /// Entries in a file that others write too.
    Shared(SharedEntries),
}

/// All that an agent gets.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// In the order of writing: what calls us comes last. They are removed the other way round.
    pub files: Vec<AgentFile>,
    /// The folder that holds files of ours alone, if there is one.
    pub own_folder: Option<PathBuf>,
    /// Files in which nothing of ours may stand beside these: each event would come twice.
    pub gone: Vec<AgentFile>,
    /// What is left to the user.
    pub notes: Vec<String>,
}

/// Returns what an agent gets at these places. `program` is what its entries call.
pub fn of_agent(agent: AgentName, places: &SetupPlaces, program: &str) -> AgentFiles {
    let folder = places.folder(agent);
    let is_project = places.project.is_some();
    let no_plugin = match managed::leeway(&places.managed) {
        Leeway::Settings(key) if agent == AgentName::Claude => Some(key),
        _ => None,
    };
    let own_folder = match agent {
        AgentName::Claude if no_plugin.is_none() => Some(folder.join(PLUGIN)),
        AgentName::Gemini if !is_project => Some(folder.join("extensions/checkpoint")),
        _ => None,
    };
    let hooks = entries(agent, program);
    let plugin = |name: &str, text: &str| {
        let path = folder.join("plugins").join(name);
        vec![own(path, &with(text, program))]
    };
    let mut files = match (agent, &own_folder) {
        (AgentName::Claude, Some(plugin)) => claude_plugin(plugin, program),
        (AgentName::Gemini, Some(extension)) => {
            let manifest = manifest(Some(program));
            let mut files = vec![own(extension.join("gemini-extension.json"), &manifest)];
            files.extend(skills(&extension.join("skills")));
            files.push(own(extension.join("policies/checkpoint.toml"), POLICY));
            files.push(own(extension.join("hooks/hooks.json"), &hooks.alone()));
            files
        }
        (AgentName::Claude, None) => {
            let mut files = skills(&folder.join("skills"));
            files.push(shared(folder.join("settings.json"), hooks));
            files
        }
        (AgentName::Gemini, None) => {
            let mut files = skills(&folder.join("skills"));
            files.push(own(folder.join("policies/checkpoint.toml"), POLICY));
            files.push(shared(folder.join("settings.json"), hooks));
            files
        }
        (AgentName::Codex, _) => {
            let mut files = skills(&places.agents.join("skills"));
            let rules = folder.join("rules/checkpoint.rules");
            files.push(own(rules, &with(RULES, program)));
            files.push(shared(folder.join("hooks.json"), hooks));
            files
        }
        (AgentName::Cursor | AgentName::Windsurf, _) => {
            let mut files = skills(&folder.join("skills"));
            files.push(shared(folder.join("hooks.json"), hooks));
            files
        }
        (AgentName::Copilot, _) => {
            vec![own(folder.join("hooks/checkpoint.json"), &hooks.alone())]
        }
        (AgentName::Opencode, _) => plugin("checkpoint.js", OPENCODE),
        (AgentName::Amp, _) => plugin("checkpoint.ts", AMP),
        (AgentName::Cline, _) => plugin("checkpoint.ts", CLINE),
        (AgentName::Vscode | AgentName::Zed | AgentName::Goose, _) => Vec::new(),
    };
    add_server(&mut files, agent, places, program, own_folder.is_some());
    AgentFiles {
        files,
        gone: gone(agent, folder, own_folder.is_some(), program),
        own_folder,
        notes: notes(agent, is_project, no_plugin.as_ref()),
    }
}

/// Adds our server to the files of an agent, beside hooks where they stand in the same file.
fn add_server(
    files: &mut Vec<AgentFile>,
    agent: AgentName,
    places: &SetupPlaces,
    program: &str,
    has_own_folder: bool,
) {
    let Some(path) = servers::file(agent, places).filter(|_| !has_own_folder) else {
        return;
    };
    let path = native_path(path);
    let server = ServerEntry::of_agent(agent, program);
    for file in files.iter_mut().filter(|file| file.path == path) {
        if let FileContent::Shared(entries) = &mut file.content {
            entries.server = Some(server);
            return;
        }
    }
    let entries = SharedEntries {
        hooks: None,
        server: Some(server),
    };
    files.push(AgentFile {
        path,
        content: FileContent::Shared(entries),
    });
}

/// Returns what an agent must not have beside its files, lest each event come twice.
fn gone(agent: AgentName, folder: &Path, is_plugin: bool, program: &str) -> Vec<AgentFile> {
    match agent {
        AgentName::Claude if is_plugin => {
            let hooks = entries(agent, program);
            vec![shared(folder.join("settings.json"), hooks)]
        }
        AgentName::Claude => claude_plugin(&folder.join(PLUGIN), program),
        _ => Vec::new(),
    }
}

fn notes(agent: AgentName, is_project: bool, no_plugin: Option<&ManagedKey>) -> Vec<String> {
    let of_agent = match agent {
        AgentName::Claude if no_plugin.is_some() => None,
        AgentName::Claude => Some("start a new session (Claude Code 2.1.157 or newer)"),
        AgentName::Codex => {
            Some("type /hooks in Codex and trust them; until then Codex does not run them")
        }
        _ => None,
    };
    let of_project =
        "it names the program by its path here; on a machine without it, it does nothing";
    let of_project = is_project.then_some(of_project);
    let of_policy = no_plugin.map(|ManagedKey { file, key }| {
        let file = escape_path(file);
        format!("{key} in {file} forbids plugins in the folder of skills: the hooks go into settings.json")
    });
    let fixed = of_agent.into_iter().chain(of_project).map(str::to_owned);
    of_policy.into_iter().chain(fixed).collect()
}

/// Returns the plugin for Claude Code, as it stands in a folder.
pub fn claude_plugin(folder: &Path, program: &str) -> Vec<AgentFile> {
    let mut files = vec![
        own(folder.join(".claude-plugin/plugin.json"), &manifest(None)),
        own(folder.join("README.md"), README),
    ];
    files.extend(skills(&folder.join("skills")));
    if cfg!(feature = "mcp") {
        let servers = pretty(&servers_alone(program), "  ") + "\n";
        files.push(own(folder.join(".mcp.json"), &servers));
    }
    let mut hooks = Map::new();
    hooks.insert("description".to_owned(), DESCRIPTION.into());
    let entries = entries(AgentName::Claude, program).events.into_iter();
    let entries = entries.map(|(event, list)| (event.to_owned(), list.into()));
    hooks.insert("hooks".to_owned(), Value::Object(entries.collect()));
    let hooks = pretty(&Value::Object(hooks), "  ") + "\n";
    files.push(own(folder.join("hooks/hooks.json"), &hooks));
    files
}

fn own(path: PathBuf, text: &str) -> AgentFile {
    AgentFile {
        path: native_path(path),
        content: FileContent::Own(text.to_owned()),
    }
}

fn shared(path: PathBuf, hooks: HookEntries) -> AgentFile {
    let entries = SharedEntries {
        hooks: Some(hooks),
        server: None,
    };
    AgentFile {
        path: native_path(path),
        content: FileContent::Shared(entries),
    }
}

fn skills(folder: &Path) -> Vec<AgentFile> {
    let file = |(name, text): &(&str, &str)| own(folder.join(name).join("SKILL.md"), text);
    SKILLS.iter().map(file).collect()
}

/// Returns the manifest that Claude Code and Gemini CLI read alike; the latter finds our server in it.
fn manifest(server: Option<&str>) -> String {
    let mut manifest = json!({
        "name": "checkpoint",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        "author": { "name": "The authors of checkpoint" },
        "license": "MIT",
    });
    if let (Some(program), true) = (server, cfg!(feature = "mcp")) {
        let servers = servers_alone(program);
        manifest["mcpServers"] = servers["mcpServers"].clone();
    }
    pretty(&manifest, "  ") + "\n"
}

/// Returns our server as plugins name it.
fn servers_alone(program: &str) -> Value {
    let server = json!({ "command": program, "args": ["mcp"] });
    json!({ "mcpServers": { servers::NAME: server } })
}

/// Puts the program into a text, as a string that JavaScript and Starlark read alike.
fn with(text: &str, program: &str) -> String {
    text.replace(PROGRAM, &Value::from(program).to_string())
}

/// Returns the programs that the hooks in a text call, if it is JSON.
pub fn programs(text: &str) -> Vec<String> {
    let mut programs = Vec::new();
    if let Ok(value) = JsonEdit::read(text).and_then(|edit| edit.value()) {
        collect_programs(&value, &mut programs);
    }
    programs
}

fn collect_programs(value: &Value, programs: &mut Vec<String>) {
    match value {
        Value::String(line) => programs.extend(HookCall::parse(line).map(|call| call.program)),
        Value::Array(list) => list.iter().for_each(|one| collect_programs(one, programs)),
        Value::Object(map) => map.values().for_each(|one| collect_programs(one, programs)),
        _ => {}
    }
}

/// Returns the program that stands in a text where another has this one.
pub fn other_program(found: &str, wanted: &str, program: &str) -> Option<String> {
    let (before, _) = wanted.split_once(&Value::from(program).to_string())?;
    let quoted = found.strip_prefix(before)?;
    let mut strings = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    strings.next()?.ok().filter(|found| found != program)
}
