//! Reads one configuration file, reports unknown keys and yields its values. The door to TOML.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::base::read_regular;
use crate::base::text::{edit_distance, escape, is_similar};
use crate::config::Owner;
use crate::config::keys::keys;
use crate::error::{Code, Error};
use crate::model::json::{self, JsonSchema, Serialize};

/// Key of the patterns that a file leaves out.
pub const EXCLUDE: &str = "exclude";
/// Keys without which more is recorded or allowed.
const PROTECTING: &str = "agent_restore auto exclude max_file_size max_files prompts";
/// Upper bound on the size of a configuration file, in bytes; a larger file is refused.
const LARGEST_CONFIG_BYTES: u64 = 1 << 20;

/// A file, its known keys, and the problems with them.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ConfigFile {
    #[serde(rename = "file", serialize_with = "json::path")]
    pub path: PathBuf,
    pub found: bool,
    #[serde(skip)]
    table: toml::Table,
    #[serde(skip)]
    pub problems: Vec<ConfigProblem>,
    /// Unknown keys that protect nothing.
    #[serde(skip)]
    pub remarks: Vec<ConfigProblem>,
}

impl ConfigFile {
    fn new(path: &Path, found: bool, problems: Vec<ConfigProblem>) -> Self {
        Self {
            path: path.to_path_buf(),
            found,
            problems,
            ..Self::default()
        }
    }

    /// Reads the values of a structure; those that cannot be read become problems, one by one.
    pub fn values<T: DeserializeOwned + Default>(&mut self) -> T {
        let (path, problems) = (&self.path, &mut self.problems);
        self.table.retain(|key, value| {
            let alone = toml::Table::from_iter([(key.to_owned(), value.clone())]);
            let failure = alone.try_into::<T>().err();
            problems.extend(failure.iter().map(|e| {
                let known = keys(Owner::User).find(|known| *known == key);
                let what = format!("{key}: {}", first_line(e)).replacen(": must", " must", 1);
                bad(path, known, &what)
            }));
            failure.is_none()
        });
        self.table.clone().try_into().unwrap_or_default()
    }

    /// Returns the keys that are left, of which each has a good value once they were read.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        keys(Owner::User).filter(|key| self.table.contains_key(*key))
    }

    fn note_unknown(&mut self, key: &str, value: &toml::Value, owner: Owner) {
        let meant = nearest_key(key, owner);
        let is_users = keys(Owner::User).any(|users| users == key);
        // Settings under a head, or patterns under a name that we do not know.
        let has_more = value.is_table() || (value.is_array() && meant.is_none());
        let what = if is_users {
            format!("'{key}' is only allowed in the user's own configuration, and was ignored")
        } else {
            format!("unknown key '{}'{}", escape(key), did_you_mean(key, owner))
        };
        let protects = meant.is_some_and(|meant| PROTECTING.split(' ').any(|key| key == meant));
        let list = if (has_more && !is_users) || protects {
            &mut self.problems
        } else {
            &mut self.remarks
        };
        list.push(bad(&self.path, meant, &what));
    }

    /// Drops patterns that can match nothing; the others count.
    fn check_excludes(&mut self) {
        let found = match self.table.remove(EXCLUDE) {
            None => return,
            Some(toml::Value::Array(found)) => found,
            Some(other) => vec![other],
        };
        let (good, bad_ones): (Vec<_>, Vec<_>) = found.into_iter().partition(is_pattern);
        if let Some(one) = bad_ones.first() {
            let shown = crate::base::json::plain(one);
            let what =
                format!("{EXCLUDE}: '{shown}' is no pattern as in .gitignore, such as 'private/'");
            self.problems.push(bad(&self.path, Some(EXCLUDE), &what));
        }
        self.table.insert(EXCLUDE.to_owned(), good.into());
    }
}

/// Whether a value is a pattern that can match a path below the root. One that begins with a slash
/// counts from there, so the whole path of something on this machine means another thing than it
/// says.
fn is_pattern(value: &toml::Value) -> bool {
    value.as_str().is_some_and(|text| {
        let starts = ["./", "../", "~", "\\\\", "#"];
        let is_deep = text.trim_end_matches('/').matches('/').count() > 1;
        let is_whole_path = text.starts_with('/') && is_deep && Path::new(text).exists();
        let leads_nowhere = is_whole_path
            || text.contains("//")
            || starts.iter().any(|start| text.starts_with(start));
        let is_open = text.rfind('[').is_some_and(|at| !text[at..].contains(']'));
        !text.trim().is_empty() && !leads_nowhere && !is_open
    })
}

