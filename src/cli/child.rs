//! The only file that starts other programs: checks after a restore, bisect and database commands,
//! git, the pager, and a wrapped status line.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::base::interrupt::{Interrupt, Interrupted};
use crate::base::mutex::lock;
use crate::cli::terminal::progress;
use crate::error::{Code, Error, Result};
use crate::model::command_end::CommandEnd;
use crate::ops::context::{FedCommand, GitCommand, GitEnd};

/// Shortest and longest pause between two looks at whether the child has ended.
const FIRST_CHILD_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_CHILD_PAUSE: Duration = Duration::from_millis(2);
const MOMENT: Duration = Duration::from_micros(100);
/// Time for the child to end by itself before a signal is passed on; a terminal signals the child
/// as well.
const GRACE: Duration = Duration::from_millis(500);

/// Variables that redirect git to another repository or other settings, in any directory.
const GIT_PLACES: [&str; 12] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// How this process starts children. The caller holds a shield: a signal also reaches the child.
#[derive(Clone, Copy, Debug)]
pub struct Children<'i> {
    pub interrupt: &'i Interrupt,
    /// Whether the child may read from the terminal.
    pub may_read_stdin: bool,
}

impl Children<'_> {
    /// Runs the user's command line in the system's shell.
    ///
    /// # Errors
    /// The shell cannot be started, or a signal came; the child has ended then too.
    pub fn shell(&self, line: &str, dir: &Path) -> Result<CommandEnd> {
        let mut command = shell_command(OsStr::new(line));
        self.run(command.current_dir(dir), Path::new(line))
    }

    /// Runs a program with its arguments. Git, if called by the program, looks for no repository at
    /// or above `ceiling`.
    ///
    /// # Errors
    /// As [`Self::shell`].
    pub fn program(&self, words: &[OsString], dir: &Path, ceiling: &Path) -> Result<CommandEnd> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| Error::usage("no command"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(dir)
            .env("GIT_CEILING_DIRECTORIES", ceiling);
        self.run(&mut command, Path::new(program))
    }

    /// Commits all changes in the project's own repository with git itself; done only on request.
    ///
    /// # Errors
    /// Git cannot be started, or refuses.
    pub fn commit_all(&self, message: &str, dir: &Path) -> Result<()> {
        self.git(&["add", "-A"], dir)?;
        // The phases may have committed everything already.
        if self
            .git(&["diff", "--cached", "--quiet", "--no-ext-diff"], dir)
            .is_ok()
        {
            return Ok(());
        }
        self.git(&["commit", "-m", message], dir)
    }

    fn git(&self, arguments: &[&str], dir: &Path) -> Result<()> {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(arguments);
        for name in GIT_PLACES {
            command.env_remove(name);
        }
        if self.run(&mut command, Path::new("git"))?.is_success() {
            return Ok(());
        }
        let (git, dir) = (arguments[0], dir.display());
        Err(Error::unexpected(format!(
            "git {git} failed in {dir}, see its message; the phase is done, and changes may be staged in the project; \
             the next 'checkpoint phase done --project-git' commits them"
        )))
    }

    /// The child writes to our stderr, since our stdout is only for results.
    fn run(&self, command: &mut Command, shown: &Path) -> Result<CommandEnd> {
        let _hidden = progress::hide();
        let stdin = if self.may_read_stdin {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        command.stdin(stdin).stdout(Stdio::from(std::io::stderr()));
        self.spawn_and_wait(command, shown)
    }

    fn spawn_and_wait(&self, command: &mut Command, shown: &Path) -> Result<CommandEnd> {
        // A program that may ask at the terminal must be where the terminal lets it read.
        #[cfg(unix)]
        if !is_at_terminal() {
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let mut child = command.spawn().map_err(Error::io("start", shown))?;
        let status = self
            .wait(&mut child, Duration::MAX, None)
            .map_err(Error::io("wait for", shown))?;
        self.interrupt.check()?;
        Ok(ended(status))
    }

    /// Waits for the end of the child; a signal is passed on after a grace period, and a second one
    /// kills the child, as does the end of `limit`. `output` is cut off when its output is closed.
    fn wait(
        &self,
        child: &mut Child,
        limit: Duration,
        output: Option<&mpsc::Receiver<()>>,
    ) -> std::io::Result<ExitStatus> {
        let started = Instant::now();
        let mut pause = FIRST_CHILD_PAUSE;
        let mut asked: Option<(i32, Instant)> = None;
        let mut passed_on = false;
        loop {
            if let Some(status) = child.try_wait()? {
                if let Some((signal, _)) = asked {
                    self.interrupt
                        .set(usize::try_from(signal).unwrap_or_default());
                }
                return Ok(status);
            }
            match (self.interrupt.check(), asked) {
                (Err(Interrupted(signal)), None) => {
                    // Cleared to detect a second signal; set again at the end.
                    self.interrupt.set(0);
                    asked = Some((signal, Instant::now()));
                }
                (Err(_), Some(_)) => kill_with_children(child)?,
                (Ok(()), Some((signal, since))) if !passed_on && since.elapsed() >= GRACE => {
                    pass_on(child, signal)?;
                    passed_on = true;
                }
                _ if started.elapsed() >= limit => kill_with_children(child)?,
                _ => {}
            }
            match output.map(|output| output.recv_timeout(pause)) {
                // It has closed its output: it ends in a moment.
                Some(Err(RecvTimeoutError::Disconnected)) => thread::sleep(MOMENT),
                Some(_) => {}
                None => thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_CHILD_PAUSE);
        }
    }
}

/// Runs a database command in the system's shell, with files as stdin and stdout. The caller holds
/// a shield.
///
/// # Errors
/// As [`Children::shell`].
pub fn database_command(interrupt: &Interrupt, fed: FedCommand<'_>) -> Result<CommandEnd> {
    let FedCommand {
        line,
        dir,
        stdin,
        stdout,
        stderr,
    } = fed;
    let _hidden = progress::hide();
    let or_nothing = |file: Option<std::fs::File>| file.map_or_else(Stdio::null, Stdio::from);
    let mut command = shell_command(OsStr::new(line));
    command
        .current_dir(dir)
        .stdin(or_nothing(stdin))
        .stdout(or_nothing(stdout))
        .stderr(stderr);
    Children {
        interrupt,
        may_read_stdin: false,
    }
    .spawn_and_wait(&mut command, Path::new("the shell"))
}

/// Settings of git at a remote: nothing that a project or a template may bring, nothing that goes on
/// afterwards. What is fetched is checked and flushed by us; a server flushes by its own settings.
const REMOTE_SETTINGS: [&str; 13] = [
    "core.alternateRefsPrefixes=refs/none",
    "core.fsync=none",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.useReplaceRefs=true",
    "fetch.fsckObjects=false",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
    "transfer.fsckObjects=false",
    "transfer.unpackLimit=1",
];
/// Most of stdout and of stderr of git that is kept, in bytes: their ends.
const MOST_KEPT: usize = 32 << 20;
/// Time for the end of the output after that of git: what ssh leaves behind may hold it open.
const LEFT_OPEN: Duration = Duration::from_millis(500);

/// Runs git at a remote, with the user's own settings and keys. Without a terminal it asks nothing.
/// The caller holds a shield.
///
/// # Errors
/// Git cannot be started or takes too long, or a signal came; it has ended then.
pub fn git(interrupt: &Interrupt, asked: &GitCommand<'_>) -> Result<GitEnd> {
    let _hidden = progress::hide();
    let may_ask = asked.may_ask && std::io::stdin().is_terminal();
    let mut command = remote_git(asked, may_ask);
    let started = Instant::now();
    let mut child = command.spawn().map_err(|why| match why.kind() {
        std::io::ErrorKind::NotFound => Error::git_missing(),
        _ => Error::io("start", Path::new("git"))(why),
    })?;
    let watched = child.stdin.take();
    let (open, output) = mpsc::channel();
    let stdout = child.stdout.take().map(|pipe| gather(pipe, open.clone()));
    let stderr = child.stderr.take().map(|pipe| gather(pipe, open));
    let children = Children {
        interrupt,
        may_read_stdin: may_ask,
    };
    let status = children.wait(&mut child, asked.limit, Some(&output));
    let status = status.map_err(Error::io("wait for", Path::new("git")))?;
    if let Some(mut watched) = watched {
        // A watcher that was killed with git needs no word.
        let _ = watched.write_all(b"\n");
        if status.code() == Some(NO_PROGRAM) {
            return Err(Error::git_missing());
        }
    }
    let [stdout, stderr] =
        [stdout, stderr].map(|pipe| pipe.as_ref().map(gathered).unwrap_or_default());
    interrupt.check()?;
    if started.elapsed() >= asked.limit && !status.success() {
        return Err(Error::new(
            Code::GIT_TOO_SLOW,
            format!("git did not end within {} s", asked.limit.as_secs()),
        )
        .advise("nothing was changed here; '--timeout SECONDS' gives it more time"));
    }
    Ok(GitEnd {
        is_success: status.success(),
        stdout,
        stderr,
    })
}

/// Starts its arguments, and ends them with all that they started if its stdin is closed without a
/// line: this process was killed then.
#[cfg(unix)]
const WATCHED: &str =
    "exec 3<&0 </dev/null; (read -r ended <&3 || kill 0) >/dev/null 2>&1 & exec \"$@\" 3<&-";
/// Exit code of a shell that finds no program of a name.
const NO_PROGRAM: i32 = 127;

fn remote_git(asked: &GitCommand<'_>, may_ask: bool) -> Command {
    let mut command = Command::new("git");
    #[cfg(unix)]
    if !may_ask {
        command = Command::new("/bin/sh");
        command.args(["-c", WATCHED, "sh", "git"]);
    }
    for setting in REMOTE_SETTINGS {
        command.args(["-c", setting]);
    }
    // Settings in the environment are the user's own; a repository there is another.
    for name in GIT_PLACES
        .iter()
        .filter(|name| !name.starts_with("GIT_CONFIG"))
    {
        command.env_remove(name);
    }
    command
        .args(asked.arguments)
        .current_dir(asked.repository)
        .env_remove("GIT_QUARANTINE_PATH")
        .env_remove("GIT_NO_REPLACE_OBJECTS")
        .env_remove("GIT_ATTR_SOURCE")
        .env("GIT_DIR", asked.repository)
        .env("GIT_ALLOW_PROTOCOL", asked.protocols)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if !may_ask {
        command.env("GIT_TERMINAL_PROMPT", "0");
        // It asks this program, which has no answer, instead of the terminal.
        command.env("SSH_ASKPASS_REQUIRE", "force");
        command.env("SSH_ASKPASS", "false");
        #[cfg(unix)]
        {
            command.stdin(Stdio::piped());
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
    }
    command
}

/// The end of what a child writes, read by a thread of its own.
struct Gathered {
    kept: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

/// Reads a pipe to its end, and drops `open` there.
fn gather(mut pipe: impl Read + Send + 'static, open: mpsc::Sender<()>) -> Gathered {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&kept);
    let thread = thread::spawn(move || {
        let mut piece = [0; 8192];
        while let Ok(len @ 1..) = pipe.read(&mut piece) {
            let mut kept = lock(&into);
            kept.extend_from_slice(&piece[..len]);
            if kept.len() > MOST_KEPT {
                kept.drain(..MOST_KEPT / 2);
            }
        }
        drop(open);
    });
    Gathered { kept, thread }
}

fn gathered(pipe: &Gathered) -> String {
    let ended = Instant::now();
    while !pipe.thread.is_finished() && ended.elapsed() < LEFT_OPEN {
        thread::sleep(MOMENT);
    }
    String::from_utf8_lossy(&lock(&pipe.kept)).into_owned()
}

/// Upper bound on what is read of a wrapped command, in bytes.
const MOST_FILTERED: usize = 1 << 16;

/// Runs the user's command line in the system's shell with `input` as stdin, and returns what it
/// wrote to stdout within the limit; then it is killed.
///
/// # Errors
/// The shell cannot be started.
pub fn filtered(line: &OsStr, input: Vec<u8>, limit: Duration) -> std::io::Result<Vec<u8>> {
    let started = Instant::now();
    let mut command = shell_command(line);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let (stdin, mut stdout) = (child.stdin.take(), child.stdout.take());
    thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let (sender, pieces) = mpsc::channel();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Some(Ok(len @ 1..)) = stdout.as_mut().map(|pipe| pipe.read(&mut piece)) {
            if sender.send(piece[..len].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut output = Vec::new();
    while output.len() < MOST_FILTERED {
        match pieces.recv_timeout(limit.saturating_sub(started.elapsed())) {
            Ok(piece) => output.extend(piece),
            Err(RecvTimeoutError::Disconnected) => return Ok(output),
            Err(RecvTimeoutError::Timeout) => break,
        }
    }
    kill_with_children(&mut child)?;
    Ok(output)
}

/// Sets the options of `less` and `lv`, unless the user did, as git does: colours pass, and a short
/// text needs no key.
#[cfg(not(windows))]
const PAGER_OPTIONS: &str = "LESS=${LESS-FRX} LV=${LV--c}; export LESS LV; ";
#[cfg(windows)]
const PAGER_OPTIONS: &str = "";

/// Starts the user's pager with a pipe as stdin.
///
/// # Errors
/// The shell cannot be started.
pub fn reader(line: &OsStr) -> std::io::Result<Child> {
    let mut script = OsString::from(PAGER_OPTIONS);
    script.push(line);
    shell_command(&script).stdin(Stdio::piped()).spawn()
}

#[cfg(not(windows))]
fn shell_command(line: &OsStr) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

#[cfg(windows)]
fn shell_command(line: &OsStr) -> Command {
    use std::os::windows::process::CommandExt;
    let mut command = Command::new("cmd");
    // cmd has its own quoting rules; the line is passed on as typed.
    command.arg("/C").raw_arg(line);
    command
}

#[cfg(unix)]
fn is_at_terminal() -> bool {
    std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
}

/// Kills a child, and what it started if it leads a group of its own.
fn kill_with_children(child: &mut Child) -> std::io::Result<()> {
    const KILL: i32 = 9;
    pass_on(child, KILL)
}

#[cfg(unix)]
fn pass_on(child: &mut Child, signal: i32) -> std::io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    match (pid, Signal::from_named_raw(signal)) {
        // There is a group of its number only if it leads one.
        (Some(pid), Some(signal)) if kill_process_group(pid, signal).is_err() => {
            Ok(kill_process(pid, signal)?)
        }
        (Some(_), Some(_)) => Ok(()),
        _ => child.kill(),
    }
}

#[cfg(not(unix))]
fn pass_on(child: &mut Child, _signal: i32) -> std::io::Result<()> {
    child.kill()
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> CommandEnd {
    use std::os::unix::process::ExitStatusExt;
    status.signal().map_or_else(
        || CommandEnd::Exit(status.code().unwrap_or(1)),
        CommandEnd::Signal,
    )
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> CommandEnd {
    CommandEnd::Exit(status.code().unwrap_or(1))
}
