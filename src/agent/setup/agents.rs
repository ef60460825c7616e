//! The table of the agents, and where they keep their settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::managed;
use crate::config::environment::Environment;
use crate::error::{Error, Result};

const TABLE: &str = include_str!("agents.toml");
const DEFAULT_ENTRY: &str = r#"{ "command": "{program}", "args": ["mcp"] }"#;

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
    #[serde(default = "usual_seconds")]
    pub seconds: u32,
    /// Whether the first checkpoint of a directory is made here, by a call of its own.
    #[serde(default)]
    pub first: bool,
    /// Whether nothing waits for the call.
    #[serde(default, rename = "async")]
    pub is_async: bool,
}

fn usual_seconds() -> u32 {
    5
}

/// How our MCP server is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentServer {
    pub key: String,
    #[serde(default = "default_entry")]
    pub entry: String,
    pub paste: Option<String>,
    /// Whether its file may have the extension `jsonc`.
    #[serde(default)]
    pub or_jsonc: bool,
}

fn default_entry() -> String {
    DEFAULT_ENTRY.to_owned()
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
    /// The settings of Claude Code that an organization manages.
    pub managed: PathBuf,
}

impl SetupPlaces {
    /// # Errors
    /// There is no home directory.
    pub fn of_user(environment: &Environment) -> Result<Self> {
        let home = environment.home.as_deref().ok_or_else(|| {
            Error::unexpected(
                "agents keep their settings in the home directory, and HOME names none",
            )
        })?;
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
            managed: managed::usual_folder(),
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
                let config = config.cloned();
                let usual = || self.top.join(".config");
                config.unwrap_or_else(usual).join(below)
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
