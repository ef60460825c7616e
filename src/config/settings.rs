//! Settings with their origins: defaults, the user's file and the project's file, in rising order.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;

use crate::base::read_regular;
use crate::config::file::{self, EXCLUDE};
use crate::config::keys::{self, AgentSettings};
use crate::config::{
    AgentConsent, ConfigFile, ConfigProblem, DatabaseCommands, Environment, Origin, Owner,
    PromptWords, ScanMonitor,
};
use crate::error::Result;
use crate::model::{Policy, PolicyChange};

/// The effective settings after all files were read, and the values of one file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Which checkpoints to keep.
    #[serde(skip)]
    pub keep: Policy,
    /// The same, as one file says.
    #[serde(flatten, with = "keys::KeepKeys")]
    keep_change: PolicyChange,
    #[serde(rename = "dedup_window", deserialize_with = "keys::duration")]
    pub dedup_window_ms: i64,
    /// Number of files above which nothing is captured; 0 is no limit.
    #[serde(deserialize_with = "keys::count")]
    pub max_files: u64,
    #[serde(rename = "max_file_size", deserialize_with = "keys::limit")]
    pub max_file_size_bytes: Option<u64>,
    /// Size on disk above which old checkpoints are evicted.
    #[serde(rename = "max_store_size", deserialize_with = "keys::limit")]
    pub max_store_size_bytes: Option<u64>,
    #[serde(rename = "exclude")]
    pub excludes: Vec<String>,
    pub sensitive_allow: Vec<String>,
    pub auto_prune: bool,
    pub fsmonitor: ScanMonitor,
    /// Whether each `create` adds a line to the logs in the working directory.
    pub audit: bool,
    #[serde(flatten)]
    pub agents: AgentSettings,
    /// Databases that are not files, by name.
    #[serde(rename = "database", deserialize_with = "keys::databases")]
    pub databases: BTreeMap<String, DatabaseCommands>,
    /// Problems in files that did not stop the command.
    #[serde(skip)]
    pub remarks: Vec<ConfigProblem>,
    /// A setting that cannot be read and may say that something is not to be recorded.
    #[serde(skip)]
    pub unread: Option<ConfigProblem>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep: Policy::default(),
            keep_change: PolicyChange::default(),
            dedup_window_ms: 1000,
            max_files: 50_000,
            max_file_size_bytes: None,
            max_store_size_bytes: None,
            excludes: Vec::new(),
            sensitive_allow: Vec::new(),
            auto_prune: true,
            fsmonitor: ScanMonitor::default(),
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

/// The settings from all files, and the problems in them.
#[derive(Debug, Default)]
pub struct LoadedSettings {
    pub settings: Settings,
    pub origins: Origins,
    pub files: Vec<ConfigFile>,
    /// Problems in the user's own file: those settings keep their earlier values.
    pub problems: Vec<ConfigProblem>,
}

/// Reads both files for a root; either may be missing. What cannot be read is a remark, and keeps
/// anything from being recorded; see [`Settings::require_readable`].
pub fn load(root: &Path, environment: &Environment) -> Settings {
    let loaded = load_all(root, environment);
    let (mut settings, mut problems) = (loaded.settings, loaded.problems);
    if !problems.is_empty() {
        // An unreadable limit may be higher than the default, so no limit applies.
        if problems.iter().any(ConfigProblem::is_of_keep) {
            settings.keep = Policy::EVERYTHING;
        }
        // Of what may be forbidden in a way that cannot be read, nothing is allowed.
        let may_say = |key: &str| problems.iter().any(|bad| bad.may_be_of(key));
        if may_say("agent_restore") {
            settings.agents.agent_restore = AgentConsent::Plan;
        }
        if may_say("prompts") {
            settings.agents.prompts = PromptWords::Off;
        }
        settings.unread = problems.first().cloned();
        let ignored = problems.drain(..);
        let but = "this command goes on without it";
        settings.remarks.extend(ignored.map(|bad| bad.remark(but)));
    }
    settings
}

/// Reads both files and returns everything, problems included.
pub fn load_all(root: &Path, environment: &Environment) -> LoadedSettings {
    let mut loaded = LoadedSettings::default();
    if let Some(dir) = &environment.config_dir {
        loaded.take_user(file::read(&dir.join("config.toml"), Owner::User));
    }
    let path = root.join(".checkpoint.toml");
    // A root that cannot be entered is refused as such.
    let is_closed = |e: std::io::Error| e.kind() == ErrorKind::PermissionDenied;
    if !read_regular::lstat(&path).is_err_and(is_closed) {
        loaded.take_project(file::read(&path, Owner::Project));
    }
    loaded
}

