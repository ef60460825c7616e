//! A home and a working directory at a fixed place, which can be put back as they were.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};

use tempfile::TempDir;

use super::calls::Call;
use crate::bench::{Run, Sandbox, fixtures, place, strace};

const FIRST_MOMENT_MS: i64 = 1_774_353_600_000;

/// The part of a field that lies on another disk.
#[derive(Clone, Copy, Debug)]
pub enum Moved {
    Store,
    Work,
    Both,
}

impl Moved {
    pub const ALL: [Self; 3] = [Self::Store, Self::Work, Self::Both];
}

pub struct Field {
    place: TempDir,
    /// Directories that contain home and working directory.
    home_in: PathBuf,
    work_in: PathBuf,
    now_ms: AtomicI64,
}

/// Makes a temporary directory, in memory where possible.
pub fn place(prefix: &str) -> TempDir {
    let builder = || tempfile::Builder::new();
    let place = builder()
        .prefix(prefix)
        .tempdir_in("/dev/shm")
        .or_else(|_| builder().prefix(prefix).tempdir());
    place.expect("a temporary directory")
}

impl Field {
    /// Makes a field, in memory where possible: what a kill leaves does not depend on a disk.
    pub fn new() -> Self {
        let place = place("siege");
        let live = place.path().canonicalize().expect("it exists").join("live");
        std::fs::create_dir(&live).expect("a directory can be made");
        let field = Self {
            place,
            home_in: live.clone(),
            work_in: live,
            now_ms: AtomicI64::new(FIRST_MOMENT_MS),
        };
        std::fs::create_dir(field.bin()).expect("a directory can be made");
        std::os::unix::fs::symlink(Sandbox::binary(), field.bin().join("checkpoint"))
            .expect("a link can be made");
        field.clear();
        field
    }

    /// Makes a field with its store, its working directory or both on a disk, mounted at `disk`.
    pub fn moved(what: Moved, disk: &Path) -> Self {
        let (mut field, disk) = (Self::new(), disk.canonicalize().expect("it is mounted"));
        if matches!(what, Moved::Store | Moved::Both) {
            field.home_in.clone_from(&disk);
        }
        if matches!(what, Moved::Work | Moved::Both) {
            field.work_in = disk;
        }
        if field.home_in != field.work_in {
            // Commands name files as `../home/…`, wherever the two lie.
            let beside = field.work_in.join("home");
            remove(&beside);
            std::os::unix::fs::symlink(field.home(), beside).expect("a link can be made");
        }
        field.clear();
        field
    }

    pub fn top(&self) -> PathBuf {
        self.place.path().canonicalize().expect("it exists")
    }

    pub fn work(&self) -> PathBuf {
        self.work_in.join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.home_in.join("home")
    }

    /// The place of a repository to push to, whose disk never fails: it is not ours.
    pub fn remote(&self) -> PathBuf {
        self.top().join("live/remote")
    }

    pub fn store(&self) -> PathBuf {
        place::store(&self.home().join(".claude"), &self.work())
    }

    /// The kept copy of a field.
    pub fn kept(&self) -> PathBuf {
        self.top().join("kept")
    }

    /// A new path beside them.
    pub fn beside(&self, name: &str) -> PathBuf {
        let path = self.top().join(name);
        remove(&path);
        path
    }

    /// Empties the field.
    pub fn clear(&self) {
        for dir in [self.work(), self.home()] {
            remove(&dir);
            std::fs::create_dir(dir).expect("a directory can be made");
        }
    }

    /// Keeps a copy of its present state.
    pub fn keep(&self) {
        let kept = self.beside("kept");
        std::fs::create_dir(&kept).expect("a directory can be made");
        let dirs = [self.work(), self.home(), self.remote()];
        for dir in dirs.iter().filter(|dir| dir.exists()) {
            copy(dir, &kept);
        }
    }

    /// Restores the kept state.
    pub fn put_back(&self) {
        for dir in [self.work(), self.home(), self.remote()] {
            let kept = self.kept().join(dir.file_name().expect("it has a name"));
            if kept.exists() {
                remove(&dir);
                copy(&kept, dir.parent().expect("it has a parent"));
            }
        }
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file can be written");
    }

    /// Runs the program behind `wrapper`, with an empty environment and a clock that advances.
    pub fn run(&self, wrapper: &[&str], args: &[&str]) -> Run {
        Run::of(self.command(wrapper, args))
    }

    /// The same for words without blanks.
    pub fn cmd(&self, line: &str) -> Run {
        self.run(&[], &line.split(' ').collect::<Vec<_>>())
    }

    /// The same, which must end with 0.
    pub fn ok(&self, line: &str) -> Run {
        self.cmd(line).success()
    }

    /// Runs a command that the tracer disturbs.
    pub fn disturbed(&self, wrapper: &[String], line: &str) -> Run {
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        self.run(&wrapper, &line.split(' ').collect::<Vec<_>>())
    }

    /// Runs a command and kills it at this call.
    pub fn killed(&self, call: &Call, line: &str) -> Run {
        let log = self.top().join("held");
        let wrapper = strace::holding(&log, &call.name, call.nth);
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let words: Vec<&str> = line.split(' ').collect();
        strace::killed(self.command(&wrapper, &words), &log, call.nth)
    }

    /// Runs a line that a user types, where the program is found by its name.
    pub fn shell(&self, line: &str) -> Run {
        let mut command = self.prepared(&["/bin/sh", "-c", line]);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.bin().display()));
        Run::of(command)
    }

    fn bin(&self) -> PathBuf {
        self.top().join("bin")
    }

    pub fn command(&self, wrapper: &[&str], args: &[&str]) -> Command {
        // The name by which a shell finds it too, because some commands write it down.
        let program = self.bin().join("checkpoint");
        let words: Vec<&str> = wrapper
            .iter()
            .copied()
            .chain([program.to_str().expect("UTF-8")])
            .chain(args.iter().copied())
            .collect();
        self.prepared(&words)
    }

    fn prepared(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("HOME", self.home())
            .env("TZ", "UTC");
        command.env(
            "CHECKPOINT_NOW",
            self.now_ms.fetch_add(1000, Ordering::Relaxed).to_string(),
        );
        command.current_dir(if self.work().is_dir() {
            self.work()
        } else {
            self.top()
        });
        command
    }
}

fn remove(path: &Path) {
    if path.symlink_metadata().is_ok() {
        fixtures::loosen(path);
        std::fs::remove_dir_all(path).expect("it can be removed");
    }
}

fn copy(from: &Path, into: &Path) {
    let mut command = Command::new("cp");
    command.arg("-a").arg(from).arg(into);
    Run::of(command).success();
}
