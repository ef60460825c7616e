//! Reads one configuration file, reports unknown keys and yields its values. The door to TOML.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::DeTable;

use crate::base::read_regular;
use crate::base::text::edit_distance;
use crate::base::time::parse_span;
use crate::error::Error;

/// Key of the patterns that a file leaves out.
pub const EXCLUDE: &str = "exclude";
/// Keys without which more is recorded or allowed.
const PROTECTING: [&str; 6] = [
    "agent_restore",
    "auto",
    EXCLUDE,
    "max_file_size",
    "max_files",
    "prompts",
];
/// Upper bound on the wrong letters by which an unknown key is taken for a known one.
const MOST_SLIPS: usize = 2;
/// Upper bound on the size of a configuration file, in bytes; a larger file is refused.
const LARGEST_CONFIG_BYTES: u64 = 1 << 20;

/// The known keys of a file, and the problems with them.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    table: toml::Table,
    pub problems: Vec<ConfigProblem>,
    /// Whether a key that is unknown may have been meant to say what to keep.
    pub doubts_keep: bool,
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

    /// Takes the patterns to exclude. What can match nothing is reported, and the others count.
    pub fn excludes(&mut self) -> Option<Vec<String>> {
        let found = match self.table.remove(EXCLUDE)? {
            toml::Value::Array(found) => found,
            other => vec![other],
        };
        let (good, bad_ones): (Vec<_>, Vec<_>) = found.into_iter().partition(is_pattern);
        if let Some(one) = bad_ones.first() {
            let shown = one
                .as_str()
                .map_or(one.type_str().to_owned(), |text| format!("'{text}'"));
            let what =
                format!("{EXCLUDE}: {shown} is no pattern as in .gitignore, such as 'private/'");
            self.problems.push(ConfigProblem {
                key: Some(EXCLUDE),
                ..bad(&self.path, &what)
            });
        }
        let text = |one: toml::Value| one.as_str().map(str::to_owned);
        Some(good.into_iter().filter_map(text).collect())
    }
}

/// Whether a value is a pattern that can match a path below the root.
fn is_pattern(value: &toml::Value) -> bool {
    value.as_str().is_some_and(|text| {
        let leads_nowhere = ["./", "../", "~", "\\\\"]
            .iter()
            .any(|start| text.starts_with(start));
        let is_open = text.rfind('[').is_some_and(|at| !text[at..].contains(']'));
        !text.trim().is_empty() && !leads_nowhere && !is_open
    })
}

/// Reads a file; `None` if it does not exist. Keys not in `known` become remarks, or problems where
/// they may have been meant to protect something; `user_keys` are those allowed at least in the
/// user's own file. Of a file that is not TOML, only readable excludes are taken.
///
/// # Errors
/// The file cannot be read.
pub fn read(
    path: &Path,
    known: &[&'static str],
    user_keys: &[&str],
    remarks: &mut Vec<Remark>,
) -> Result<Option<ConfigFile>, ConfigProblem> {
    let text = match read_regular::read_linked(path, LARGEST_CONFIG_BYTES) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let is_link = |path: &Path| path.is_symlink() && !path.exists();
            return if path.ancestors().any(is_link) {
                Err(bad(path, "it is a link to nothing"))
            } else {
                Ok(None)
            };
        }
        read => read.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other)),
    };
    let text = text.map_err(|e| bad(path, &format!("it cannot be read: {e}")))?;
    Ok(Some(parse(path, &text, known, user_keys, remarks)))
}

/// As [`read`], of a text.
pub fn parse(
    path: &Path,
    text: &str,
    known: &[&'static str],
    user_keys: &[&str],
    remarks: &mut Vec<Remark>,
) -> ConfigFile {
    let (mut table, mut problems) = match text.parse::<toml::Table>() {
        Ok(table) => (table, Vec::new()),
        Err(e) => (
            readable_excludes(text),
            vec![bad(path, &with_line(text, &e))],
        ),
    };
    let is_unknown = |key: &&String| !known.contains(&key.as_str());
    let unknown: Vec<String> = table.keys().filter(is_unknown).cloned().collect();
    let mut doubts_keep = false;
    for key in unknown {
        let value = table.remove(&key);
        let meant = nearest_key(&key, known);
        // Settings under a head, or patterns under a name that we do not know.
        let has_more =
            value.is_some_and(|value| value.is_table() || (value.is_array() && meant.is_none()));
        let what = about_unknown(&key, known, user_keys);
        doubts_keep |= meant.is_some_and(|meant| meant.starts_with("keep"));
        let is_foreign = has_more && !user_keys.contains(&key.as_str());
        if is_foreign || meant.is_some_and(|meant| PROTECTING.contains(&meant)) {
            problems.push(ConfigProblem {
                key: meant,
                ..bad(path, &what)
            });
        } else {
            remarks.push(Remark {
                file: path.to_path_buf(),
                text: what,
            });
        }
    }
    ConfigFile {
        path: path.to_path_buf(),
        table,
        problems,
        doubts_keep,
    }
}

/// Returns the excludes of a text that is not TOML, as far as they can be told.
fn readable_excludes(text: &str) -> toml::Table {
    let (table, _) = DeTable::parse_recoverable(text);
    let excludes = table
        .get_ref()
        .get(EXCLUDE)
        .and_then(|found| found.get_ref().as_array());
    let texts = excludes.into_iter().flat_map(|all| all.iter());
    let texts = texts.filter_map(|one| one.get_ref().as_str().map(toml::Value::from));
    let found: Vec<toml::Value> = texts.collect();
    toml::Table::from_iter((!found.is_empty()).then(|| (EXCLUDE.to_owned(), found.into())))
}

/// Returns the known key that an unknown one was probably meant to be.
fn nearest_key(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let plain = |key: &str| key.to_ascii_lowercase().replace(['_', '-'], "");
    let typed = plain(key);
    let is_meant = |known: &&&str| {
        let known = plain(known);
        edit_distance(&typed, &known) <= MOST_SLIPS.min(known.len() / 3)
            || typed.starts_with(&known)
    };
    known.iter().find(is_meant).copied()
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
    /// Whether it may be about a key: of a file that is not TOML, whether its text has the word; one
    /// that cannot be read may have any.
    pub fn may_be_of(&self, key: &str) -> bool {
        let text = || read_regular::read_linked(&self.file, LARGEST_CONFIG_BYTES);
        let has_word = |text: Vec<u8>| String::from_utf8_lossy(&text).contains(key);
        self.key
            .map_or_else(|| text().map_or(true, has_word), |known| known == key)
    }

    /// Whether more may be captured because of it.
    pub fn is_of_capture(&self) -> bool {
        self.key.is_none_or(|key| key == EXCLUDE)
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
