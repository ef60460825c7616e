//! Settings with their origins: defaults, the user's file, the project's file and the environment,
//! in rising order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::base::read_regular;
use crate::config::agents::AgentSettings;
use crate::config::databases::{self, DatabaseCommands};
use crate::config::environment::{Environment, Origin};
use crate::config::file::{self, Amount, ConfigFile, ConfigProblem, Remark};
use crate::config::keep;
use crate::error::Result;
use crate::model::checkpoint::keep_policy::{Policy, PolicyChange};

/// The effective settings after all files were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which checkpoints to keep.
    pub keep: Policy,
    pub dedup_window_ms: i64,
    /// Number of files above which nothing is captured; 0 is no limit.
    pub max_files: u64,
    pub max_file_size_bytes: Option<u64>,
    /// Size on disk above which old checkpoints are evicted.
    pub max_store_size_bytes: Option<u64>,
    pub excludes: Vec<String>,
    pub sensitive_allow: Vec<String>,
    pub auto_prune: bool,
    /// Whether each `create` adds a line to the logs in the working directory.
    pub audit: bool,
    pub agents: AgentSettings,
    /// Databases that are not files, by name.
    pub databases: BTreeMap<String, DatabaseCommands>,
    /// Problems in files that did not stop the command.
    pub remarks: Vec<Remark>,
    /// A setting that cannot be read and may say that something is not to be recorded.
    pub unread: Option<ConfigProblem>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep: Policy::default(),
            dedup_window_ms: 1000,
            max_files: 50_000,
            max_file_size_bytes: None,
            max_store_size_bytes: None,
            excludes: Vec::new(),
            sensitive_allow: Vec::new(),
            auto_prune: true,
            audit: false,
            agents: AgentSettings::default(),
            databases: BTreeMap::new(),
            remarks: Vec::new(),
            unread: None,
        }
    }
}

/// The files in which each key was found; a missing key has its default.
pub type Origins = BTreeMap<&'static str, Vec<Origin>>;

/// Effect of a value in a file on the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundFile {
    Replaces,
    Adds,
}

/// Called for each key that a file sets.
type Note<'n> = dyn FnMut(&'static str, FoundFile) + 'n;

/// A path where a configuration file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigPath {
    pub path: PathBuf,
    pub found: bool,
}

/// The settings from all files, and the problems in them.
#[derive(Debug, Default)]
pub struct LoadedSettings {
    pub settings: Settings,
    pub origins: Origins,
    pub files: Vec<ConfigPath>,
    /// Problems in the user's own file: those settings keep their earlier values.
    pub problems: Vec<ConfigProblem>,
}

/// Keys of the user's file beside those of a project.
const USER_KEYS: [&str; 11] = [
    "agent_restore",
    "audit",
    "auto",
    "auto_prune",
    "database",
    "dedup_window",
    "max_file_size",
    "max_files",
    "max_store_size",
    "prompts",
    "sensitive_allow",
];
/// Keys that a project may set: it may exclude more and keep more, nothing else.
const PROJECT_KEYS: [&str; 9] = [
    "exclude",
    "keep",
    "keep_auto",
    "keep_daily",
    "keep_hourly",
    "keep_last",
    "keep_monthly",
    "keep_weekly",
    "keep_within",
];

/// Whether a command goes on despite problems in the user's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFile {
    MustBeGood,
    MayBeBad,
}

/// Reads both files for a root; either may be missing.
///
/// # Errors
/// The user's own file is not TOML or has a bad value of a known key, and `own` forbids that.
pub fn load(root: &Path, environment: &Environment, own: OwnFile) -> Result<Settings> {
    let LoadedSettings {
        mut settings,
        mut problems,
        ..
    } = load_all(root, environment);
    if own == OwnFile::MayBeBad && !problems.is_empty() {
        // An unreadable limit may be higher than the default, so no limit applies.
        if problems.iter().any(ConfigProblem::is_of_keep) {
            settings.keep = Policy::EVERYTHING;
        }
        settings.agents.stay_strict(&problems);
        settings.unread = problems.first().cloned();
        let ignored = problems.drain(..);
        let ignored = ignored.map(|bad| bad.remark("this command goes on without it"));
        settings.remarks.extend(ignored);
    }
    problems
        .into_iter()
        .next()
        .map_or(Ok(settings), |bad| Err(bad.error()))
}

