//! One command that a contender runs: with a cleared environment, timed or weighed.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// GNU time, which reports the memory of the largest process of a tree.
const TIME: &str = "/usr/bin/time";

#[derive(Clone, Debug)]
pub struct Job {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
}

/// A command that succeeded.
#[derive(Clone, Debug)]
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
    pub fn new(program: impl AsRef<OsStr>, dir: &Path) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = located(program.as_ref(), &path);
        let env = vec![
            ("PATH".into(), path),
            ("LC_ALL".into(), "C".into()),
            ("TZ".into(), "UTC".into()),
        ];
        Self {
            program,
            args: Vec::new(),
            env,
            dir: dir.to_path_buf(),
        }
    }

    /// A command line as a user would type it, in one shell.
    pub fn shell(line: &str, dir: &Path) -> Self {
        Self::new("/bin/sh", dir).args(["-c", line])
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    fn command(&self, program: &OsStr, before: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.args(before).args(&self.args).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it and takes the time, with all its output read from pipes.
    ///
    /// # Errors
    /// It cannot be started, or fails: the command and its last words.
    pub fn run(&self) -> Result<Done> {
        let (output, elapsed) = timed(self.command(&self.program, &[]), &self.dir)?;
        let output = output.with_context(|| format!("cannot start {}", self.program.display()))?;
        self.judge(output, elapsed)
    }

    /// Runs it under GNU time; returns the peak memory of its largest process in KiB, `None` where
    /// there is no GNU time.
    ///
    /// GNU time is small itself, so the memory of this benchmark is in no figure.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_weighed(&self, note: &Path) -> Result<(Done, Option<u64>)> {
        if !Path::new(TIME).is_file() {
            return Ok((self.run()?, None));
        }
        let before: Vec<OsString> = vec![
            "-f".into(),
            "%M".into(),
            "-o".into(),
            note.as_os_str().to_owned(),
            self.program.clone(),
        ];
        let (output, elapsed) = timed(self.command(OsStr::new(TIME), &before), &self.dir)?;
        let done = self.judge(output.context("cannot start GNU time")?, elapsed)?;
        let text = std::fs::read_to_string(note)
            .with_context(|| format!("cannot read {}", note.display()))?;
        Ok((
            done,
            text.lines()
                .last()
                .and_then(|line| line.trim().parse().ok()),
        ))
    }

    fn judge(&self, output: Output, elapsed: Duration) -> Result<Done> {
        if !output.status.success() {
            let words: Vec<String> = self
                .args
                .iter()
                .map(|arg| arg.to_string_lossy().into_owned())
                .collect();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last: Vec<&str> = stderr.lines().rev().take(8).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            let place = self.dir.display();
            bail!(
                "{} {} in {place}: {}\n{}",
                self.program.display(),
                words.join(" "),
                output.status,
                last.join("\n")
            );
        }
        Ok(Done {
            elapsed,
            stdout: output.stdout,
        })
    }
}

/// Runs a command in a directory. This process changes to it itself: for a child that is to start
/// elsewhere, or whose program is still to be found, the standard library copies the whole process
/// first, and with the pictures of large trees in memory that takes 10 ms, many times what some
/// commands need.
fn timed(mut command: Command, dir: &Path) -> Result<(std::io::Result<Output>, Duration)> {
    let back = std::env::current_dir().context("this process is nowhere")?;
    std::env::set_current_dir(dir).with_context(|| format!("cannot go to {}", dir.display()))?;
    let start = Instant::now();
    let output = command.output();
    let elapsed = start.elapsed();
    std::env::set_current_dir(&back)
        .with_context(|| format!("cannot go back to {}", back.display()))?;
    Ok((output, elapsed))
}

/// The path of a program given by its name; the name itself if it is not found.
fn located(program: &OsStr, path: &OsStr) -> OsString {
    if Path::new(program).components().count() > 1 {
        return program.to_owned();
    }
    let mut places = std::env::split_paths(path).map(|dir| dir.join(program));
    places
        .find(|place| place.is_file())
        .map_or_else(|| program.to_owned(), PathBuf::into_os_string)
}
