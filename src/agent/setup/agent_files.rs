//! The files that each agent gets: their places and their content.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::setup::agents::{
    Agent, AgentHooks, AgentLayout, AgentServer, HookEvent, ManagedKey,
};
use crate::agent::setup::settings_json::{HookCall, HookEntries, OurJson, ServerEntry};
use crate::agent::{AgentName, Leeway, SetupPlaces};
use crate::base::text::escape_path;
use crate::base::windows::verbatim::native_path;
use crate::error::{Error, Result};
use crate::store::files::checksummed_text::checksum;

/// The texts that the table names, and the skills.
const TEXTS: [(&str, &str); 6] = [
    ("plugin.md", include_str!("texts/plugin.md")),
    ("policy.toml", include_str!("texts/policy.toml")),
    ("checkpoint.rules", include_str!("texts/checkpoint.rules")),
    ("opencode.js", include_str!("texts/opencode.js")),
    ("amp.ts", include_str!("texts/amp.ts")),
    ("cline.ts", include_str!("texts/cline.ts")),
];
const SKILLS: [(&str, &str); 2] = [
    ("checkpoint", include_str!("texts/checkpoint.md")),
    ("resume-workflow", include_str!("texts/resume-workflow.md")),
];
/// What stands for the program in the texts, a string that JavaScript and Starlark read alike.
const PROGRAM: &str = "\"PROGRAM\"";
const DESCRIPTION: &str =
    "A checkpoint of the working directory before each prompt, and the way back";
/// Our server in JSON, where the table says nothing else.
const SERVER_ENTRY: &str = r#"{ "command": "{program}", "args": ["mcp"] }"#;
/// Seconds for an event where the table says nothing else, and for the first checkpoint of a directory.
const USUAL_SECONDS: u32 = 5;
const FIRST_SECONDS: u32 = 25;

/// Begins the end of the last line of a text of ours, which tells whether anyone has changed it.
const MARK: &str = "written by the setup of checkpoint: ";

/// A file for an agent.
#[derive(Clone, Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub content: FileContent,
    /// Whether nothing of ours may stand in it beside the other files: each event would come twice.
    pub is_extra: bool,
}

impl AgentFile {
    fn new(path: PathBuf, content: FileContent) -> Self {
        Self {
            path,
            content,
            is_extra: false,
        }
    }
}

#[derive(Clone, Debug)]
pub enum FileContent {
    /// A text of ours alone.
    Text(String),
    /// Entries in JSON that others may write too.
    Json(OurJson),
    /// A server in TOML.
    Toml { program: String },
    /// A server in YAML, which its user pastes.
    Yaml { program: String, paste: String },
}

/// All that an agent gets.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// In the order of removal: what calls us comes first. They are written the other way round.
    pub files: Vec<AgentFile>,
    /// The folder that holds files of ours alone, if there is one.
    pub own_folder: Option<PathBuf>,
    /// What is left to the user.
    pub notes: Vec<String>,
}

/// Returns what an agent gets at these places. `program` is what its entries call.
pub fn of_agent(
    name: AgentName,
    agent: &Agent,
    places: &SetupPlaces,
    leeway: &Leeway,
    program: &str,
) -> Result<AgentFiles> {
    let no_plugin = match leeway {
        Leeway::Settings(key) if name == AgentName::Claude => Some(key),
        _ => None,
    };
    let wanted = match (name, no_plugin, places.is_project) {
        (AgentName::Claude, None, _) => "plugin",
        (AgentName::Claude, Some(_), _) => "settings",
        (_, _, false) => "user",
        (_, _, true) => "project",
    };
    let folder = places.folder(agent);
    let dir = |layout: &AgentLayout| folder.join(layout.own.as_deref().unwrap_or_default());
    let files = |layout| files_below(&dir(layout), name, agent, layout, &places.top, program);
    let layout = agent.layout(wanted)?;
    let mut all = files(layout)?;
    let own: Vec<PathBuf> = all.iter().map(|file| file.path.clone()).collect();
    all.reverse();
    let others = ["settings", "plugin"].into_iter();
    for other in others.filter_map(|place| agent.layout.get(place)) {
        let extra = files(other)?.into_iter().rev();
        let extra = extra.filter(|file| !own.contains(&file.path));
        all.extend(extra.map(|file| AgentFile {
            is_extra: true,
            ..file
        }));
    }
    Ok(AgentFiles {
        files: all,
        own_folder: layout.own.as_ref().map(|_| dir(layout)),
        notes: notes(agent, places.is_project, no_plugin),
    })
}