/// Returns what is wrong in a text for the user's own file.
pub fn problems_of(path: &Path, text: &str) -> Vec<ConfigProblem> {
    let mut loaded = LoadedSettings::default();
    loaded.take_user(file::parse(path, text, Owner::User));
    loaded.problems
}

impl LoadedSettings {
    fn take_user(&mut self, mut file: ConfigFile) {
        self.settings = file.values();
        let keep = Policy::default().changed(&self.settings.keep_change);
        let doubts = file.remarks.iter().any(ConfigProblem::names_keep);
        self.settings.keep = if doubts { Policy::EVERYTHING } else { keep };
        self.settings.remarks = with_consequence(std::mem::take(&mut file.remarks));
        let origin = Origin::UserFile(file.path.clone());
        self.origins = file.keys().map(|key| (key, vec![origin.clone()])).collect();
        self.problems.append(&mut file.problems);
        self.files.push(file);
    }

    /// A project can only exclude more and keep more, and a restore must not fail because of its
    /// file.
    fn take_project(&mut self, mut file: ConfigFile) {
        let settings = &mut self.settings;
        let of_file: Settings = file.values();
        settings.excludes.extend(of_file.excludes);
        let change = of_file.keep_change;
        let keep = settings.keep.raised(&change);
        let raises = keep != settings.keep || keep == settings.keep.changed(&change);
        // The file may have raised the number to keep: an error in it must evict nothing.
        let doubts = file.remarks.iter().any(ConfigProblem::names_keep)
            || file.problems.iter().any(ConfigProblem::is_of_keep);
        settings.keep = if doubts { Policy::EVERYTHING } else { keep };
        let remarks = std::mem::take(&mut file.remarks);
        settings.remarks.extend(with_consequence(remarks));
        for key in file.keys() {
            let origin = Origin::ProjectFile(file.path.clone());
            if key == EXCLUDE {
                self.origins.entry(key).or_default().push(origin);
            } else if raises {
                self.origins.insert(key, vec![origin]);
            }
        }
        // A key that raises nothing has no effect.
        let ignored = file.keys().find(|key| *key != EXCLUDE && !raises);
        settings.remarks.extend(ignored.map(|key| ConfigProblem {
            file: file.path.clone(),
            key: Some(key),
            what: format!(
                "'{key}' keeps less than is configured, and was ignored: a project can only keep more"
            ),
        }));
        let problems = std::mem::take(&mut file.problems);
        // Because of one of these, more may be captured.
        let is_of_capture = |bad: &&ConfigProblem| bad.key.is_none_or(|key| key == EXCLUDE);
        settings.unread = problems.iter().find(is_of_capture).cloned();
        settings.remarks.extend(problems.into_iter().map(|bad| {
            let but = match bad.key {
                None => "until this is fixed, no checkpoint is made but for safety, and nothing is evicted",
                Some(EXCLUDE) => "until this is fixed, no checkpoint is made but for safety",
                Some(_) => "ignored; until this is fixed, nothing is evicted",
            };
            bad.remark(but)
        }));
        self.files.push(file);
    }
}

/// Says of each unknown key that may be misspelt what it costs.
fn with_consequence(remarks: Vec<ConfigProblem>) -> Vec<ConfigProblem> {
    let completed = |bad: ConfigProblem| {
        if bad.names_keep() {
            return bad.remark("until this is fixed, nothing is evicted");
        }
        bad
    };
    remarks.into_iter().map(completed).collect()
}

