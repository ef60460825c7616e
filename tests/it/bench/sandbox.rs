//! A temporary home and working directory, with methods for the steps of a test.
//!
//! The environment of the program is empty but for a home, a time zone and a clock that advances by
//! one second with each command. A decoy `.git` in the working directory must be untouched when the
//! sandbox is dropped.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use super::run::Run;
use super::tree::Tree;
use super::watch::Watch;
use super::{fixtures, os, place};

/// 2026-03-24T12:00:00Z in milliseconds.
const FIRST_MOMENT_MS: i64 = 1_774_353_600_000;

pub struct Sandbox {
    top: TempDir,
    root: PathBuf,
    home: PathBuf,
    env: RefCell<BTreeMap<OsString, OsString>>,
    /// Moment of the next command; `None` is the real clock.
    now_ms: Cell<Option<i64>>,
    watches: RefCell<Vec<Watch>>,
}

impl Sandbox {
    /// Makes a working directory that is empty but for a decoy `.git`.
    pub fn new() -> Self {
        let sandbox = Self::bare();
        sandbox.decoy_repository("");
        sandbox
    }

    /// Makes an empty working directory, for tests that remove all of it.
    pub fn bare() -> Self {
        Self::rooted_at("work")
    }

    /// Makes an empty working directory at another place below the sandbox.
    pub fn rooted_at(relative: impl AsRef<Path>) -> Self {
        let top = tempfile::Builder::new()
            .prefix("sandbox")
            .tempdir_in(os::fastest_temp_dir())
            .expect("a temporary directory can be made");
        let canonical = os::canonical(top.path());
        let (root, home) = (canonical.join(relative), canonical.join("home"));
        fs::create_dir_all(&root).expect("the working directory can be made");
        fs::create_dir_all(&home).expect("the home directory can be made");
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::from([
            ("HOME".into(), home.clone().into()),
            ("TZ".into(), "UTC".into()),
        ]);
        if cfg!(windows) {
            env.insert("APPDATA".into(), home.join(".config").into());
        }
        let now_ms = Cell::new(Some(FIRST_MOMENT_MS));
        Self {
            top,
            root,
            home,
            env: RefCell::new(env),
            now_ms,
            watches: RefCell::default(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The folder that contains home and working directory.
    pub fn top(&self) -> PathBuf {
        os::canonical(self.top.path())
    }

    pub fn base(&self) -> PathBuf {
        self.home.join(".claude")
    }

    pub fn store(&self) -> PathBuf {
        place::store(&self.base(), &self.root)
    }

    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        os::native(self.root.join(relative))
    }

    /// A picture of the working directory, without any `.git`.
    pub fn tree(&self) -> Tree {
        Tree::capture(&self.root).without_dot_git()
    }
}

/// What the user does in the directory.
impl Sandbox {
    pub fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        make_parent(&path);
        fs::write(&path, bytes)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        self
    }

    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
    }

    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    pub fn chmod(&self, relative: impl AsRef<Path>, mode: u32) -> &Self {
        let path = self.path(relative);
        os::set_mode(&path, mode)
            .unwrap_or_else(|error| panic!("cannot chmod {}: {error}", path.display()));
        self
    }

    pub fn symlink(&self, relative: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        make_parent(&path);
        os::symlink(target.as_ref(), &path).expect("a link can be made");
        self
    }

    pub fn mkdir(&self, relative: impl AsRef<Path>) -> &Self {
        fs::create_dir_all(self.path(relative)).expect("a directory can be made");
        self
    }

    pub fn fifo(&self, relative: impl AsRef<Path>) -> &Self {
        fixtures::fifo(&self.path(relative));
        self
    }

    pub fn socket(&self, relative: impl AsRef<Path>) -> &Self {
        fixtures::socket(&self.path(relative));
        self
    }

    /// Makes a `.git` that looks real enough and is watched from now on.
    pub fn decoy_repository(&self, relative: impl AsRef<Path>) -> &Self {
        let dot_git = self.path(relative).join(".git");
        fixtures::decoy_git(&dot_git);
        self.watches.borrow_mut().push(Watch::over(&dot_git));
        self
    }

    /// Watches another place that must stay untouched.
    pub fn watch(&self, place: &Path) -> &Self {
        self.watches.borrow_mut().push(Watch::over(place));
        self
    }

    /// Takes the present state of all watched places: the test itself has just changed them.
    pub fn renew_watches(&self) {
        self.watches.borrow_mut().iter_mut().for_each(Watch::renew);
    }