/// Returns the files of a layout in a folder; those outside it are below `top`.
pub fn files_below(
    dir: &Path,
    name: AgentName,
    agent: &Agent,
    layout: &AgentLayout,
    top: &Path,
    program: &str,
) -> Result<Vec<AgentFile>> {
    let path = |below: &str| {
        native_path(match below.strip_prefix("~/") {
            Some(below) => top.join(below),
            None => dir.join(below),
        })
    };
    let mut files = Vec::new();
    let skills = layout.skills.iter().flat_map(|below| {
        SKILLS.map(|(name, skill)| (path(below).join(name).join("SKILL.md"), skill))
    });
    let mut texts: Vec<(PathBuf, &str)> = skills.collect();
    for (below, name) in &layout.texts {
        let text = TEXTS.iter().find(|(known, _)| known == name);
        let text = text.ok_or_else(|| Error::unexpected(format!("no text {name}")))?;
        texts.push((path(below), text.1));
    }
    let quoted = Value::from(program).to_string();
    for (path, text) in texts {
        let text = sealed(&path, &text.replace(PROGRAM, &quoted));
        files.push(AgentFile::new(path, FileContent::Text(text)));
    }
    if let Some(below) = &layout.manifest {
        in_json(&mut files, path(below), |json| json.members = manifest());
    }
    if let Some(below) = layout.server.as_ref().filter(|_| cfg!(feature = "mcp")) {
        add_server(&mut files, &agent.server, path(below), program)?;
    }
    if let (Some(below), Some(hooks)) = (&layout.hooks, &agent.hooks) {
        let entries = entries(name, hooks, program)?;
        in_json(&mut files, path(below), |json| json.hooks = Some(entries));
    }
    Ok(files)
}

/// Adds to what is ours in a file of JSON, which may be among the files already.
fn in_json(files: &mut Vec<AgentFile>, path: PathBuf, add: impl FnOnce(&mut OurJson)) {
    let known = files.iter().position(|file| file.path == path);
    let at = known.unwrap_or_else(|| {
        let content = FileContent::Json(OurJson::default());
        files.push(AgentFile::new(path, content));
        files.len() - 1
    });
    if let FileContent::Json(json) = &mut files[at].content {
        add(json);
    }
}

fn add_server(
    files: &mut Vec<AgentFile>,
    server: &AgentServer,
    path: PathBuf,
    program: &str,
) -> Result<()> {
    let with_comments = path.with_extension("jsonc");
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let has_comments = server.or_jsonc && !is_there(&path) && is_there(&with_comments);
    let path = if has_comments { with_comments } else { path };
    let program = program.to_owned();
    if let Some(paste) = &server.paste {
        let paste = paste.replace("{program}", &json!(program).to_string());
        files.push(AgentFile::new(path, FileContent::Yaml { program, paste }));
    } else if path.extension().is_some_and(|end| end == "toml") {
        files.push(AgentFile::new(path, FileContent::Toml { program }));
    } else {
        let template = server.entry.as_deref().unwrap_or(SERVER_ENTRY);
        let entry = ServerEntry {
            key: server.key.clone(),
            entry: filled(template, &[("program", json!(program))])?,
            program,
        };
        in_json(files, path, |json| json.server = Some(entry));
    }
    Ok(())
}

fn notes(agent: &Agent, is_project: bool, no_plugin: Option<&ManagedKey>) -> Vec<String> {
    let of_policy = no_plugin.map(|ManagedKey { file, key }| {
        let file = escape_path(file);
        format!("{key} in {file} forbids plugins in the folder of skills: the hooks go into settings.json")
    });
    let of_agent = agent.note.clone().filter(|_| no_plugin.is_none());
    let of_project =
        "it names the program by its path here; on a machine without it, it does nothing";
    let of_project = is_project.then(|| of_project.to_owned());
    let notes = [of_policy, of_agent, of_project];
    notes.into_iter().flatten().collect()
}

