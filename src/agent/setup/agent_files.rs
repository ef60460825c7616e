//! The files that each agent gets: their places and their content.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::agents::{
    Agent, AgentHooks, AgentLayout, AgentServer, HookEvent, SetupPlaces,
};
use crate::agent::setup::command_line::HookCall;
use crate::agent::setup::managed::{Leeway, ManagedKey};
use crate::agent::setup::own_text;
use crate::agent::setup::settings_json::{HookEntries, OurJson, ServerEntry};
use crate::base::text::escape_path;
use crate::base::windows::verbatim::native_path;
use crate::error::{Error, Result};

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
pub const PROGRAM: &str = "\"PROGRAM\"";
const DESCRIPTION: &str =
    "A checkpoint of the working directory before each prompt, and the way back";
/// Seconds for the first checkpoint of a directory.
const FIRST_SECONDS: u32 = 25;

/// A file for an agent.
#[derive(Clone, Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub content: FileContent,
}

#[derive(Clone, Debug)]
pub enum FileContent {
    /// A text of ours alone; `template` is the same without the program.
    Text {
        text: String,
        template: &'static str,
    },
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
    /// In the order of writing: what calls us comes last. They are removed the other way round.
    pub files: Vec<AgentFile>,
    /// The folder that holds files of ours alone, if there is one.
    pub own_folder: Option<PathBuf>,
    /// Files in which nothing of ours may stand beside these: each event would come twice.
    pub extra: Vec<AgentFile>,
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
    let (folder, top) = (places.folder(agent), &places.top);
    let of_place = |place: &str| agent.layout.get(place).or(agent.layout.get("any"));
    let layout = of_place(wanted).ok_or_else(|| Error::unexpected("no such layout"))?;
    let files = files(name, agent, layout, &folder, top, program)?;
    let mut extra = Vec::new();
    for other in ["plugin", "settings"]
        .into_iter()
        .filter_map(|place| agent.layout.get(place))
    {
        extra.extend(self::files(name, agent, other, &folder, top, program)?);
    }
    extra.retain(|extra| !files.iter().any(|file| file.path == extra.path));
    Ok(AgentFiles {
        files,
        own_folder: layout.own.as_ref().map(|own| folder.join(own)),
        extra,
        notes: notes(agent, places.is_project, no_plugin),
    })
}

/// Returns the plugin for Claude Code, as it stands in a folder.
pub fn claude_plugin(agent: &Agent, folder: &Path, program: &str) -> Result<Vec<AgentFile>> {
    let layout = agent.layout.get("plugin");
    let layout = layout.ok_or_else(|| Error::unexpected("the plugin is not in the table"))?;
    let in_folder = AgentLayout {
        own: None,
        ..layout.clone()
    };
    files(
        AgentName::Claude,
        agent,
        &in_folder,
        folder,
        folder,
        program,
    )
}

fn files(
    name: AgentName,
    agent: &Agent,
    layout: &AgentLayout,
    folder: &Path,
    top: &Path,
    program: &str,
) -> Result<Vec<AgentFile>> {
    let own = layout.own.as_deref().unwrap_or_default();
    let path = |below: &str| {
        native_path(match below.strip_prefix("~/") {
            Some(below) => top.join(below),
            None => folder.join(own).join(below),
        })
    };
    let mut files = Vec::new();
    let skills = layout.skills.iter().flat_map(|below| {
        SKILLS.map(|(name, skill)| (path(below).join(name).join("SKILL.md"), skill))
    });
    files.extend(skills.map(|(path, skill)| text(path, skill, program)));
    for (below, name) in &layout.texts {
        let template = TEXTS.iter().find(|(known, _)| known == name);
        let template = template.ok_or_else(|| Error::unexpected(format!("no text {name}")))?;
        files.push(text(path(below), template.1, program));
    }
    if let Some(below) = &layout.manifest {
        in_json(&mut files, path(below), |json| json.members = manifest());
    }
    if let Some(below) = layout.server.as_ref().filter(|_| cfg!(feature = "mcp")) {
        let path = existing(&agent.server, path(below));
        match server(&agent.server, &path, program)? {
            FileContent::Json(ours) => in_json(&mut files, path, |json| json.server = ours.server),
            content => files.push(AgentFile { path, content }),
        }
    }
    if let (Some(below), Some(hooks)) = (&layout.hooks, &agent.hooks) {
        let entries = entries(name, hooks, program)?;
        in_json(&mut files, path(below), |json| json.hooks = Some(entries));
    }
    Ok(files)
}