/// Reads a file, which may be missing. Unknown keys become remarks, or problems where they may have
/// been meant to protect something. Of a file that is not TOML, only readable excludes are taken.
pub fn read(path: &Path, owner: Owner) -> ConfigFile {
    let bytes = read_regular::read_linked(path, LARGEST_CONFIG_BYTES);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    let why = match text {
        Ok(text) => return parse(path, &text, owner),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            // The user's folder too may be a link to nothing; a project's is there.
            let is_project = owner == Owner::Project;
            let reach = if is_project { 1 } else { usize::MAX };
            let mut reached = path.ancestors().take(reach);
            let nearest = reached.find(|at| at.symlink_metadata().is_ok());
            if nearest.is_none_or(Path::exists) {
                return ConfigFile::new(path, false, Vec::new());
            }
            "it is a link to nothing".to_owned()
        }
        Err(why) => format!("it cannot be read: {why}"),
    };
    ConfigFile::new(path, true, vec![bad(path, None, &why)])
}

/// As [`read`], of a text.
pub fn parse(path: &Path, text: &str, owner: Owner) -> ConfigFile {
    let (table, problems) = match text.parse::<toml::Table>() {
        Ok(table) => (table, Vec::new()),
        Err(e) => (
            readable_excludes(text),
            vec![bad(path, None, &with_line(text, &e))],
        ),
    };
    let is_known = |key: &str| keys(owner).any(|known| known == key);
    let (table, unknown): (toml::Table, toml::Table) =
        table.into_iter().partition(|(key, _)| is_known(key));
    let mut file = ConfigFile::new(path, true, problems);
    file.table = table;
    for (key, value) in unknown {
        file.note_unknown(&key, &value, owner);
    }
    file.check_excludes();
    file
}

/// Returns the excludes of a text that is not TOML, as far as they can be told.
fn readable_excludes(text: &str) -> toml::Table {
    let (table, _) = DeTable::parse_recoverable(text);
    let excludes = table.get_ref().get(EXCLUDE).map(toml::Spanned::get_ref);
    let texts = excludes.and_then(|found| found.as_array());
    let texts = texts.into_iter().flat_map(|all| all.iter());
    let texts = texts.filter_map(|one| one.get_ref().as_str().map(toml::Value::from));
    let found: Vec<toml::Value> = texts.collect();
    toml::Table::from_iter((!found.is_empty()).then(|| (EXCLUDE.to_owned(), found.into())))
}

/// Returns `; did you mean 'keep'?` for a key that is probably a misspelling, else nothing.
pub fn did_you_mean(key: &str, owner: Owner) -> String {
    nearest_key(key, owner).map_or_else(String::new, |known| format!("; did you mean '{known}'?"))
}

/// Returns the known key that an unknown one was probably meant to be: the one most like it.
fn nearest_key(key: &str, owner: Owner) -> Option<&'static str> {
    let similar = keys(owner).filter(|known| is_similar(key, known));
    similar.min_by_key(|known| edit_distance(key, known))
}

/// Puts the number of the line that cannot be read before what is wrong with it.
fn with_line(text: &str, e: &toml::de::Error) -> String {
    let what = first_line(e);
    match e.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {what}", before.matches('\n').count() + 1),
        None => what,
    }
}

fn first_line(e: &toml::de::Error) -> String {
    let what = e.message().lines().next().unwrap_or_default();
    let variants = what.strip_prefix("unknown variant");
    if let Some((_, words)) = variants.and_then(|said| said.split_once(", expected ")) {
        return format!("must be {}", words.replace('`', "\""));
    }
    what.replace("a nonzero usize", "a number from 1 on")
        .replace("usize", "a number from 0 on")
        .replace("u64", "a number from 0 on")
        .replace("string or map", "a word")
        .replace("a boolean", "true or false")
}

fn bad(file: &Path, key: Option<&'static str>, what: &str) -> ConfigProblem {
    ConfigProblem {
        file: file.to_path_buf(),
        key,
        what: what.to_owned(),
    }
}

/// A problem in a file, or a remark on it that stops no command.
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
        let may_have = || text().map_or(true, has_word);
        self.key.map_or_else(may_have, |known| known == key)
    }

    /// Whether it may be about which checkpoints to keep.
    pub fn is_of_keep(&self) -> bool {
        self.key.is_none() || self.names_keep()
    }

    /// Whether a key, maybe misspelt, is about which checkpoints to keep.
    pub fn names_keep(&self) -> bool {
        self.key.is_some_and(|key| key.starts_with("keep"))
    }

    pub fn error(self) -> Error {
        let what = format!("{}: {}", self.file.display(), self.what);
        Error::new(Code::BAD_CONFIG, what).advise("fix that, or remove it")
    }

    pub(super) fn remark(self, but: &str) -> Self {
        let what = format!("{}; {but}", self.what);
        Self { what, ..self }
    }
}
