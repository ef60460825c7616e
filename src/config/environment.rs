//! The environment, and the base of all stores as a flag or the environment names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::text::escape_path;
use crate::error::{Error, Result};
use crate::model::json::{self, JsonSchema, Serialize};

/// Variables that name a folder.
pub const FOLDERS: &str = "CHECKPOINT_HOME CLAUDE_CONFIG_DIR CLAUDE_PROJECT_DIR CODEX_HOME \
    COPILOT_HOME XDG_CONFIG_HOME";

/// Every environment variable that this program reads; filled once, at the rim.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub home: Option<PathBuf>,
    /// `home`, or where the system says that the user's is.
    pub account_home: Option<PathBuf>,
    /// `HOME`, if it is not an absolute path and therefore not used.
    pub relative_home: Option<PathBuf>,
    /// What each of [`FOLDERS`] names.
    pub folders: BTreeMap<&'static str, PathBuf>,
    /// `CHECKPOINT_SOURCE`
    pub source: Option<String>,
    /// `CHECKPOINT_DISABLE`
    pub disabled: bool,
    /// `CLAUDE_CODE_SESSION_ID`
    pub session: Option<String>,
    /// The agent that runs this process in its shell, as far as its variables tell.
    pub agent: Option<AgentEnvironment>,
    /// `PWD`: the directory as the user sees it.
    pub logical_dir: Option<PathBuf>,
    pub color: ColorChoice,
    /// `TERM` is `dumb` or not set.
    pub is_dumb: bool,
    /// `CHECKPOINT_PAGER`, or else `PAGER`; an empty value counts as set.
    pub pager: Option<std::ffi::OsString>,
    /// Where the platform keeps configuration files.
    pub config_dir: Option<PathBuf>,
}

/// An agent as the variables of its shell name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEnvironment {
    /// Name as in `hook --agent`, or `agent` for one that only says that it is one.
    pub name: &'static str,
    pub session: Option<String>,
}

/// The variables by which an agent is recognized in order of trust, with its name and the variable
/// of its session.
pub const AGENT_VARIABLES: [(&str, &str, Option<&str>); 9] = [
    ("CLAUDECODE", "claude", Some("CLAUDE_CODE_SESSION_ID")),
    ("CODEX_THREAD_ID", "codex", Some("CODEX_THREAD_ID")),
    ("GEMINI_CLI", "gemini", Some("GEMINI_SESSION_ID")),
    ("CURSOR_AGENT", "cursor", None),
    ("COPILOT_CLI", "copilot", None),
    ("COPILOT_AGENT", "copilot", None),
    ("OPENCODE", "opencode", None),
    ("AI_AGENT", "agent", None),
    ("AGENT", "agent", None),
];

/// Colours as the environment asks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorChoice {
    #[default]
    Auto,
    /// By `NO_COLOR`.
    Never,
    /// By this variable.
    Always(&'static str),
}

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, Serialize, JsonSchema)]
#[strum(const_into_str, serialize_all = "snake_case")]
#[serde(tag = "layer", content = "place", rename_all = "snake_case")]
pub enum Origin {
    Default,
    UserFile(#[serde(serialize_with = "json::path")] PathBuf),
    ProjectFile(#[serde(serialize_with = "json::path")] PathBuf),
    Environment(&'static str),
    Flag(&'static str),
}

impl Origin {
    /// Returns the file, variable or flag.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Default => None,
            Self::UserFile(path) | Self::ProjectFile(path) => Some(path.display().to_string()),
            Self::Environment(name) | Self::Flag(name) => Some((*name).to_owned()),
        }
    }
}

/// Returns the base under which all stores lie, by the first of flag, `CHECKPOINT_HOME`,
/// `CLAUDE_CONFIG_DIR` and home.
///
/// # Errors
/// There is none, or a variable names a relative path, which each directory would take for another.
pub fn base(flag: Option<&Path>, environment: &Environment) -> Result<PathBuf> {
    match base_and_origin(flag, environment) {
        Some((base, Origin::Environment(variable))) if !base.is_absolute() => {
            let base = escape_path(&base);
            let what = format!("{variable} is '{base}', not an absolute path");
            Err(Error::usage(what))
        }
        Some((base, _)) => Ok(base),
        None => Err(no_base(environment)),
    }
}

pub fn no_base(environment: &Environment) -> Error {
    Error::no_base(environment.relative_home.as_deref())
}

/// Returns the base with its origin; `None` if there is none.
pub fn base_and_origin(
    flag: Option<&Path>,
    environment: &Environment,
) -> Option<(PathBuf, Origin)> {
    let of_variable = |name| {
        let path = environment.folders.get(name).cloned();
        (path, Origin::Environment(name))
    };
    let of_home = environment.home.as_ref().map(|home| home.join(".claude"));
    let places = [
        (flag.map(Path::to_path_buf), Origin::Flag("--base")),
        of_variable("CHECKPOINT_HOME"),
        of_variable("CLAUDE_CONFIG_DIR"),
        (of_home, Origin::Default),
    ];
    let mut places = places.into_iter();
    places.find_map(|(path, origin)| Some((path?, origin)))
}

/// Returns the home directory that the system knows, from the `directories` crate.
pub fn platform_home() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.home_dir().to_path_buf())
}

/// Returns the platform's folder for the user's configuration, from the `directories` crate.
pub fn platform_config_dir() -> Option<PathBuf> {
    let dirs = directories::BaseDirs::new()?;
    Some(dirs.config_dir().join("checkpoint"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn the_base_is_the_first_that_is_named() {
        // An absolute path on each system.
        let at = |name: &str| std::env::temp_dir().join(name);
        let mut all = Environment {
            home: Some(at("h")),
            folders: BTreeMap::from([("CHECKPOINT_HOME", at("c")), ("CLAUDE_CONFIG_DIR", at("d"))]),
            ..Environment::default()
        };
        assert_eq!(base(Some(&at("f")), &all).unwrap(), at("f"));
        assert_eq!(base(None, &all).unwrap(), at("c"));
        all.folders.remove("CHECKPOINT_HOME");
        assert_eq!(base(None, &all).unwrap(), at("d"));
        all.folders.clear();
        assert_eq!(base(None, &all).unwrap(), at("h").join(".claude"));
        let failure = base(None, &Environment::default()).unwrap_err();
        assert_eq!(failure.code, Code::NO_BASE);
    }
}