impl Settings {
    /// # Errors
    /// A setting cannot be read, so that more could be recorded than the user wants.
    pub fn require_readable(&self) -> Result<()> {
        self.unread.clone().map_or(Ok(()), |bad| Err(bad.error()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::base::tests::rows;
    use crate::error::Code;

    /// A place with a file of the user's and a project with its own.
    fn place(user: &str, project: &str) -> (tempfile::TempDir, PathBuf, Environment) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), user).unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join(".checkpoint.toml"), project).unwrap();
        let environment = Environment {
            config_dir: Some(dir.path().to_path_buf()),
            ..Environment::default()
        };
        (dir, root, environment)
    }

    fn loaded(user: &str, project: &str) -> Settings {
        let (_dir, root, environment) = place(user, project);
        load(&root, &environment)
    }

    /// The file of the project gives: whether it was understood, the limit that holds, the excludes.
    #[test]
    fn what_is_wrong_in_a_projects_file_is_a_remark_and_the_rest_of_it_holds() {
        let tables = include_str!("tests/settings.json");
        for (project, is_readable, keep, excludes) in
            rows::<(&str, bool, &str, Vec<&str>)>(tables, "projects")
        {
            let settings = loaded("exclude = ['a']", project);
            let expected = match keep {
                "all" => Policy::EVERYTHING,
                _ => Policy::default(),
            };
            assert_eq!(settings.keep, expected, "{project}");
            assert_eq!(settings.excludes, excludes, "{project}");
            let [remark] = &settings.remarks[..] else {
                panic!("{project}: {:?}", settings.remarks)
            };
            let stops = remark.what.contains("no checkpoint is made");
            assert_eq!(stops, !is_readable, "{project}: {remark:?}");
            let readable = settings.require_readable();
            assert_eq!(readable.is_ok(), is_readable, "{project}");
        }
        assert_eq!(loaded("", "keep = 0\nexclude = ['b']").excludes, ["b"]);
    }

    #[test]
    fn where_the_users_own_file_is_forgiven_nothing_is_dropped_by_a_limit_that_nobody_read() {
        let settings = loaded("keep = [", "keep = 70");
        let expected = (Policy::EVERYTHING, 1);
        assert_eq!((settings.keep, settings.remarks.len()), expected);
        let settings = loaded("keep = 20\nmax_files = 'x'", "");
        assert_eq!((settings.keep.last, settings.remarks.len()), (20, 1));
        assert_eq!(loaded("keep = 20", "").remarks, []);
    }

    #[test]
    fn a_project_may_only_add_excludes_and_raise_keep() {
        let project = "keep = 10\nexclude = ['b']\nmax_files = 1";
        let settings = loaded("keep = 20\nexclude = ['a']", project);
        assert_eq!((settings.keep.last, settings.max_files), (20, 50_000));
        assert_eq!(settings.excludes, ["a", "b"]);
        let remarks = &settings.remarks;
        assert!(remarks[0].what.contains("user's own"), "{remarks:?}");
        assert_eq!(loaded("keep = 20", "keep = 30").keep.last, 30);
    }

    #[test]
    fn an_unknown_key_is_a_remark_that_names_the_nearest() {
        let settings = loaded("kepp = 3\nmax_file_size = '1 MiB'\ndedup_window = '2s'", "");
        let remarks = &settings.remarks;
        assert!(
            remarks[0].what.contains("did you mean 'keep'"),
            "{remarks:?}"
        );
        assert_eq!(settings.max_file_size_bytes, Some(1 << 20));
        assert_eq!(settings.dedup_window_ms, 2000);
        assert_eq!(settings.keep, Policy::EVERYTHING);
    }

    #[test]
    fn a_bad_value_and_a_misspelt_key_that_protects_are_errors() {
        for bad in
            "exlude = ['a']|excludes = ['a']|maxFileSize = '1 MiB'|max-files = 3|Auto = 'off'|\
            prompt = 'off'|agent-restore = 'plan'|[settings]\nauto = 'off'|\
            ignore = ['private/']|keep = 0|keep = 'x'|max_file_size = '3 parsecs'|\
            dedup_window = 'soon'|keep = [|auto_prune = 1|max_store_size = 'much'"
                .split('|')
        {
            let read = loaded(bad, "").require_readable();
            assert!(
                read.is_err_and(|error| error.code == Code::BAD_CONFIG),
                "{bad}"
            );
        }
        for other in ["colour = 'red'", "retention = 3", "verbose = true"] {
            assert_eq!(loaded(other, "").remarks.len(), 1, "{other}");
        }
    }

    #[test]
    fn each_value_knows_its_origin_and_a_bad_one_hides_no_other() {
        let user = "keep = 20\nmax_files = 'x'\nexclude = ['a']\nmax_store_size = '1 GiB'";
        let (dir, root, environment) = place(user, "keep = 10\nexclude = ['b']");
        let loaded = load_all(&root, &environment);
        let user = Origin::UserFile(dir.path().join("config.toml"));
        let project = Origin::ProjectFile(root.join(".checkpoint.toml"));
        assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
        assert!(loaded.problems[0].what.contains("max_files"));
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
