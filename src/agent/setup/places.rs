//! The folders in which agents keep their settings.

use std::path::{Path, PathBuf};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::managed;
use crate::config::environment::Environment;
use crate::error::{Error, Result};

/// Where the agents look for settings: those of a user, or those of a project.
#[derive(Clone, Debug)]
pub struct SetupPlaces {
    /// The project, or `None` for the user's own settings.
    pub project: Option<PathBuf>,
    claude: PathBuf,
    codex: PathBuf,
    gemini: PathBuf,
    cursor: PathBuf,
    copilot: PathBuf,
    opencode: PathBuf,
    amp: PathBuf,
    cline: PathBuf,
    windsurf: PathBuf,
    vscode: PathBuf,
    zed: PathBuf,
    goose: PathBuf,
    /// The skills that several agents read.
    pub agents: PathBuf,
    /// The settings of Claude Code that an organization manages.
    pub managed: PathBuf,
}

impl SetupPlaces {
    /// Returns the folders of the user.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn of_user(environment: &Environment) -> Result<Self> {
        let home = environment.home.as_deref();
        let home = home.ok_or_else(no_home)?;
        let named = |folder: &Option<PathBuf>, name: &str| {
            folder.clone().unwrap_or_else(|| home.join(name))
        };
        let config = named(&environment.xdg_config_home, ".config");
        Ok(Self {
            project: None,
            claude: named(&environment.claude_config_dir, ".claude"),
            codex: named(&environment.codex_home, ".codex"),
            gemini: home.join(".gemini"),
            cursor: home.join(".cursor"),
            copilot: named(&environment.copilot_home, ".copilot"),
            opencode: config.join("opencode"),
            amp: config.join("amp"),
            cline: home.join(".cline"),
            windsurf: home.join(".codeium/windsurf"),
            vscode: applications(home, &config).join("Code/User"),
            zed: roaming(home, &config, "Zed", "zed"),
            goose: roaming(home, &config, "Block/goose/config", "goose"),
            agents: home.join(".agents"),
            managed: managed::usual_folder(),
        })
    }

    /// Returns the folders of a project.
    pub fn of_project(root: &Path) -> Self {
        Self {
            project: Some(root.to_path_buf()),
            claude: root.join(".claude"),
            codex: root.join(".codex"),
            gemini: root.join(".gemini"),
            cursor: root.join(".cursor"),
            copilot: root.join(".github"),
            opencode: root.join(".opencode"),
            amp: root.join(".amp"),
            cline: root.join(".cline"),
            windsurf: root.join(".windsurf"),
            vscode: root.join(".vscode"),
            zed: root.join(".zed"),
            goose: root.join(".goose"),
            agents: root.join(".agents"),
            managed: managed::usual_folder(),
        }
    }

    /// Returns the folder of an agent's settings.
    pub fn folder(&self, agent: AgentName) -> &Path {
        match agent {
            AgentName::Claude => &self.claude,
            AgentName::Codex => &self.codex,
            AgentName::Gemini => &self.gemini,
            AgentName::Cursor => &self.cursor,
            AgentName::Copilot => &self.copilot,
            AgentName::Opencode => &self.opencode,
            AgentName::Amp => &self.amp,
            AgentName::Cline => &self.cline,
            AgentName::Windsurf => &self.windsurf,
            AgentName::Vscode => &self.vscode,
            AgentName::Zed => &self.zed,
            AgentName::Goose => &self.goose,
        }
    }

    /// Whether an agent has been used here: its folder is there. That of Claude Code also holds our
    /// stores, so it needs something else in it.
    pub fn has(&self, agent: AgentName) -> bool {
        let folder = self.folder(agent);
        if agent != AgentName::Claude {
            return folder.is_dir();
        }
        let names = std::fs::read_dir(folder).into_iter().flatten();
        names.flatten().any(|entry| entry.file_name() != "projects")
    }
}

/// Returns where programs with a window keep their settings on this system.
fn applications(home: &Path, config: &Path) -> PathBuf {
    if cfg!(target_os = "macos") {
        home.join("Library/Application Support")
    } else if cfg!(windows) {
        home.join("AppData/Roaming")
    } else {
        config.to_path_buf()
    }
}

/// Returns the folder of a program that has another name below the settings of Windows.
fn roaming(home: &Path, config: &Path, on_windows: &str, elsewhere: &str) -> PathBuf {
    if cfg!(windows) {
        home.join("AppData/Roaming").join(on_windows)
    } else {
        config.join(elsewhere)
    }
}

/// Returns the failure to find the settings of agents.
pub fn no_home() -> Error {
    Error::unexpected("agents keep their settings in the home directory, and HOME names none")
}