/// Returns the manifest that Claude Code and Gemini CLI read alike.
fn manifest() -> Vec<(&'static str, Value)> {
    vec![
        ("name", "checkpoint".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("description", DESCRIPTION.into()),
        ("author", json!({ "name": "The authors of checkpoint" })),
        ("license", "MIT".into()),
    ]
}

/// Returns our entries for an agent, as they stand below `hooks` in its settings.
fn entries(agent: AgentName, hooks: &AgentHooks, program: &str) -> Result<HookEntries> {
    let of_event = |event: &HookEvent| {
        let first = event.first.then_some(true);
        let calls = std::iter::once(false).chain(first);
        let handlers = calls.map(|is_first| {
            let program = program.to_owned();
            let call = HookCall {
                program,
                agent,
                is_first,
            };
            handler(&hooks.handler, event, &call)
        });
        let handlers: Vec<Value> = handlers.collect::<Result<_>>()?;
        let list = match (hooks.grouped, &event.tools) {
            (false, _) => handlers,
            (true, None) => vec![json!({ "hooks": handlers })],
            (true, Some(tools)) => vec![json!({ "matcher": tools, "hooks": handlers })],
        };
        Ok((event.on.clone(), list))
    };
    Ok(HookEntries {
        agent,
        is_grouped: hooks.grouped,
        version: hooks.version,
        events: hooks.event.iter().map(of_event).collect::<Result<_>>()?,
    })
}

/// Returns what an agent needs to call us once at one event.
fn handler(template: &str, event: &HookEvent, call: &HookCall) -> Result<Value> {
    let (seconds, name) = if call.is_first {
        (FIRST_SECONDS, "checkpoint-first")
    } else {
        (event.seconds.unwrap_or(USUAL_SECONDS), "checkpoint")
    };
    let is_async = event.is_async || call.is_first;
    let words = [
        ("call", json!(call.line(cfg!(windows)))),
        ("sh", json!(call.line(false))),
        ("powershell", json!(call.line(true))),
        ("windows", json!(cfg!(windows).then(|| call.line(true)))),
        ("shell", json!(cfg!(windows).then_some("powershell"))),
        ("seconds", json!(seconds)),
        ("milliseconds", json!(seconds * 1000)),
        ("name", json!(name)),
        ("async", json!(is_async.then_some(true))),
        ("tools", json!(event.tools)),
    ];
    filled(template, &words)
}

/// Reads a template of JSON with a value in the place of each `"{word}"`; a key of null goes.
fn filled(template: &str, words: &[(&str, Value)]) -> Result<Value> {
    let mut text = template.to_owned();
    for (word, value) in words {
        text = text.replace(&format!("\"{{{word}}}\""), &value.to_string());
    }
    let mut filled: Value = serde_json::from_str(&text).map_err(Error::unexpected)?;
    let members = filled.as_object_mut().into_iter();
    members.for_each(|members| members.retain(|_, value| !value.is_null()));
    Ok(filled)
}

/// Whose a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// It is as some version of this program wrote it.
    Us,
    /// We wrote it, and someone has changed it.
    UsAndOthers,
    Others,
}

/// Returns a text with the line that recognizes it, as a comment.
fn sealed(path: &Path, text: &str) -> String {
    let (open, close) = match path.extension().and_then(|end| end.to_str()) {
        Some("md") => ("<!-- ", " -->"),
        Some("js" | "ts") => ("// ", ""),
        _ => ("# ", ""),
    };
    let text = format!("{text}{open}");
    format!("{text}{MARK}{}{close}\n", checksum(&text))
}

pub fn author(text: &str) -> Author {
    let Some((before, sum)) = text.rsplit_once(MARK) else {
        return Author::Others;
    };
    match sum.trim_end_matches(" -->\n").trim_end_matches('\n') {
        sum if sum == checksum(before) => Author::Us,
        _ => Author::UsAndOthers,
    }
}
