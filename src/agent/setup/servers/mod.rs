//! The entry of our MCP server in the settings of each agent: its place, its form, and how it is put
//! in and taken out.

mod json_entry;
mod toml_section;
mod yaml_section;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::command_line::is_our_name;
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::places::SetupPlaces;
use crate::agent::setup::shared_hooks::{WithEntries, WithoutEntries};

/// The name of our server in settings.
pub const NAME: &str = "checkpoint";
const COMMAND: &str = "command";
const ARGUMENTS: &str = "args";
/// The subcommand that serves.
const SUBCOMMAND: &str = "mcp";

/// How settings name their servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerSyntax {
    /// JSON with comments, below this key.
    Json(&'static str),
    /// `[mcp_servers.checkpoint]`
    Toml,
    /// A mapping below `extensions:`.
    Yaml,
}

/// What calls our server.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    syntax: ServerSyntax,
    program: String,
    /// The entry in JSON.
    value: Value,
}

impl ServerEntry {
    /// Returns the entry in a file of settings that others write too.
    pub fn of_agent(agent: AgentName, program: &str) -> Self {
        let syntax = match agent {
            AgentName::Codex => ServerSyntax::Toml,
            AgentName::Goose => ServerSyntax::Yaml,
            AgentName::Opencode => ServerSyntax::Json("mcp"),
            AgentName::Amp => ServerSyntax::Json("amp.mcpServers"),
            AgentName::Vscode => ServerSyntax::Json("servers"),
            AgentName::Zed => ServerSyntax::Json("context_servers"),
            _ => ServerSyntax::Json("mcpServers"),
        };
        let arguments = [SUBCOMMAND];
        let value = match agent {
            AgentName::Opencode => {
                let command = [program, SUBCOMMAND];
                json!({ "type": "local", COMMAND: command, "enabled": true })
            }
            AgentName::Vscode => {
                json!({ "type": "stdio", COMMAND: program, ARGUMENTS: arguments })
            }
            AgentName::Copilot => {
                json!({ "type": "local", COMMAND: program, ARGUMENTS: arguments, "tools": ["*"] })
            }
            _ => json!({ COMMAND: program, ARGUMENTS: arguments }),
        };
        let program = program.to_owned();
        Self {
            syntax,
            program,
            value,
        }
    }

    /// Puts the entry into a file. One of ours that is there keeps what its user changed, but calls
    /// this program. `made` are the keys that were put in before.
    ///
    /// # Errors
    /// The file cannot be edited safely, or the name belongs to another server.
    pub fn put_into(
        &self,
        text: Option<&str>,
        made: &[String],
    ) -> Result<WithEntries, SettingsFlaw> {
        match self.syntax {
            ServerSyntax::Json(key) => json_entry::put_into(self, key, text, made),
            ServerSyntax::Toml => toml_section::put_into(self, text.unwrap_or_default(), made),
            ServerSyntax::Yaml => yaml_section::put_into(self, text.unwrap_or_default(), made),
        }
    }

    /// Takes the entry out of a file if it is ours: as one version writes it, or put in before.
    ///
    /// # Errors
    /// As [`Self::put_into`]; also if what was put in no longer looks like ours.
    pub fn take_out_of(&self, text: &str, made: &[String]) -> Result<WithoutEntries, SettingsFlaw> {
        match self.syntax {
            ServerSyntax::Json(key) => json_entry::take_out_of(self, key, text, made),
            ServerSyntax::Toml => toml_section::take_out_of(self, text, made),
            ServerSyntax::Yaml => yaml_section::take_out_of(text, made),
        }
    }

    /// Whether an entry is as some version of ours writes it, for a program at any place.
    fn is_as_written(&self, found: &Value) -> bool {
        let mut like = found.clone();
        match &mut like[COMMAND] {
            Value::Array(words) if !words.is_empty() => words[0] = self.program.as_str().into(),
            command => *command = self.program.as_str().into(),
        }
        like == self.value
    }
}

/// Returns the program of an entry that calls our server, with whatever arguments.
fn called_program(entry: &Value) -> Option<&str> {
    let (program, arguments) = match &entry[COMMAND] {
        Value::Array(words) => (words.first()?.as_str()?, words.get(1..)?),
        command => (command.as_str()?, entry[ARGUMENTS].as_array()?.as_slice()),
    };
    let serves = arguments.iter().any(|argument| argument == SUBCOMMAND);
    (serves && is_our_name(program)).then_some(program)
}

fn of_another(key: &str) -> SettingsFlaw {
    SettingsFlaw::new(format!(
        "its {key}.{NAME} is another server; give that another name"
    ))
}

fn changed_by_others(key: &str) -> SettingsFlaw {
    SettingsFlaw::new(format!(
        "its {key}.{NAME} was changed since it was written; take it out by hand"
    ))
}

/// Returns the file in which an agent looks for servers and that others write too; `None` if ours
/// stands in a file of our own, or the agent has none at these places.
pub fn file(agent: AgentName, places: &SetupPlaces) -> Option<PathBuf> {
    if cfg!(not(feature = "mcp")) {
        return None;
    }
    let folder = places.folder(agent);
    let root = places.project.as_deref();
    let name = match (agent, root) {
        (AgentName::Codex, _) => "config.toml",
        (AgentName::Copilot, None) => "mcp-config.json",
        (AgentName::Cursor | AgentName::Vscode | AgentName::Copilot, _) => "mcp.json",
        (AgentName::Amp | AgentName::Zed, _) | (AgentName::Gemini, Some(_)) => "settings.json",
        (AgentName::Windsurf, None) => "mcp_config.json",
        (AgentName::Cline, None) => "data/settings/cline_mcp_settings.json",
        (AgentName::Goose, None) => "config.yaml",
        (AgentName::Opencode, _) => {
            let with_comments = folder.join("opencode.jsonc");
            let plain = folder.join("opencode.json");
            let has_plain = plain.symlink_metadata().is_ok();
            let is_other = !has_plain && with_comments.symlink_metadata().is_ok();
            return Some(if is_other { with_comments } else { plain });
        }
        _ => return None,
    };
    Some(folder.join(name))
}
