//! What `setup` has written, so that just that is taken out again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::places::no_home;
use crate::base::text::escape_path;
use crate::config::environment::Environment;
use crate::error::sentence::Sentence;
use crate::error::{Error, Result};
use crate::store::files::read_regular;
use crate::store::lock::{self, LockGuard};

/// All files that were written and not taken back.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct SetupRecord {
    /// The home directory of the user then; a copy or a move of it is seen by that.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Folders that were made, the outer ones first.
    pub directories: Vec<PathBuf>,
    pub files: BTreeMap<PathBuf, RecordedFile>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RecordedFile {
    pub agent: String,
    /// The project, or null for the user's own settings.
    pub project: Option<PathBuf>,
    /// Whether others write it too.
    pub is_shared: bool,
    /// The text without our entries; null if there was no file.
    pub before: Option<String>,
    /// The texts that were written: the last one, and the one before it for as long as it may stand.
    pub written: Vec<String>,
    /// The keys that were put into it beside our entries.
    pub made: Vec<String>,
    /// The copy that the first change left.
    pub copy: Option<PathBuf>,
}

impl RecordedFile {
    pub fn is_of(&self, agent: AgentName, project: Option<&Path>) -> bool {
        self.agent == <&str>::from(agent) && self.project.as_deref() == project
    }
}

impl SetupRecord {
    /// Returns the record with the paths below its home directory as they are below this one.
    fn moved_to(self, home: Option<PathBuf>) -> Self {
        let (Some(old), Some(new)) = (self.home.clone(), home.as_ref()) else {
            return Self { home, ..self };
        };
        let moved = |path: &Path| match path.strip_prefix(&old) {
            Ok(inner) => new.join(inner),
            Err(_) => path.to_path_buf(),
        };
        let of_file = |(path, file): (&PathBuf, &RecordedFile)| {
            let file = RecordedFile {
                project: file.project.as_deref().map(moved),
                copy: file.copy.as_deref().map(moved),
                ..file.clone()
            };
            (moved(path), file)
        };
        Self {
            directories: self.directories.iter().map(|path| moved(path)).collect(),
            files: self.files.iter().map(of_file).collect(),
            home,
        }
    }
}

/// Returns the file of the record, among the user's configuration.
///
/// # Errors
/// There is no home directory.
pub fn path(environment: &Environment) -> Result<PathBuf> {
    let folder = environment.config_dir.as_ref();
    let folder = folder.ok_or_else(no_home)?;
    Ok(folder.join("setup.json"))
}

/// Upper bound on the time to wait for another `setup`.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Waits until no other `setup` of this user is at work. The home directory itself is locked, so
/// that nothing is left behind.
///
/// # Errors
/// Another one goes on for too long.
pub fn lock(environment: &Environment) -> Result<Option<LockGuard>> {
    let home = environment.home.as_deref();
    let locked = home.map(|home| lock::acquire_directory(home, LONGEST_WAIT));
    Ok(locked.transpose()?.flatten())
}

/// Reads the record; a missing one is empty. One that came along with a home directory names the
/// files of this one.
///
/// # Errors
/// It cannot be read: then what is ours cannot be told.
pub fn load(path: &Path, environment: &Environment) -> Result<SetupRecord> {
    let home = environment.home.clone();
    let text = match read_regular::read_text(path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SetupRecord {
                home,
                ..SetupRecord::default()
            });
        }
        read => read.map_err(Error::io("read", path))?,
    };
    let read: Result<SetupRecord, _> = serde_json::from_str(&text);
    let read = read.map(|record| record.moved_to(home));
    read.map_err(|why| Error::DamageFound {
        what: format!(
            "the record of setup cannot be read: {}: {why}",
            escape_path(path)
        ),
        hint: Sentence::text("move it away; then only lines that are ours are taken out"),
    })
}

/// Returns the record as text.
///
/// # Errors
/// A path is not UTF-8.
pub fn to_text(record: &SetupRecord) -> Result<String> {
    let text = serde_json::to_string_pretty(record).map_err(Error::unexpected)?;
    Ok(text + "\n")
}