/// Reads both files and returns everything, problems included.
pub fn load_all(root: &Path, environment: &Environment) -> LoadedSettings {
    let mut loaded = LoadedSettings::default();
    if let Some(dir) = &environment.config_dir {
        let path = dir.join("config.toml");
        let origin = Origin::UserFile(path.clone());
        loaded.read(&path, &all_keys(), &origin, Settings::take_user);
    }
    let path = root.join(".checkpoint.toml");
    // A root that cannot be entered is refused as such.
    let is_closed = |e: &std::io::Error| e.kind() == std::io::ErrorKind::PermissionDenied;
    if read_regular::lstat(&path).is_err_and(|e| is_closed(&e)) {
        return loaded;
    }
    let origin = Origin::ProjectFile(path.clone());
    loaded.read(&path, &PROJECT_KEYS, &origin, Settings::take_project);
    loaded
}

/// Returns the keys of the user's own file.
pub fn all_keys() -> Vec<&'static str> {
    [&USER_KEYS[..], &PROJECT_KEYS].concat()
}

/// Returns what is wrong in a text for the user's own file.
pub fn problems_of(file: &Path, text: &str) -> Vec<ConfigProblem> {
    let mut settings = Settings::default();
    let keys = all_keys();
    let mut found = file::parse(file, text, &keys, &keys, &mut settings.remarks);
    settings.take_user(&mut found, &mut |_, _| {});
    found.problems
}

impl LoadedSettings {
    fn read(
        &mut self,
        path: &Path,
        known: &[&'static str],
        origin: &Origin,
        take: fn(&mut Settings, &mut ConfigFile, &mut Note<'_>),
    ) {
        let read = file::read(path, known, &all_keys(), &mut self.settings.remarks);
        self.files.push(ConfigPath {
            path: path.to_path_buf(),
            found: !matches!(read, Ok(None)),
        });
        let mut problems = Vec::new();
        match read {
            Ok(None) => {}
            Err(problem) => problems.push(problem),
            Ok(Some(mut found)) => {
                let mut note = |key, how: FoundFile| {
                    let origins = self.origins.entry(key).or_default();
                    if how == FoundFile::Replaces {
                        origins.clear();
                    }
                    origins.push(origin.clone());
                };
                take(&mut self.settings, &mut found, &mut note);
                problems.append(&mut found.problems);
                if found.doubts_keep {
                    self.settings.keep = Policy::EVERYTHING;
                }
            }
        }
        if let Origin::ProjectFile(_) = origin {
            // The file may have raised the number to keep: an error in it must evict nothing.
            if problems.iter().any(ConfigProblem::is_of_keep) {
                self.settings.keep = Policy::EVERYTHING;
            }
            // A project can only exclude more and keep more, and a restore must not fail because of
            // its file.
            let of_capture = problems.iter().find(|bad| bad.is_of_capture());
            self.settings.unread = self.settings.unread.take().or_else(|| of_capture.cloned());
            let remarks = problems.into_iter().map(|bad| match bad.key {
                None => bad.remark("no checkpoint is made until then, and nothing is evicted"),
                Some(file::EXCLUDE) => bad.remark("no checkpoint is made until then"),
                Some(_) => bad.remark("ignored, and nothing is evicted"),
            });
            self.settings.remarks.extend(remarks);
        } else {
            self.problems.append(&mut problems);
        }
    }
}

impl Settings {
    /// # Errors
    /// A setting cannot be read, so that more could be recorded than the user wants.
    pub fn require_readable(&self) -> Result<()> {
        self.unread.clone().map_or(Ok(()), |bad| Err(bad.error()))
    }

    fn take_user(&mut self, file: &mut ConfigFile, note: &mut Note<'_>) {
        add(&mut self.excludes, file.excludes(), file::EXCLUDE, note);
        add(
            &mut self.sensitive_allow,
            file.value("sensitive_allow", Some, ""),
            "sensitive_allow",
            note,
        );
        self.take_keep(file, note, Policy::changed);
        let window = file.value(
            "dedup_window",
            |found: Amount| found.milliseconds(),
            "is not a duration such as 30m",
        );
        set(&mut self.dedup_window_ms, window, "dedup_window", note);
        set(
            &mut self.max_files,
            file.value("max_files", Some, ""),
            "max_files",
            note,
        );
        let size = |found: Amount| found.bytes().map(Some);
        set(
            &mut self.max_file_size_bytes,
            file.value("max_file_size", size, "is not a size such as 500M"),
            "max_file_size",
            note,
        );
        let size = |found: Amount| {
            found
                .bytes()
                .map(|bytes| Some(bytes).filter(|bytes| *bytes > 0))
        };
        set(
            &mut self.max_store_size_bytes,
            file.value("max_store_size", size, "is not a size such as 500M"),
            "max_store_size",
            note,
        );
        set(
            &mut self.audit,
            file.value("audit", Some, ""),
            "audit",
            note,
        );
        set(
            &mut self.auto_prune,
            file.value("auto_prune", Some, ""),
            "auto_prune",
            note,
        );
        for key in self.agents.read(file) {
            note(key, FoundFile::Replaces);
        }
        set(
            &mut self.databases,
            file.value("database", databases::checked, databases::COMPLAINT),
            "database",
            note,
        );
    }

    fn take_project(&mut self, file: &mut ConfigFile, note: &mut Note<'_>) {
        add(&mut self.excludes, file.excludes(), file::EXCLUDE, note);
        self.take_keep(file, note, Policy::raised);
    }

    fn take_keep(
        &mut self,
        file: &mut ConfigFile,
        note: &mut Note<'_>,
        by: fn(Policy, &PolicyChange) -> Policy,
    ) {
        let (change, keys) = keep::read(file);
        let keep = by(self.keep, &change);
        // A key of a project that raises nothing has no effect.
        let has_effect = keep != self.keep || keep == self.keep.changed(&change);
        if !has_effect {
            self.remarks.extend(keys.first().map(|key| {
                file.remark(format!(
                    "'{key}' keeps less than is configured, and was ignored: a project can only keep more"
                ))
            }));
        }
        for key in keys.into_iter().filter(|_| has_effect) {
            note(key, FoundFile::Replaces);
        }
        self.keep = keep;
    }
}

fn set<T>(place: &mut T, found: Option<T>, key: &'static str, note: &mut Note<'_>) {
    if let Some(found) = found {
        *place = found;
        note(key, FoundFile::Replaces);
    }
}

/// Appends a list: the lists of several files add up.
fn add(
    place: &mut Vec<String>,
    found: Option<Vec<String>>,
    key: &'static str,
    note: &mut Note<'_>,
) {
    if let Some(found) = found {
        place.extend(found);
        note(key, FoundFile::Adds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn loaded(user: &str, project: &str) -> Result<Settings> {
        loaded_by(OwnFile::MustBeGood, user, project)
    }

    fn loaded_by(own: OwnFile, user: &str, project: &str) -> Result<Settings> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), user).unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join(".checkpoint.toml"), project).unwrap();
        load(
            &root,
            &Environment {
                config_dir: Some(dir.path().to_path_buf()),
                ..Environment::default()
            },
            own,
        )
    }

