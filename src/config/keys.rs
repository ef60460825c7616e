//! The keys of configuration files, the types of their values, and how each is read.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use strum::IntoStaticStr;
use toml::Value;

use crate::base::json;
use crate::base::time::parse_span;
use crate::model::PolicyChange;

/// Keys of the user's own file alone.
const USER_KEYS: &str = "agent_restore audit auto auto_prune database dedup_window fsmonitor max_file_size \
    max_files max_store_size prompts sensitive_allow";
/// Keys that a project may set too: it may exclude more and keep more, nothing else.
const PROJECT_KEYS: &str = "exclude keep keep_auto keep_daily keep_hourly keep_monthly keep_weekly \
    keep_within";

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    User,
    Project,
}

/// Returns the keys of a file.
pub fn keys(owner: Owner) -> impl Iterator<Item = &'static str> {
    let of_user = USER_KEYS.split(' ').filter(move |_| owner == Owner::User);
    of_user.chain(PROJECT_KEYS.split(' '))
}

/// What agents may do, and what is recorded of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    pub prompts: PromptWords,
    pub auto: AutoCheckpoints,
    pub agent_restore: AgentConsent,
}

/// What an agent needs for a restore or a deletion, beside `--yes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AgentConsent {
    #[default]
    Yes,
    /// The digest of the plan that a dry run showed.
    Plan,
}

/// How much of a prompt is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum PromptWords {
    /// Its first line.
    #[default]
    Line,
    Full,
    Off,
}

/// When hooks make checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AutoCheckpoints {
    #[default]
    All,
    /// Not before calls of the shell.
    Prompts,
    Off,
}

/// Who tells a scan where to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum ScanMonitor {
    #[default]
    Off,
    Watchman,
}

/// Command lines for the shell, run in the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseCommands {
    /// Writes the content to its standard output.
    pub dump: String,
    /// Reads the content from its standard input.
    pub restore: String,
}

/// Reads tables by name, none of which has an empty name or command.
pub fn databases<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, DatabaseCommands>, D::Error> {
    let mut found = BTreeMap::new();
    for (name, of) in BTreeMap::<String, toml::Value>::deserialize(from)? {
        let read = of.try_into();
        let of = read.map_err(|why| D::Error::custom(format!("{name}: {}", why.message())))?;
        found.insert(name, of);
    }
    let is_empty = |text: &String| text.trim().is_empty();
    let has_empty = |(name, of): (&String, &DatabaseCommands)| {
        is_empty(name) || is_empty(&of.dump) || is_empty(&of.restore)
    };
    if found.iter().any(has_empty) {
        return Err(D::Error::custom("it has an empty name or an empty command"));
    }
    Ok(found)
}

/// The keys that say which checkpoints to keep.
#[derive(Deserialize)]
#[serde(remote = "PolicyChange")]
pub struct KeepKeys {
    #[serde(default, deserialize_with = "from_one")]
    keep: Option<usize>,
    keep_hourly: Option<usize>,
    keep_daily: Option<usize>,
    keep_weekly: Option<usize>,
    keep_monthly: Option<usize>,
    #[serde(default, deserialize_with = "period")]
    keep_within: Option<i64>,
    #[serde(default, deserialize_with = "from_one")]
    keep_auto: Option<usize>,
}

fn from_one<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    NonZeroUsize::deserialize(from).map(|number| Some(number.get()))
}

/// Reads milliseconds; a number without a unit is one of seconds.
pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let read = |value: &Value| match value {
        Value::Integer(seconds) if *seconds >= 0 => seconds.checked_mul(1000),
        other => other.as_str().and_then(parse_span),
    };
    amount(from, read, "it is not a duration such as 30m")
}

/// Reads milliseconds, of which the unit is given.
pub fn period<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let read = |value: &Value| value.as_str().and_then(parse_span);
    amount(from, read, "it is not a duration such as '7d'").map(Some)
}

/// Reads bytes, of which 0 or `off` is no limit.
pub fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let read = |value: &Value| match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        other => other
            .as_str()
            .and_then(|text| off(text).or_else(|| parse_size(text))),
    };
    let limit = amount(from, read, "it is not a size such as 500M, nor 'off'")?;
    Ok(Some(limit).filter(|bytes| *bytes > 0))
}

/// Reads a number, of which 0 or `off` is no limit.
pub fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let read = |value: &Value| match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        other => other.as_str().and_then(off),
    };
    amount(from, read, "expected a number from 0 on, or 'off'")
}

fn off(text: &str) -> Option<u64> {
    (text == "off").then_some(0)
}

fn amount<'de, D: Deserializer<'de>, T>(
    from: D,
    read: impl Fn(&Value) -> Option<T>,
    complaint: &str,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    let complaint = complaint.replacen("it is", &format!("'{}' is", json::plain(&value)), 1);
    read(&value).ok_or_else(|| D::Error::custom(complaint))
}

/// Parses a number of bytes: `4096`, `64 KiB`, `10MB`, `1 GiB`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let factor: u64 = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}