    /// Removes whatever is there, and stops watching what goes with it.
    pub fn remove(&self, relative: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        self.watches
            .borrow_mut()
            .retain(|watch| !watch.top.starts_with(&path));
        fixtures::remove(&path);
        self
    }
}

/// Clock and environment.
impl Sandbox {
    /// Sets the time of the next command; the one after it runs a second later.
    pub fn at(&self, rfc3339: &str) -> &Self {
        let moment = chrono::DateTime::parse_from_rfc3339(rfc3339).expect("a moment in RFC 3339");
        self.now_ms.set(Some(moment.timestamp_millis()));
        self
    }

    pub fn real_clock(&self) -> &Self {
        self.now_ms.set(None);
        self
    }

    pub fn env(&self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &Self {
        self.env
            .borrow_mut()
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    pub fn unset_env(&self, name: impl AsRef<OsStr>) -> &Self {
        self.env.borrow_mut().remove(name.as_ref());
        self
    }

    /// Writes the user's own configuration.
    pub fn user_config(&self, text: &str) -> &Self {
        self.env("XDG_CONFIG_HOME", self.home.join(".config"));
        // Its name on Windows.
        self.env("APPDATA", self.home.join(".config"));
        self.write(self.home.join(".config/checkpoint/config.toml"), text)
    }
}

/// Runs of the program.
impl Sandbox {
    /// The tested program: the one built with the tests, or what `CHECKPOINT_PROGRAM` names.
    pub fn binary() -> &'static Path {
        static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
            let named = std::env::var_os("CHECKPOINT_PROGRAM")
                .map(|path| PathBuf::from(path).canonicalize());
            named.map_or_else(copied, |path| path.expect("the named program"))
        });
        &PROGRAM
    }

    /// A command in the root with the sandbox's environment; `wrapper` comes before the program.
    pub fn command(&self, wrapper: &[&str], args: &[&str]) -> Command {
        let (program, before) = match wrapper.split_first() {
            Some((program, before)) => (OsStr::new(*program), before),
            None => (Self::binary().as_os_str(), wrapper),
        };
        let mut command = Command::new(program);
        command.args(before);
        if !wrapper.is_empty() {
            command.arg(Self::binary());
        }
        command
            .args(args)
            .env_clear()
            .envs(self.env.borrow().iter());
        // Without these, no program of Windows starts.
        for name in ["SystemRoot", "SystemDrive", "TEMP", "USERPROFILE"] {
            if let (true, Some(value)) = (cfg!(windows), std::env::var_os(name)) {
                command.env(name, value);
            }
        }
        if let (true, Some(place)) = (cfg!(windows), self.env.borrow().get(OsStr::new("TMPDIR"))) {
            command.env("TEMP", place);
        }
        command.current_dir(if self.root.is_dir() {
            &self.root
        } else {
            &self.home
        });
        if let Some(now) = self.now_ms.get() {
            command.env("CHECKPOINT_NOW", now.to_string());
            self.now_ms.set(Some(now + 1000));
        }
        command
    }

    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(&[], args))
    }

    /// As [`Self::run`], of a line of which words with blanks are between single quotes.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn cmd(&self, line: impl AsRef<str>) -> Run {
        self.run(&words(line.as_ref()))
    }

    #[track_caller]
    pub fn ok(&self, line: impl AsRef<str>) -> Run {
        self.cmd(line).success()
    }

    #[track_caller]
    pub fn fails(&self, code: i32, line: impl AsRef<str>) -> Run {
        self.cmd(line).code(code)
    }

    /// Returns the data of the JSON answer.
    #[track_caller]
    pub fn json(&self, line: impl AsRef<str>) -> Value {
        self.ok(format!("{} --json", line.as_ref())).data()
    }

    /// Runs a command that prints this text, wherever.
    #[track_caller]
    pub fn says(&self, line: impl AsRef<str>, code: i32, text: impl AsRef<str>) {
        let run = self.fails(code, line);
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(printed.contains(text.as_ref()), "{run}");
    }

    /// A document of the root.
    #[track_caller]
    pub fn json_of(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).expect("JSON")
    }

    /// Runs the program in another directory than the root.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn run_in(&self, dir: &Path, args: &[&str]) -> Run {
        let mut command = self.command(&[], args);
        command.current_dir(dir);
        Run::of(command)
    }

    /// Runs the program behind another one, such as a tracer.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn run_under(&self, wrapper: &[&str], args: &[&str]) -> Run {
        Run::of(self.command(wrapper, args))
    }

    /// Runs a script that may mount, with the program as `$0`. Returns `None`, with a printed line,
    /// where that is not permitted, of which the script tells by exit 99.
    pub fn mounting(&self, script: &str) -> Option<Run> {
        let run = self.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
        let may = run.code != 99 && !run.stderr.contains("unshare failed");
        if !may {
            super::skipped("needs the right to mount");
        }
        may.then_some(run)
    }

    /// Makes a checkpoint and gives its 8-digit id.
    #[track_caller]
    pub fn create(&self, reason: &str) -> String {
        let run = self
            .run(&["create", "--reason", reason, "--source", "test"])
            .success();
        let id = run.stdout.trim_end_matches('\n').to_owned();
        let is_id = id.len() == 8
            && id
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        assert!(is_id, "stdout is not the 8-digit id alone\n{run}");
        id
    }

    /// Makes checkpoints until the times of all files are older than one; until then each is reread.
    pub fn settle(&self) {
        for reason in ["first", "second"] {
            std::thread::sleep(std::time::Duration::from_millis(50));
            self.create(reason);
        }
    }

    /// Makes a checkpoint with more arguments and gives its JSON data.
    #[track_caller]
    pub fn create_data(&self, args: &[&str]) -> Value {
        let run = self.run(&[&["create", "--json"], args].concat());
        assert!(
            run.code == 0 || run.code == 5,
            "no checkpoint was made\n{run}"
        );
        run.data()
    }

    /// Restores with `--yes`.
    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn restore(&self, selector: &str) -> Run {
        self.run(&["restore", selector, "--yes"])
    }

    #[track_caller]
    pub fn restore_data(&self, args: &[&str]) -> Value {
        self.run(&[&["restore", "--yes", "--json"], args].concat())
            .success()
            .data()
    }

    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn undo(&self) -> Run {
        self.run(&["undo", "--yes"])
    }

    #[must_use = "ask for the exit code, or the failure goes unseen"]
    pub fn redo(&self) -> Run {
        self.run(&["redo", "--yes"])
    }

    /// All checkpoints as `list --json` has them, newest first.
    #[track_caller]
    pub fn listed(&self) -> Vec<Value> {
        self.run(&["list", "--json"]).success().data()["checkpoints"]
            .as_array()
            .expect("a list")
            .clone()
    }

    /// Whether the list names a checkpoint that cannot be read.
    #[track_caller]
    pub fn has_damage(&self) -> bool {
        self.run(&["list", "--json"]).success().data()["damaged"] != serde_json::json!([])
    }

    /// The short ids of all checkpoints, newest first.
    #[track_caller]
    pub fn listed_ids(&self) -> Vec<String> {
        self.listed()
            .iter()
            .map(|one| one["short"].as_str().expect("a short id").to_owned())
            .collect()
    }

    /// The details of one checkpoint.
    #[track_caller]
    pub fn shown(&self, selector: &str) -> Value {
        self.run(&["show", selector, "--json"]).success().data()["checkpoint"].clone()
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        self.run(&["status", "--json"]).success().data()
    }

    /// Bytes of all files in the store.
    pub fn store_bytes(&self) -> u64 {
        fixtures::bytes_below(&self.store())
    }

    /// An output without what differs from run to run.
    pub fn normalized(&self, text: &str) -> String {
        super::normalize::normalize(text, &self.root, &self.home)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.watches
                .borrow()
                .iter()
                .for_each(Watch::assert_untouched);
        }
        fixtures::loosen(self.top.path());
    }
}

/// A new copy of the built program. A linker leaves its output in the page cache in small pieces, and
/// so does the disk; from one that was just written in a row, a start takes a third less of the
/// processor.
fn copied() -> PathBuf {
    let built = os::canonical(Path::new(env!("CARGO_BIN_EXE_checkpoint")));
    if !cfg!(target_os = "linux") {
        return built;
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let copy = dir.join("checkpoint");
    // Another run of tests may be at it too. A file that this process has open for writing, its children
    // may have too, and then it cannot be started.
    let new = dir.join(format!("checkpoint-{}", std::process::id()));
    let mut cp = Command::new("cp");
    let copied = cp.args([&built, &new]).status();
    assert!(copied.is_ok_and(|status| status.success()), "no copy");
    fs::rename(&new, &copy).expect("the copy at its place");
    os::canonical(&copy)
}

fn make_parent(path: &Path) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a parent directory can be made");
    }
}

/// The words of a line; what is between single quotes is one.
pub fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_ascii_whitespace().collect(),
            _ => vec![part],
        })
        .collect()
}
