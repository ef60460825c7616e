//! `config`: each setting and its origin, the locations that follow, and the problems in the files.

use std::path::PathBuf;

use crate::config::environment::{Environment, no_base};
use crate::config::file::ConfigProblem;
use crate::config::settings::{self, Settings};
use crate::config::variables::Variable;
use crate::error::Error;
use crate::ops::context::locate_store;
use crate::ops::warning::Warning;
use crate::worktree::root::Root;

pub use crate::config::environment::Origin;
pub use crate::config::settings::ConfigPath;

#[derive(Clone, Debug)]
pub struct ConfigOptions {
    pub root: Root,
    /// Absolute path and its origin; `None` if it cannot be determined.
    pub base: Option<(PathBuf, Origin)>,
    pub environment: Environment,
    /// All variables that are read, with the value of those that are set.
    pub variables: Vec<(Variable, Option<String>)>,
    /// Options of the command line that have no key in a file.
    pub flags: Vec<Setting>,
}

/// An effective setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub value: SettingValue,
    /// Several for a list that several files extend.
    pub origins: Vec<Origin>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// No limit.
    Off,
    Number(u64),
    Milliseconds(u64),
    Seconds(u64),
    Bytes(u64),
    Switch(bool),
    Text(String),
    List(Vec<String>),
}

#[derive(Debug)]
pub struct ConfigOutcome {
    pub settings: Vec<Setting>,
    pub root: PathBuf,
    pub base: Option<(PathBuf, Origin)>,
    /// Location of the store, whether or not it exists.
    pub store: Option<PathBuf>,
    pub files: Vec<ConfigPath>,
    pub variables: Vec<(Variable, Option<String>)>,
    /// Problems found; everything else is shown nevertheless.
    pub problems: Vec<Error>,
    pub warnings: Vec<Warning>,
}

pub fn config(options: ConfigOptions) -> ConfigOutcome {
    let loaded = settings::load_all(options.root.path(), &options.environment);
    let origins = |key: &str| {
        loaded
            .origins
            .get(key)
            .cloned()
            .unwrap_or_else(|| vec![Origin::Default])
    };
    let mut settings: Vec<Setting> = of_files(&loaded.settings)
        .into_iter()
        .map(|(name, value)| Setting {
            name,
            value,
            origins: origins(name),
        })
        .collect();
    settings.extend(options.flags.iter().cloned());
    let warnings = loaded.settings.remarks.iter().map(Warning::from).collect();
    let mut problems: Vec<Error> = loaded
        .problems
        .into_iter()
        .map(ConfigProblem::error)
        .collect();
    let mut store = None;
    let place = options
        .base
        .as_ref()
        .ok_or_else(|| no_base(&options.environment))
        .and_then(|(base, _)| locate_store(base, &options.root));
    match place {
        Ok(dir) => store = Some(dir),
        Err(problem) => problems.push(problem),
    }
    ConfigOutcome {
        settings,
        root: options.root.path().to_path_buf(),
        base: options.base,
        store,
        files: loaded.files,
        variables: options.variables,
        problems,
        warnings,
    }
}

fn of_files(settings: &Settings) -> [(&'static str, SettingValue); 19] {
    let (keep, agents) = (settings.keep, settings.agents);
    let number = |number: usize| SettingValue::Number(number as u64);
    let bytes = |limit: Option<u64>| limit.map_or(SettingValue::Off, SettingValue::Bytes);
    let duration = |ms: i64| SettingValue::Milliseconds(ms.unsigned_abs());
    let text = |word: &str| SettingValue::Text(word.to_owned());
    let files = match settings.max_files {
        0 => SettingValue::Off,
        files => SettingValue::Number(files),
    };
    let databases = settings.databases.keys().cloned().collect();
    [
        ("keep", number(keep.last)),
        ("keep_hourly", number(keep.hourly)),
        ("keep_daily", number(keep.daily)),
        ("keep_weekly", number(keep.weekly)),
        ("keep_monthly", number(keep.monthly)),
        ("keep_within", duration(keep.within_ms)),
        ("keep_auto", number(keep.auto)),
        ("max_store_size", bytes(settings.max_store_size_bytes)),
        ("max_files", files),
        ("max_file_size", bytes(settings.max_file_size_bytes)),
        ("dedup_window", duration(settings.dedup_window_ms)),
        ("exclude", SettingValue::List(settings.excludes.clone())),
        (
            "sensitive_allow",
            SettingValue::List(settings.sensitive_allow.clone()),
        ),
        ("auto_prune", SettingValue::Switch(settings.auto_prune)),
        ("audit", SettingValue::Switch(settings.audit)),
        ("prompts", text(agents.prompts.into_str())),
        ("auto", text(agents.auto.into_str())),
        ("agent_restore", text(agents.agent_restore.into_str())),
        ("database", SettingValue::List(databases)),
    ]
}
