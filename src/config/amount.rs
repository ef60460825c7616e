//! Durations and sizes in a configuration file: a number, or a number with its unit.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Value;

use crate::base::time::parse_span;

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

/// Reads bytes.
pub fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let read = |value: &Value| match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        other => other.as_str().and_then(parse_size),
    };
    amount(from, read, "it is not a size such as 500M").map(Some)
}

/// Reads bytes, of which 0 is no limit.
pub fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(bytes(from)?.filter(|bytes| *bytes > 0))
}

fn amount<'de, D: Deserializer<'de>, T>(
    from: D,
    read: impl Fn(&Value) -> Option<T>,
    complaint: &str,
) -> Result<T, D::Error> {
    read(&Value::deserialize(from)?).ok_or_else(|| D::Error::custom(complaint))
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
