//! The table of the agents, where they keep their settings, and what an organization leaves to us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::agent::AgentName;
use crate::agent::setup::json_edit;
use crate::base::read_regular;
use crate::config::Environment;
use crate::error::{Error, Result};

const TABLE: &str = include_str!("agents.toml");

/// An agent: where its settings are, and what it gets in them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    user: String,
    mac: Option<String>,
    windows: Option<String>,
    env: Option<String>,
    project: String,
    /// What is left to its user.
    pub note: Option<String>,
    pub hooks: Option<AgentHooks>,
    pub server: AgentServer,
    pub layout: BTreeMap<String, AgentLayout>,
}

impl Agent {
    pub fn layout(&self, place: &str) -> Result<&AgentLayout> {
        let found = self.layout.get(place).or(self.layout.get("any"));
        found.ok_or_else(|| Error::unexpected(format!("no layout {place}")))
    }
}

/// Which events call us, and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentHooks {
    /// Whether the list of an event has groups with a matcher and a list of handlers.
    #[serde(default)]
    pub grouped: bool,
    /// The version that the file must name.
    pub version: Option<u64>,
    pub handler: String,
    pub event: Vec<HookEvent>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookEvent {
    pub on: String,
    /// The tools at which it calls us.
    pub tools: Option<String>,
    /// Seconds after which the agent may give us up. Our own limit is shorter.
    pub seconds: Option<u32>,
    /// Whether the first checkpoint of a directory is made here, by a call of its own.
    #[serde(default)]
    pub first: bool,
    /// Whether nothing waits for the call.
    #[serde(default, rename = "async")]
    pub is_async: bool,
}

/// How our MCP server is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentServer {
    pub key: String,
    pub entry: Option<String>,
    pub paste: Option<String>,
    /// Whether its file may have the extension `jsonc`.
    #[serde(default)]
    pub or_jsonc: bool,
}

/// The files of an agent, below its folder.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentLayout {
    pub own: Option<String>,
    pub manifest: Option<String>,
    pub skills: Option<String>,
    pub texts: Vec<(String, String)>,
    pub server: Option<String>,
    pub hooks: Option<String>,
}

/// All agents, by name.
#[derive(Debug)]
pub struct Agents(BTreeMap<String, Agent>);

impl Agents {
    /// # Errors
    /// The table of this program is wrong.
    pub fn read() -> Result<Self> {
        toml::from_str(TABLE).map(Self).map_err(Error::unexpected)
    }

    pub fn get(&self, agent: AgentName) -> Result<&Agent> {
        let found = self.0.get(agent.into_str());
        found.ok_or_else(|| Error::unexpected(format!("{} is not in the table", agent.into_str())))
    }
}

/// Where the agents look for settings: those of a user, or those of a project.
#[derive(Clone, Debug)]
pub struct SetupPlaces {
    /// The home directory, or the project.
    pub top: PathBuf,
    pub is_project: bool,
    environment: Environment,
}

impl SetupPlaces {
    /// # Errors
    /// There is no home directory.
    pub fn of_user(environment: &Environment) -> Result<Self> {
        let missing = "agents keep their settings in the home directory, and HOME names none";
        let home = environment.home.as_deref();
        let home = home.ok_or_else(|| Error::unexpected(missing))?;
        Ok(Self {
            is_project: false,
            environment: environment.clone(),
            ..Self::of_project(home)
        })
    }

    pub fn of_project(root: &Path) -> Self {
        Self {
            top: root.to_path_buf(),
            is_project: true,
            environment: Environment::default(),
        }
    }

    /// Returns the folder of an agent's settings.
    pub fn folder(&self, agent: &Agent) -> PathBuf {
        if self.is_project {
            return self.top.join(&agent.project);
        }
        let named = |variable: &str| self.environment.folders.get(variable);
        if let Some(folder) = agent.env.as_deref().and_then(named) {
            return folder.clone();
        }
        let of_system = match std::env::consts::OS {
            "macos" => agent.mac.as_ref(),
            "windows" => agent.windows.as_ref(),
            _ => None,
        };
        let below = of_system.unwrap_or(&agent.user);
        match below.strip_prefix("{config}/") {
            Some(below) => {
                let config = named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
                config.unwrap_or(&self.top.join(".config")).join(below)
            }
            None => self.top.join(below),
        }
    }

    /// Whether an agent has been used here: its folder is there. That of Claude Code also holds our
    /// stores, so it needs something else in it.
    pub fn has(&self, agent: &Agent) -> bool {
        let entries = std::fs::read_dir(self.folder(agent));
        entries.is_ok_and(|entries| {
            let mut names = entries.flatten().map(|entry| entry.file_name());
            agent.env.as_deref() != Some("CLAUDE_CONFIG_DIR")
                || names.any(|name| name != "projects")
        })
    }
}

/// A managed setting that forbids something of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedKey {
    pub file: PathBuf,
    pub key: &'static str,
}

