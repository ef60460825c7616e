//! The environment, and the base of all stores as a flag or the environment names it.

use std::path::{Path, PathBuf};

use crate::base::text::escape_path;
use crate::error::{Error, Result};

/// Every environment variable that this program reads; filled once, at the rim.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub home: Option<PathBuf>,
    /// `home`, or where the system says that the user's is.
    pub account_home: Option<PathBuf>,
    /// `HOME`, if it is not an absolute path and therefore not used.
    pub relative_home: Option<PathBuf>,
    /// `CHECKPOINT_HOME`
    pub checkpoint_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`
    pub claude_config_dir: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`
    pub claude_project_dir: Option<PathBuf>,
    /// `CODEX_HOME`
    pub codex_home: Option<PathBuf>,
    /// `COPILOT_HOME`
    pub copilot_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`
    pub xdg_config_home: Option<PathBuf>,
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
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Origin {
    Default,
    UserFile(PathBuf),
    ProjectFile(PathBuf),
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
            Err(Error::usage(format!(
                "{variable} is '{}', not an absolute path",
                escape_path(&base)
            )))
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
    let from = |path: &Option<PathBuf>, origin| path.clone().map(|path| (path, origin));
    flag.map(|flag| (flag.to_path_buf(), Origin::Flag("--base")))
        .or_else(|| {
            from(
                &environment.checkpoint_home,
                Origin::Environment("CHECKPOINT_HOME"),
            )
        })
        .or_else(|| {
            from(
                &environment.claude_config_dir,
                Origin::Environment("CLAUDE_CONFIG_DIR"),
            )
        })
        .or_else(|| Some((environment.home.as_ref()?.join(".claude"), Origin::Default)))
}

/// Returns the home directory that the system knows, from the `directories` crate.
pub fn platform_home() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.home_dir().to_path_buf())
}

/// Returns the platform's folder for the user's configuration, from the `directories` crate.
pub fn platform_config_dir() -> Option<PathBuf> {
    Some(
        directories::BaseDirs::new()?
            .config_dir()
            .join("checkpoint"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn the_base_is_the_first_that_is_named() {
        let all = Environment {
            home: Some("/h".into()),
            checkpoint_home: Some("/c".into()),
            claude_config_dir: Some("/d".into()),
            ..Environment::default()
        };
        assert_eq!(base(Some(Path::new("/f")), &all).unwrap(), Path::new("/f"));
        assert_eq!(base(None, &all).unwrap(), Path::new("/c"));
        let less = Environment {
            checkpoint_home: None,
            ..all
        };
        assert_eq!(base(None, &less).unwrap(), Path::new("/d"));
        let least = Environment {
            claude_config_dir: None,
            ..less
        };
        assert_eq!(base(None, &least).unwrap(), Path::new("/h/.claude"));
        assert_eq!(
            base(None, &Environment::default()).unwrap_err().code,
            Code::NO_BASE
        );
    }
}
