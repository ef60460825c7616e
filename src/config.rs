//! Settings: defaults, the user's file, the project's file and the environment, in rising order. The door to TOML.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::model::time::parse_span;

/// Every environment variable that this program reads. Filled once, at the rim.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub home: Option<PathBuf>,
    /// `CHECKPOINT_HOME`
    pub checkpoint_home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`
    pub claude_config_dir: Option<PathBuf>,
    /// `CHECKPOINT_SOURCE`
    pub source: Option<String>,
    /// `CHECKPOINT_DISABLE=1`
    pub disabled: bool,
    /// `CLAUDE_CODE_SESSION_ID`
    pub session: Option<String>,
    /// `PWD`: the directory as the user sees it.
    pub logical_dir: Option<PathBuf>,
    /// `NO_COLOR`
    pub no_color: bool,
    /// `CHECKPOINT_PAGER`, or else `PAGER`, set to nothing too: that is an answer.
    pub pager: Option<std::ffi::OsString>,
    /// Where the platform keeps configuration files.
    pub config_dir: Option<PathBuf>,
}

/// What holds after all files were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Checkpoints kept.
    pub keep: usize,
    pub dedup_window_ms: i64,
    /// Files above which nothing is captured; 0 is no limit.
    pub max_files: u64,
    pub max_file_size_bytes: Option<u64>,
    pub excludes: Vec<String>,
    pub sensitive_allow: Vec<String>,
    pub auto_prune: bool,
    /// What was said in a file and not understood.
    pub remarks: Vec<Remark>,
}

/// Something in a configuration file that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub file: PathBuf,
    pub text: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep: 50,
            dedup_window_ms: 1000,
            max_files: 50_000,
            max_file_size_bytes: None,
            excludes: Vec::new(),
            sensitive_allow: Vec::new(),
            auto_prune: true,
            remarks: Vec::new(),
        }
    }
}

/// No configuration is as large as this.
const LARGEST_BYTES: u64 = 1 << 20;
/// Keys of the user's file.
const USER_KEYS: [&str; 7] =
    ["auto_prune", "dedup_window", "exclude", "keep", "max_file_size", "max_files", "sensitive_allow"];
/// Keys that a project may set: it may leave out more and keep more, nothing else.
const PROJECT_KEYS: [&str; 2] = ["exclude", "keep"];

#[derive(Debug, Default)]
struct FileSettings {
    keep: Option<u64>,
    dedup_window: Option<Amount>,
    max_files: Option<u64>,
    max_file_size: Option<Amount>,
    exclude: Option<Vec<String>>,
    sensitive_allow: Option<Vec<String>>,
    auto_prune: Option<bool>,
}

impl FileSettings {
    fn of(mut table: toml::Table, file: &Path) -> Result<Self> {
        Ok(Self {
            keep: take(&mut table, "keep", file)?,
            dedup_window: take(&mut table, "dedup_window", file)?,
            max_files: take(&mut table, "max_files", file)?,
            max_file_size: take(&mut table, "max_file_size", file)?,
            exclude: take(&mut table, "exclude", file)?,
            sensitive_allow: take(&mut table, "sensitive_allow", file)?,
            auto_prune: take(&mut table, "auto_prune", file)?,
        })
    }
}

/// One value, so that a failure can name its key.
fn take<'de, T: Deserialize<'de>>(table: &mut toml::Table, key: &str, file: &Path) -> Result<Option<T>> {
    let value = table.remove(key).map(toml::Value::try_into).transpose();
    value.map_err(|e: toml::de::Error| bad(file, &format!("{key}: {}", first_line(&e))))
}

/// A number, or a number with its unit.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Text(String),
}

/// The base under which all stores lie, by the first of flag, `CHECKPOINT_HOME`, `CLAUDE_CONFIG_DIR` and home.
pub fn base(flag: Option<&Path>, environment: &Environment) -> Result<PathBuf> {
    let given = flag.map(Path::to_path_buf).or_else(|| environment.checkpoint_home.clone());
    let given = given.or_else(|| environment.claude_config_dir.clone());
    given.or_else(|| Some(environment.home.as_ref()?.join(".claude"))).ok_or(Error::NoBase)
}

/// The platform's folder for the user's configuration, from the `directories` crate.
pub fn platform_config_dir() -> Option<PathBuf> {
    Some(directories::BaseDirs::new()?.config_dir().join("checkpoint"))
}

/// Reads both files for a root. A file that is not there says nothing.
///
/// # Errors
/// A file that is no TOML, or a bad value of a known key.
pub fn load(root: &Path, environment: &Environment) -> Result<Settings> {
    let mut settings = Settings::default();
    if let Some(dir) = &environment.config_dir {
        let file = dir.join("config.toml");
        if let Some(found) = read(&file, &USER_KEYS, &mut settings.remarks)? {
            settings.take_user(found, &file)?;
        }
    }
    let file = root.join(".checkpoint.toml");
    if let Some(found) = read(&file, &PROJECT_KEYS, &mut settings.remarks)? {
        settings.take_project(found, &file)?;
    }
    Ok(settings)
}

impl Settings {
    fn take_user(&mut self, found: FileSettings, file: &Path) -> Result<()> {
        self.excludes.extend(found.exclude.unwrap_or_default());
        self.sensitive_allow.extend(found.sensitive_allow.unwrap_or_default());
        if let Some(keep) = found.keep {
            self.keep = checked_keep(keep, file)?;
        }
        if let Some(window) = found.dedup_window {
            self.dedup_window_ms =
                window.milliseconds().ok_or_else(|| bad(file, "dedup_window is no length of time"))?;
        }
        if let Some(limit) = found.max_file_size {
            self.max_file_size_bytes = Some(limit.bytes().ok_or_else(|| bad(file, "max_file_size is no size"))?);
        }
        self.max_files = found.max_files.unwrap_or(self.max_files);
        self.auto_prune = found.auto_prune.unwrap_or(self.auto_prune);
        Ok(())
    }

    fn take_project(&mut self, found: FileSettings, file: &Path) -> Result<()> {
        self.excludes.extend(found.exclude.unwrap_or_default());
        if let Some(keep) = found.keep {
            self.keep = self.keep.max(checked_keep(keep, file)?);
        }
        Ok(())
    }
}

impl Amount {
    fn milliseconds(&self) -> Option<i64> {
        match self {
            Self::Number(seconds) => i64::try_from(*seconds).ok()?.checked_mul(1000),
            Self::Text(text) => parse_span(text),
        }
    }

    fn bytes(&self) -> Option<u64> {
        match self {
            Self::Number(bytes) => Some(*bytes),
            Self::Text(text) => parse_size(text),
        }
    }
}

/// `4096`, `64 KiB`, `10MB`, `1 GiB`: a number of bytes.
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

fn checked_keep(keep: u64, file: &Path) -> Result<usize> {
    match usize::try_from(keep) {
        Ok(keep) if keep >= 1 => Ok(keep),
        _ => Err(bad(file, "keep must be at least 1")),
    }
}

fn read(file: &Path, known: &[&str], remarks: &mut Vec<Remark>) -> Result<Option<FileSettings>> {
    if std::fs::metadata(file).is_ok_and(|found| !found.is_file() || found.len() > LARGEST_BYTES) {
        return Err(bad(file, "this is no configuration file"));
    }
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(Error::io("read", file)(e)),
    };
    let mut table: toml::Table = text.parse().map_err(|e: toml::de::Error| bad(file, &first_line(&e)))?;
    let unknown: Vec<String> = table.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
    for key in unknown {
        table.remove(&key);
        let text = if USER_KEYS.contains(&key.as_str()) {
            format!("'{key}' may only stand in the user's own configuration; passed over")
        } else {
            let nearest = known.iter().min_by_key(|known| distance(&key, known)).copied().unwrap_or_default();
            format!("unknown key '{}'; did you mean '{nearest}'?", crate::model::text::escape(&key))
        };
        remarks.push(Remark { file: file.to_path_buf(), text });
    }
    FileSettings::of(table, file).map(Some)
}

fn first_line(e: &toml::de::Error) -> String {
    e.message().lines().next().unwrap_or_default().to_owned()
}

fn bad(file: &Path, what: &str) -> Error {
    Error::BadConfig { file: file.to_path_buf(), what: what.to_owned() }
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(user: &str, project: &str) -> Result<Settings> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), user).unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join(".checkpoint.toml"), project).unwrap();
        load(&root, &Environment { config_dir: Some(dir.path().to_path_buf()), ..Environment::default() })
    }

    #[test]
    fn a_project_may_only_add_excludes_and_raise_keep() {
        let settings = loaded("keep = 20\nexclude = ['a']", "keep = 10\nexclude = ['b']\nmax_files = 1").unwrap();
        assert_eq!((settings.keep, settings.max_files), (20, 50_000));
        assert_eq!(settings.excludes, ["a", "b"]);
        assert!(settings.remarks[0].text.contains("user's own"), "{:?}", settings.remarks);
        assert_eq!(loaded("keep = 20", "keep = 30").unwrap().keep, 30);
    }

    #[test]
    fn an_unknown_key_is_a_remark_that_names_the_nearest() {
        let settings = loaded("kepp = 3\nmax_file_size = '1 MiB'\ndedup_window = '2s'", "").unwrap();
        assert!(settings.remarks[0].text.contains("did you mean 'keep'"), "{:?}", settings.remarks);
        assert_eq!(settings.max_file_size_bytes, Some(1 << 20));
        assert_eq!(settings.dedup_window_ms, 2000);
    }

    #[test]
    fn a_bad_value_of_a_known_key_is_an_error() {
        for bad in [
            "keep = 0",
            "keep = 'x'",
            "max_file_size = '3 parsecs'",
            "dedup_window = 'soon'",
            "keep = [",
            "auto_prune = 1",
        ] {
            assert!(matches!(loaded(bad, ""), Err(Error::BadConfig { .. })), "{bad}");
        }
    }

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
        let less = Environment { checkpoint_home: None, ..all };
        assert_eq!(base(None, &less).unwrap(), Path::new("/d"));
        let least = Environment { claude_config_dir: None, ..less };
        assert_eq!(base(None, &least).unwrap(), Path::new("/h/.claude"));
        assert!(matches!(base(None, &Environment::default()), Err(Error::NoBase)));
    }
}
