//! `config`: each setting and its origin, the locations that follow, and the problems in the files.

use std::path::PathBuf;

use crate::config::environment::no_base;
use crate::config::{ConfigFile, ConfigProblem, Environment, Origin, Settings, settings};
use crate::error::Error;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::ops::Warning;
use crate::ops::find_root::locate_store;
use crate::worktree::Root;

/// An effective setting.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Setting {
    pub name: &'static str,
    /// Null if it is off.
    pub value: SettingValue,
    /// `ms` or `bytes`.
    pub unit: Option<&'static str>,
    /// Several for a list that grows from file to file.
    pub origins: Vec<Origin>,
}

impl Setting {
    pub fn new(name: &'static str, value: SettingValue, origins: Vec<Origin>) -> Self {
        let unit = match value {
            SettingValue::Milliseconds(_) => Some("ms"),
            SettingValue::Bytes(_) => Some("bytes"),
            _ => None,
        };
        Self {
            name,
            value,
            unit,
            origins,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum SettingValue {
    /// No limit.
    Off,
    Number(u64),
    Milliseconds(u64),
    Bytes(u64),
    Switch(bool),
    Text(String),
    List(Vec<String>),
}

/// A variable of the environment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariableValue {
    pub name: &'static str,
    pub purpose: &'static str,
    /// Null if it is not set.
    pub value: Option<String>,
}

/// The settings, and where each comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigOutcome {
    pub settings: Vec<Setting>,
    #[serde(serialize_with = "json::path")]
    pub root: PathBuf,
    /// The folder of all stores.
    #[serde(serialize_with = "json::optional_path")]
    pub base: Option<PathBuf>,
    pub base_origin: Option<Origin>,
    /// Location of the store, whether or not it exists.
    #[serde(serialize_with = "json::optional_path")]
    pub store: Option<PathBuf>,
    pub files: Vec<ConfigFile>,
    pub environment: Vec<VariableValue>,
    /// What is wrong with the files.
    pub problems: Vec<String>,
    /// The same, as failures.
    #[serde(skip)]
    pub failures: Vec<Error>,
}

/// `flags` are options of the command line that have no key in a file; the base is absolute, if it can
/// be determined.
pub fn config(
    root: &Root,
    base: Option<(PathBuf, Origin)>,
    environment: &Environment,
    variables: Vec<VariableValue>,
    flags: Vec<Setting>,
) -> (ConfigOutcome, Vec<Warning>) {
    let loaded = settings::load_all(root.path(), environment);
    let origins = |key: &str| {
        let known = loaded.origins.get(key).cloned();
        known.unwrap_or_else(|| vec![Origin::Default])
    };
    let of_files = of_files(&loaded.settings).into_iter();
    let of_files = of_files.map(|(name, value)| Setting::new(name, value, origins(name)));
    let settings = of_files.chain(flags).collect();
    let warnings = loaded.settings.remarks.iter().map(Warning::from).collect();
    let problems = loaded.problems.into_iter();
    let mut failures: Vec<Error> = problems.map(ConfigProblem::error).collect();
    let (base, base_origin) = base.unzip();
    let known_base = base.as_deref().ok_or_else(|| no_base(environment));
    let store = known_base
        .and_then(|base| locate_store(base, root))
        .map_err(|failure| failures.push(failure));
    let outcome = ConfigOutcome {
        settings,
        root: root.path().to_path_buf(),
        base,
        base_origin,
        store: store.ok(),
        files: loaded.files,
        environment: variables,
        problems: failures.iter().map(ToString::to_string).collect(),
        failures,
    };
    (outcome, warnings)
}

fn of_files(settings: &Settings) -> [(&'static str, SettingValue); 20] {
    let (keep, agents) = (settings.keep, settings.agents);
    let number = |number: usize| match number {
        usize::MAX => SettingValue::Off,
        _ => SettingValue::Number(number as u64),
    };
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
        ("fsmonitor", text(settings.fsmonitor.into_str())),
        ("audit", SettingValue::Switch(settings.audit)),
        ("prompts", text(agents.prompts.into_str())),
        ("auto", text(agents.auto.into_str())),
        ("agent_restore", text(agents.agent_restore.into_str())),
        ("database", SettingValue::List(databases)),
    ]
}
