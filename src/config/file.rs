//! Reads one configuration file, reports unknown keys and yields its values. The door to TOML.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::base::text::edit_distance;
use crate::base::time::parse_span;
use crate::error::Error;

/// Upper bound on the size of a configuration file, in bytes; a larger file is refused.
const LARGEST_CONFIG_BYTES: u64 = 1 << 20;

/// The known keys of a file, and the problems with them.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    table: toml::Table,
    pub problems: Vec<ConfigProblem>,
}

impl ConfigFile {
    pub fn remark(&self, text: String) -> Remark {
        Remark {
            file: self.path.clone(),
            text,
        }
    }

    /// Takes a value, if present and valid; `complaint` is reported after the key if `check`
    /// returns `None`.
    pub fn value<'de, T: Deserialize<'de>, U>(
        &mut self,
        key: &'static str,
        check: impl FnOnce(T) -> Option<U>,
        complaint: &str,
    ) -> Option<U> {
        let taken = match self.table.remove(key)?.try_into::<T>() {
            Ok(found) => check(found).ok_or_else(|| format!("{key} {complaint}")),
            Err(e) => Err(format!("{key}: {}", first_line(&e))),
        };
        taken
            .map_err(|what| {
                self.problems.push(ConfigProblem {
                    key: Some(key),
                    ..bad(&self.path, &what)
                });
            })
            .ok()
    }
}

/// Reads a file; `None` if it does not exist. Keys not in `known` become remarks; `user_keys` are
/// those allowed at least in the user's own file.
///
/// # Errors
/// The file cannot be read or is not TOML.
pub fn read(
    path: &Path,
    known: &[&str],
    user_keys: &[&str],
    remarks: &mut Vec<Remark>,
) -> Result<Option<ConfigFile>, ConfigProblem> {
    if std::fs::metadata(path)
        .is_ok_and(|found| !found.is_file() || found.len() > LARGEST_CONFIG_BYTES)
    {
        return Err(bad(path, "this is not a configuration file"));
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(e) => return Err(bad(path, &format!("it cannot be read: {e}"))),
    };
    let mut table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| bad(path, &with_line(&text, &e)))?;
    let unknown: Vec<String> = table
        .keys()
        .filter(|key| !known.contains(&key.as_str()))
        .cloned()
        .collect();
    for key in unknown {
        table.remove(&key);
        remarks.push(Remark {
            file: path.to_path_buf(),
            text: about_unknown(&key, known, user_keys),
        });
    }
    Ok(Some(ConfigFile {
        path: path.to_path_buf(),
        table,
        problems: Vec::new(),
    }))
}

fn about_unknown(key: &str, known: &[&str], user_keys: &[&str]) -> String {
    if user_keys.contains(&key) {
        return format!("'{key}' is only allowed in the user's own configuration, and was ignored");
    }
    let nearest = known
        .iter()
        .min_by_key(|known| edit_distance(key, known))
        .copied()
        .unwrap_or_default();
    format!(
        "unknown key '{}'; did you mean '{nearest}'?",
        crate::base::text::escape(key)
    )
}

/// Puts the number of the line that cannot be read before what is wrong with it.
fn with_line(text: &str, e: &toml::de::Error) -> String {
    let before = e.span().and_then(|span| text.get(..span.start));
    let what = first_line(e);
    before.map_or_else(
        || what.clone(),
        |before| format!("line {}: {what}", before.matches('\n').count() + 1),
    )
}

fn first_line(e: &toml::de::Error) -> String {
    e.message().lines().next().unwrap_or_default().to_owned()
}

fn bad(file: &Path, what: &str) -> ConfigProblem {
    ConfigProblem {
        file: file.to_path_buf(),
        key: None,
        what: what.to_owned(),
    }
}

/// A number, or a number with its unit.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    Number(u64),
    Text(String),
}

impl Amount {
    pub fn milliseconds(&self) -> Option<i64> {
        match self {
            Self::Number(seconds) => i64::try_from(*seconds).ok()?.checked_mul(1000),
            Self::Text(text) => parse_span(text),
        }
    }

    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Number(bytes) => Some(*bytes),
            Self::Text(text) => parse_size(text),
        }
    }
}

/// Parses a number of bytes: `4096`, `64 KiB`, `10MB`, `1 GiB`.
pub fn parse_size(text: &str) -> Option<u64> {
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

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub file: PathBuf,
    /// `None` if the whole file is ignored.
    pub key: Option<&'static str>,
    pub what: String,
}

impl ConfigProblem {
    /// Whether the text of the file has a word; one that cannot be read may have any.
    pub fn mentions(&self, word: &str) -> bool {
        let text = std::fs::read(&self.file);
        text.map_or(true, |text| String::from_utf8_lossy(&text).contains(word))
    }

    /// Whether it may be about which checkpoints to keep.
    pub fn is_of_keep(&self) -> bool {
        self.key.is_none_or(|key| key.starts_with("keep"))
    }

    pub fn error(self) -> Error {
        Error::BadConfig {
            file: self.file,
            what: self.what,
        }
    }

    pub(super) fn remark(self, but: &str) -> Remark {
        Remark {
            file: self.file,
            text: format!("{}; {but}", self.what),
        }
    }
}

/// A problem in a configuration file that did not stop the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub file: PathBuf,
    pub text: String,
}