/// Where our hooks for Claude Code can be.
///
/// Keys as Claude Code documents them. A list `strictKnownMarketplaces` without `skills-dir`, or
/// `blockedMarketplaces` with it, stops plugins in the folder of skills; hooks in the user's settings
/// still run. `allowManagedHooksOnly` and `disableAllHooks` stop both, and so does
/// `strictPluginOnlyCustomization` where it comes on top. Settings that a server or the system's own
/// policies deliver are not seen here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leeway {
    /// In a plugin in the folder of skills.
    Plugin,
    /// In the settings only.
    Settings(ManagedKey),
    Nowhere(ManagedKey),
}

/// Returns the folder of the managed settings on this system.
pub fn managed_folder() -> PathBuf {
    PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        "C:\\Program Files\\ClaudeCode"
    } else {
        "/etc/claude-code"
    })
}

/// Whether a file is one of the managed settings of this system.
pub fn is_managed(path: &Path) -> bool {
    path.starts_with(managed_folder())
}

/// Reads the managed settings in a folder and merges them as Claude Code does: of a switch the last
/// one counts, lists are joined. A file that cannot be read counts as empty: Claude Code tells of it.
pub fn leeway(folder: &Path) -> Leeway {
    let drop_ins = std::fs::read_dir(folder.join("managed-settings.d"));
    let drop_ins = drop_ins.into_iter().flatten().flatten();
    let mut drop_ins: Vec<PathBuf> = drop_ins.map(|entry| entry.path()).collect();
    drop_ins.retain(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.ends_with(b".json") && !name.starts_with(b".")
    });
    drop_ins.sort();
    let files = std::iter::once(folder.join("managed-settings.json")).chain(drop_ins);
    let values = files.filter_map(|path| {
        let text = read_regular::read_linked_text(&path).ok()?;
        Some((path, json_edit::value(&text).ok()?))
    });
    let files: Vec<(PathBuf, Value)> = values.collect();
    let named = |key: &'static str| {
        let mut files = files.iter().rev();
        let found = files.find_map(|(file, value)| Some((file, value.get(key)?)))?;
        let file = found.0.clone();
        Some((ManagedKey { file, key }, found.1))
    };
    let has = |key: &str, wanted: &dyn Fn(&Value) -> bool| {
        let lists = files.iter().filter_map(|(_, value)| value.get(key));
        let mut lists = lists.filter_map(Value::as_array);
        lists.any(|list| list.iter().any(wanted))
    };
    // One of these that is no boolean counts as set.
    let switches = ["allowManagedHooksOnly", "disableAllHooks"];
    let mut switches = switches.into_iter().filter_map(named);
    if let Some((key, _)) = switches.find(|(_, value)| **value != Value::Bool(false)) {
        return Leeway::Nowhere(key);
    }
    let is_skills_dir = |source: &Value| source["source"] == "skills-dir";
    let allowed = named("strictKnownMarketplaces").or_else(|| named("allowedMarketplaces"));
    let forbids = allowed.filter(|(key, _)| !has(key.key, &is_skills_dir));
    let blocks = named("blockedMarketplaces").filter(|(key, _)| has(key.key, &is_skills_dir));
    let Some((no_plugin, _)) = forbids.or(blocks) else {
        return Leeway::Plugin;
    };
    let strict = named("strictPluginOnlyCustomization");
    let strict = strict.filter(|(key, value)| {
        **value == Value::Bool(true) || has(key.key, &|surface| surface == "hooks")
    });
    match strict {
        Some((key, _)) => Leeway::Nowhere(key),
        None => Leeway::Settings(no_plugin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    fn leeway_of(texts: &[&str]) -> Leeway {
        let folder = tempfile::tempdir().unwrap();
        let drop_ins = folder.path().join("managed-settings.d");
        std::fs::create_dir(&drop_ins).unwrap();
        std::fs::write(drop_ins.join(".hidden.json"), "{\"disableAllHooks\": true}").unwrap();
        std::fs::write(drop_ins.join("1.txt"), "{\"disableAllHooks\": true}").unwrap();
        for (number, text) in texts.iter().enumerate() {
            let path = match number {
                0 => folder.path().join("managed-settings.json"),
                _ => drop_ins.join(format!("{number}.json")),
            };
            std::fs::write(path, text).unwrap();
        }
        leeway(folder.path())
    }

    #[test]
    fn each_key_that_forbids_something_of_ours_is_named() {
        for (texts, expected) in
            rows::<(Vec<&str>, &str)>(include_str!("tests/agents.json"), "settings")
        {
            let told = match leeway_of(&texts) {
                Leeway::Plugin => "Plugin".to_owned(),
                Leeway::Settings(key) => format!("Settings {}", key.key),
                Leeway::Nowhere(key) => {
                    let file = key.file.file_name().unwrap().display();
                    format!("Nowhere {} {file}", key.key)
                }
            };
            assert_eq!(told, expected, "{texts:?}");
        }
    }
}