    #[test]
    fn what_is_wrong_in_a_projects_file_is_a_remark_and_the_rest_of_it_holds() {
        for (bad, of_capture, excluded) in [
            ("keep = [", true, vec!["a"]),
            (
                "exclude = ['b', 'c']\nkeep = 30 days",
                true,
                vec!["a", "b", "c"],
            ),
            ("exclude = ['b', c/]", true, vec!["a", "b", "c/"]),
            ("exclude = 5", true, vec!["a"]),
            ("exclude = ['b', 5]", true, vec!["a", "b"]),
            ("exclude = ['b', './c']", true, vec!["a", "b"]),
            ("exlude = ['b']", true, vec!["a"]),
            ("[checkpoint]\nexclude = ['b']", true, vec!["a"]),
            ("keep = 0", false, vec!["a"]),
            ("keep = 'x'", false, vec!["a"]),
        ] {
            let settings = loaded("exclude = ['a']", bad).unwrap();
            let keep =
                if bad.contains("keep") || bad.contains("[checkpoint]") || bad.contains("c/]") {
                    Policy::EVERYTHING
                } else {
                    Policy::default()
                };
            assert_eq!(
                (settings.keep, settings.excludes.clone()),
                (keep, excluded.into_iter().map(str::to_owned).collect()),
                "{bad}"
            );
            let [remark] = &settings.remarks[..] else {
                panic!("{bad}: {:?}", settings.remarks)
            };
            assert_eq!(
                remark.text.contains("no checkpoint is made"),
                of_capture,
                "{bad}: {remark:?}"
            );
            assert_eq!(settings.require_readable().is_err(), of_capture, "{bad}");
        }
        assert_eq!(
            loaded("", "keep = 0\nexclude = ['b']").unwrap().excludes,
            ["b"]
        );
    }

