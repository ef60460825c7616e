//! One command of a contender: with a cleared environment, timed or weighed; and the files around it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use walkdir::WalkDir;

/// GNU time, which reports the memory of the largest process of a tree.
const TIME: &str = "/usr/bin/time";

/// A command line, run by a shell if it has more than one command.
#[derive(Clone, Debug)]
pub struct Job {
    pub line: String,
    pub env: Vec<(&'static str, OsString)>,
    pub dir: PathBuf,
}

/// A command that succeeded.
pub struct Done {
    pub elapsed: Duration,
    pub stdout: Vec<u8>,
}

impl Done {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim().to_owned()
    }
}

impl Job {
    /// A call of git without any user's configuration.
    pub fn git(line: &str, dir: &Path, store: &Path) -> Self {
        let env = vec![
            ("HOME", "/nonexistent".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_ATTR_NOSYSTEM", "1".into()),
            ("GIT_DIR", store.into()),
            ("GIT_WORK_TREE", dir.into()),
        ];
        let (line, dir) = (line.to_owned(), dir.to_path_buf());
        Self { line, env, dir }
    }

    fn words(&self) -> Vec<&str> {
        if self.line.contains("&&") {
            vec!["/bin/sh", "-c", &self.line]
        } else {
            self.line.split(' ').collect()
        }
    }

    /// Runs it and takes the time, with all its output read from pipes.
    ///
    /// # Errors
    /// It cannot be started, or fails: the command and its last words.
    pub fn run(&self) -> Result<Done> {
        self.run_words(&self.words())
    }

    /// Runs it under GNU time, and adds the peak memory of its largest process in KiB where there is
    /// GNU time. That is small itself, so the memory of this benchmark is in no figure.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_weighed(&self, note: &Path) -> Result<(Done, Option<u64>)> {
        if !Path::new(TIME).is_file() {
            return Ok((self.run()?, None));
        }
        let program = self.words();
        let located = located(program[0]);
        let note = note.to_string_lossy();
        let mut words = vec![TIME, "-f", "%M", "-o", &note, &located];
        words.extend(&program[1..]);
        let done = self.run_words(&words)?;
        let text = std::fs::read_to_string(&*note).context("cannot read the note of GNU time")?;
        let last = text.lines().last();
        Ok((done, last.and_then(|line| line.trim().parse().ok())))
    }

    fn run_words(&self, words: &[&str]) -> Result<Done> {
        let mut command = Command::new(located(words[0]));
        command.args(&words[1..]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("LC_ALL", "C").env("TZ", "UTC");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        // For a child that starts elsewhere, the standard library copies this whole process first.
        let back = std::env::current_dir().context("this process is nowhere")?;
        let going = |dir: &Path| format!("cannot go to {}", dir.display());
        std::env::set_current_dir(&self.dir).with_context(|| going(&self.dir))?;
        let start = Instant::now();
        let output = command.output();
        let elapsed = start.elapsed();
        std::env::set_current_dir(&back).with_context(|| going(&back))?;
        let output = output.with_context(|| format!("cannot start {}", words[0]))?;
        let (line, dir, status) = (&self.line, self.dir.display(), output.status);
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(status.success(), "{line} in {dir}: {status}\n{stderr}");
        let stdout = output.stdout;
        Ok(Done { elapsed, stdout })
    }
}

/// The path of a program given by its name; the name itself if it is not found.
fn located(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join(program));
    let found = places.find(|place| place.is_file());
    found.map_or(program.to_owned(), |place| {
        place.to_string_lossy().into_owned()
    })
}

/// # Errors
/// It cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let doing = || format!("cannot write {}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(path)).with_context(doing)?;
    std::fs::write(path, bytes).with_context(doing)
}

/// Copies what is in a directory with everything that `cp -a` keeps.
///
/// # Errors
/// `cp` fails.
pub fn copy(from: &Path, into: &Path) -> Result<()> {
    std::fs::create_dir_all(into).with_context(|| format!("cannot make {}", into.display()))?;
    let line = format!("cp -a -- {}/. {}", from.display(), into.display());
    let (env, dir) = (Vec::new(), into.to_path_buf());
    Job { line, env, dir }.run()?;
    Ok(())
}

/// Bytes in files below, and those allocated.
pub fn size_of(top: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    let found = WalkDir::new(top).into_iter().filter_map(Result::ok);
    let found = found.filter_map(|entry| entry.metadata().ok());
    found.fold((0, 0), |(bytes, allocated), found| {
        let own = if found.is_dir() { 0 } else { found.len() };
        (bytes + own, allocated + found.blocks() * 512)
    })
}

/// Reads everything below, so that the caches of the kernel are warm for the first contender too.
pub fn warm_up(top: &Path) {
    for entry in WalkDir::new(top).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_file()
            && let Ok(mut file) = std::fs::File::open(entry.path())
        {
            let _ = std::io::copy(&mut file, &mut std::io::sink());
        }
    }
}
