//! A place to besiege: a home and a working directory at a fixed place, which can be put back as they were.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

use crate::bench::{Run, Sandbox, fixtures, place};

const FIRST_MOMENT_MS: i64 = 1_774_353_600_000;

pub struct Field {
    place: TempDir,
    now_ms: AtomicI64,
}

impl Field {
    /// In memory where that can be had: what a kill leaves does not depend on a disk.
    pub fn new() -> Self {
        let builder = || tempfile::Builder::new();
        let place = builder().prefix("siege").tempdir_in("/dev/shm").or_else(|_| builder().prefix("siege").tempdir());
        let field = Self { place: place.expect("a temporary directory"), now_ms: AtomicI64::new(FIRST_MOMENT_MS) };
        field.clear();
        field
    }

    pub fn top(&self) -> PathBuf {
        self.place.path().canonicalize().expect("it exists")
    }

    fn live(&self) -> PathBuf {
        self.top().join("live")
    }

    pub fn work(&self) -> PathBuf {
        self.live().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.live().join("home")
    }

    pub fn store(&self) -> PathBuf {
        place::store(&self.home().join(".claude"), &self.work())
    }

    /// Where a field lies as it was kept.
    pub fn kept(&self) -> PathBuf {
        self.top().join("kept")
    }

    /// A path beside them that does not exist yet.
    pub fn beside(&self, name: &str) -> PathBuf {
        let path = self.top().join(name);
        if path.symlink_metadata().is_ok() {
            fixtures::loosen(&path);
            std::fs::remove_dir_all(&path).expect("it can be removed");
        }
        path
    }

    /// Empties the field.
    pub fn clear(&self) {
        let live = self.beside("live");
        for dir in [live.clone(), self.work(), self.home()] {
            std::fs::create_dir(dir).expect("a directory can be made");
        }
    }

    /// Remembers it as it stands.
    pub fn keep(&self) {
        copy(&self.live(), &self.beside("kept"));
    }

    /// Puts it back as it was kept.
    pub fn put_back(&self) {
        let live = self.beside("live");
        copy(&self.kept(), &live);
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file can be written");
    }

    /// The program behind `wrapper`, with an empty environment and a clock that goes on.
    pub fn run(&self, wrapper: &[&str], args: &[&str]) -> Run {
        Run::of(self.command(wrapper, args))
    }

    pub fn command(&self, wrapper: &[&str], args: &[&str]) -> Command {
        let words: Vec<&str> = wrapper.iter().copied().chain([binary()]).chain(args.iter().copied()).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().env("HOME", self.home()).env("TZ", "UTC");
        command.env("CHECKPOINT_NOW", self.now_ms.fetch_add(1000, Ordering::Relaxed).to_string());
        command.current_dir(if self.work().is_dir() { self.work() } else { self.live() });
        command
    }
}

fn binary() -> &'static str {
    Sandbox::binary().to_str().expect("UTF-8")
}

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp can be started");
    assert!(done.success(), "cp failed");
}