    #[test]
    fn where_the_users_own_file_is_forgiven_nothing_is_dropped_by_a_limit_that_nobody_read() {
        let settings = loaded_by(OwnFile::MayBeBad, "keep = [", "keep = 70").unwrap();
        assert_eq!(
            (settings.keep, settings.remarks.len()),
            (Policy::EVERYTHING, 1)
        );
        let settings = loaded_by(OwnFile::MayBeBad, "keep = 20\nmax_files = 'x'", "").unwrap();
        assert_eq!((settings.keep.last, settings.remarks.len()), (20, 1));
        assert_eq!(
            loaded_by(OwnFile::MayBeBad, "keep = 20", "")
                .unwrap()
                .remarks,
            []
        );
    }

    #[test]
    fn a_project_may_only_add_excludes_and_raise_keep() {
        let settings = loaded(
            "keep = 20\nexclude = ['a']",
            "keep = 10\nexclude = ['b']\nmax_files = 1",
        )
        .unwrap();
        assert_eq!((settings.keep.last, settings.max_files), (20, 50_000));
        assert_eq!(settings.excludes, ["a", "b"]);
        assert!(
            settings.remarks[0].text.contains("user's own"),
            "{:?}",
            settings.remarks
        );
        assert_eq!(loaded("keep = 20", "keep = 30").unwrap().keep.last, 30);
    }

    #[test]
    fn an_unknown_key_is_a_remark_that_names_the_nearest() {
        let settings =
            loaded("kepp = 3\nmax_file_size = '1 MiB'\ndedup_window = '2s'", "").unwrap();
        assert!(
            settings.remarks[0].text.contains("did you mean 'keep'"),
            "{:?}",
            settings.remarks
        );
        assert_eq!(settings.max_file_size_bytes, Some(1 << 20));
        assert_eq!(settings.dedup_window_ms, 2000);
        assert_eq!(settings.keep, Policy::EVERYTHING);
    }

    #[test]
    fn a_misspelt_key_that_protects_is_an_error() {
        for bad in [
            "exlude = ['a']",
            "excludes = ['a']",
            "maxFileSize = '1 MiB'",
            "max-files = 3",
            "Auto = 'off'",
            "prompt = 'off'",
            "agent-restore = 'plan'",
            "[settings]\nauto = 'off'",
            "ignore = ['private/']",
        ] {
            let read = loaded(bad, "");
            assert!(matches!(read, Err(Error::BadConfig { .. })), "{bad}");
        }
        for other in ["colour = 'red'", "retention = 3", "verbose = true"] {
            assert_eq!(loaded(other, "").unwrap().remarks.len(), 1, "{other}");
        }
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
            "max_store_size = 'much'",
        ] {
            assert!(
                matches!(loaded(bad, ""), Err(Error::BadConfig { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn each_value_knows_its_origin_and_a_bad_one_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("config.toml");
        std::fs::write(
            &user,
            "keep = 20\nmax_files = 'x'\nexclude = ['a']\nmax_store_size = '1 GiB'",
        )
        .unwrap();
        let project = dir.path().join(".checkpoint.toml");
        std::fs::write(&project, "keep = 10\nexclude = ['b']").unwrap();
        let environment = Environment {
            config_dir: Some(dir.path().to_path_buf()),
            ..Environment::default()
        };
        let loaded = load_all(dir.path(), &environment);
        assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
        assert!(
            loaded.problems[0].what.contains("max_files"),
            "{:?}",
            loaded.problems
        );
        let (user, project) = (Origin::UserFile(user), Origin::ProjectFile(project));
        assert_eq!(
            loaded.origins["keep"],
            vec![user.clone()],
            "the project did not raise it"
        );
        assert_eq!(loaded.origins["exclude"], [user.clone(), project]);
        assert_eq!(loaded.settings.max_store_size_bytes, Some(1 << 30));
        assert_eq!(loaded.origins.get("max_files"), None);
        assert!(loaded.files.iter().all(|file| file.found));
    }
}