fn text(path: PathBuf, template: &'static str, program: &str) -> AgentFile {
    let text = template.replace(PROGRAM, &Value::from(program).to_string());
    let text = own_text::sealed(&path, &text);
    let content = FileContent::Text { text, template };
    AgentFile { path, content }
}

/// Adds to what is ours in a file of JSON, which may be among the files already.
fn in_json(files: &mut Vec<AgentFile>, path: PathBuf, add: impl FnOnce(&mut OurJson)) {
    let known = files.iter().position(|file| file.path == path);
    let at = known.unwrap_or_else(|| {
        let content = FileContent::Json(OurJson::default());
        files.push(AgentFile { path, content });
        files.len() - 1
    });
    if let FileContent::Json(json) = &mut files[at].content {
        add(json);
    }
}

/// Returns our server as the content of a file.
fn server(server: &AgentServer, path: &Path, program: &str) -> Result<FileContent> {
    let program = program.to_owned();
    if let Some(paste) = &server.paste {
        let paste = paste.replace("{program}", &Value::from(&*program).to_string());
        return Ok(FileContent::Yaml { program, paste });
    }
    if path.extension().is_some_and(|end| end == "toml") {
        return Ok(FileContent::Toml { program });
    }
    let value_of = |word: &str| (word == "program").then(|| program.clone().into());
    let entry = ServerEntry {
        key: server.key.clone(),
        entry: filled(&server.entry, &value_of)?,
        program,
    };
    Ok(FileContent::Json(OurJson {
        server: Some(entry),
        ..OurJson::default()
    }))
}

/// Returns the path of a file of servers, or that of one with comments if only the latter is there.
fn existing(server: &AgentServer, path: PathBuf) -> PathBuf {
    let with_comments = path.with_extension("jsonc");
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    if server.or_jsonc && !is_there(&path) && is_there(&with_comments) {
        return with_comments;
    }
    path
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
    [of_policy, of_agent, of_project]
        .into_iter()
        .flatten()
        .collect()
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
        let handlers = calls.map(|is_first| handler(agent, hooks, event, program, is_first));
        let handlers: Vec<Value> = handlers.collect::<Result<_>>()?;
        let mut group = Map::new();
        if let Some(tools) = &event.tools {
            group.insert("matcher".to_owned(), tools.as_str().into());
        }
        let list = if hooks.grouped {
            group.insert("hooks".to_owned(), handlers.into());
            vec![Value::Object(group)]
        } else {
            handlers
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

/// Returns what one agent needs to call us once at one event.
fn handler(
    agent: AgentName,
    hooks: &AgentHooks,
    event: &HookEvent,
    program: &str,
    is_first: bool,
) -> Result<Value> {
    let call = HookCall {
        program: program.to_owned(),
        agent,
        is_first,
    };
    let seconds = if is_first {
        FIRST_SECONDS
    } else {
        event.seconds
    };
    let name = if is_first {
        "checkpoint-first"
    } else {
        "checkpoint"
    };
    let is_async = event.is_async || is_first;
    filled(&hooks.handler, &|word| match word {
        "call" => Some(call.native().into()),
        "sh" => Some(call.shell().into()),
        "powershell" => Some(call.powershell().into()),
        "windows" => cfg!(windows).then(|| call.powershell().into()),
        "shell" => cfg!(windows).then(|| "powershell".into()),
        "seconds" => Some(seconds.into()),
        "milliseconds" => Some((seconds * 1000).into()),
        "name" => Some(name.into()),
        "async" => is_async.then(|| true.into()),
        "tools" => event.tools.as_deref().map(Value::from),
        _ => None,
    })
}

/// Reads a template of JSON and puts a value in the place of each `{word}`; a key without one goes.
fn filled(template: &str, value_of: &dyn Fn(&str) -> Option<Value>) -> Result<Value> {
    let template: Value = serde_json::from_str(template).map_err(Error::unexpected)?;
    Ok(fill(template, value_of).unwrap_or_default())
}

fn fill(template: Value, value_of: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    match template {
        Value::String(text) => match text
            .strip_prefix('{')
            .and_then(|word| word.strip_suffix('}'))
        {
            Some(word) => value_of(word),
            None => Some(text.into()),
        },
        Value::Array(list) => Some(
            list.into_iter()
                .filter_map(|one| fill(one, value_of))
                .collect(),
        ),
        Value::Object(map) => {
            let filled = map
                .into_iter()
                .filter_map(|(key, one)| Some((key, fill(one, value_of)?)));
            Some(Value::Object(filled.collect()))
        }
        other => Some(other),
    }
}
