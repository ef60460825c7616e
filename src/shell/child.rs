//! The only file that starts other programs: what `run` is for, checks after a restore, bisect and
//! database commands, git, the pager, and a wrapped status line; and this program itself, for the page
//! of `ui`.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::base::mutex::lock;
use crate::base::{Interrupt, Interrupted, Malformed};
use crate::error::{Code, Error, Result};
use crate::model::CommandEnd;
use crate::ops::{FedCommand, GitCommand, GitEnd};
use crate::shell::signals::Wake;
use crate::shell::terminal::progress;

/// Time between two looks for a request to stop, of which no signal need come.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// The same at a child that runs in our place, in case its end makes no signal.
const LONG: Duration = Duration::from_secs(1);
/// Time for the child to end by itself before a signal is passed on; a terminal signals the child
/// as well.
const GRACE: Duration = Duration::from_millis(500);
/// Most of stdout and of stderr of a child that is kept, in bytes: their ends.
const MOST_KEPT: usize = 32 << 20;
/// Time for the end of the output after that of the child: what ssh leaves behind may hold it open.
const LEFT_OPEN: Duration = Duration::from_millis(500);

/// Variables that redirect git to another repository or other settings, in any directory.
const GIT_PLACES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG \
    GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_DIR GIT_INDEX_FILE GIT_NAMESPACE \
    GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_SHALLOW_FILE GIT_WORK_TREE";

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
        let mut command = command(words);
        command
            .current_dir(dir)
            .env("GIT_CEILING_DIRECTORIES", ceiling);
        self.run(&mut command, Path::new(&words[0]))
    }

    /// Runs a program in our place: it has our stdin, stderr and process group, so that the terminal is
    /// its own and sends it what is typed; signals that are sent to us reach it, and if it stops, so do
    /// we. A script without an interpreter is run by the shell, as everywhere. `meanwhile` runs beside
    /// it; `at_end` is called when it ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn in_our_place(
        &self,
        words: &[OsString],
        dir: Option<&Path>,
        stdout: fn() -> Stdio,
        at_end: impl FnOnce() + Send,
        meanwhile: impl FnOnce(),
    ) -> std::io::Result<CommandEnd> {
        let start = |words: &[OsString]| {
            let mut command = command(words);
            command.stdout(stdout());
            if let Some(dir) = dir {
                command.current_dir(dir);
            }
            command.spawn()
        };
        let _hidden = progress::hide();
        let _shield = self.interrupt.shield();
        let mut wake = Wake::new(true)?;
        let mut child = match start(words) {
            // As a shell does; it looks for the file in PATH too.
            Err(why) if is_script(&why) => {
                let shell = ["/bin/sh", "-c", "exec \"$0\" \"$@\""].map(OsString::from);
                start(&[&shell, words].concat())?
            }
            started => started?,
        };
        let status = thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let status = attend(&mut child, &mut wake);
                at_end();
                status
            });
            meanwhile();
            waiting.join()
        });
        // Ctrl-C was for the child.
        self.interrupt.set(0);
        let failed = |_| Err(std::io::Error::other("the wait for it failed"));
        status.unwrap_or_else(failed).map(ended)
    }

    /// Commits all changes in the project's own repository with git itself; done only on request.
    ///
    /// # Errors
    /// Git cannot be started, or refuses.
    pub fn commit_all(&self, message: &str, dir: &Path) -> Result<()> {
        self.git(&["add", "-A"], dir)?;
        // The phases may have committed everything already.
        let staged = self.git(&["diff", "--cached", "--quiet", "--no-ext-diff"], dir);
        if staged.is_ok() {
            return Ok(());
        }
        self.git(&["commit", "-m", message], dir)
    }

    fn git(&self, arguments: &[&str], dir: &Path) -> Result<()> {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(arguments);
        for name in GIT_PLACES.split(' ') {
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
        let stdin = if self.may_read_stdin {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        command.stdin(stdin).stdout(Stdio::from(std::io::stderr()));
        run_to_end(command, shown, self.interrupt)
    }
}

/// The command of a program and its arguments, which are not empty.
fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Whether a file that can be executed does not say by what.
fn is_script(why: &std::io::Error) -> bool {
    cfg!(unix) && why.raw_os_error() == Some(8)
}

fn is_at_terminal() -> bool {
    let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    stdin.is_terminal() || stdout.is_terminal() || stderr.is_terminal()
}

/// Waits for the end of a child that runs in our place.
fn attend(child: &mut Child, wake: &mut Wake) -> std::io::Result<ExitStatus> {
    let may_stop = is_at_terminal();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        for signal in wake.for_child(child.id()) {
            // One of another user, such as that of sudo, cannot be reached.
            let _ = pass_on(child, signal);
        }
        if may_stop {
            stop_with(child);
        }
        wake.wait(LONG);
    }
}

fn run_to_end(command: &mut Command, shown: &Path, interrupt: &Interrupt) -> Result<CommandEnd> {
    // A program that may ask at the terminal must be where the terminal lets it read.
    if !is_at_terminal() {
        lead_group(command);
    }
    let end = run(command, interrupt, Duration::MAX, None).map_err(Error::io("start", shown))?;
    interrupt.check()?;
    Ok(ended(end.status))
}

/// How a child ended, and what it wrote to its pipes.
struct ChildEnd {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Runs a child to its end. A pipe as its stdin gives it the input, or none until the child has
/// ended, and then an empty line. At the end of the limit the child is killed.
fn run(
    command: &mut Command,
    interrupt: &Interrupt,
    limit: Duration,
    input: Option<Vec<u8>>,
) -> std::io::Result<ChildEnd> {
    let _hidden = progress::hide();
    let wake = Wake::new(false)?;
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take();
    if let Some(input) = input {
        let pipe = stdin.take();
        thread::spawn(move || pipe.map(|mut pipe| pipe.write_all(&input)));
    }
    let (open, output) = mpsc::channel();
    let stdout = child.stdout.take().map(|pipe| gather(pipe, open.clone()));
    let stderr = child.stderr.take().map(|pipe| gather(pipe, open.clone()));
    drop(open);
    let status = wait(&mut child, interrupt, limit, &wake)?;
    // A watcher that was killed with the child needs no word.
    let _ = stdin.map(|mut watcher| watcher.write_all(b"\n"));
    let _ = output.recv_timeout(LEFT_OPEN);
    let [stdout, stderr] = [stdout, stderr].map(|kept| {
        kept.map(|kept| std::mem::take(&mut *lock(&kept)))
            .unwrap_or_default()
    });
    Ok(ChildEnd {
        status,
        stdout,
        stderr,
    })
}

/// Waits for the end of a child; a signal is passed on after a grace period, and a second one kills
/// the child, as does the end of the limit.
fn wait(
    child: &mut Child,
    interrupt: &Interrupt,
    limit: Duration,
    wake: &Wake,
) -> std::io::Result<ExitStatus> {
    const KILL: i32 = 9;
    let started = Instant::now();
    let mut asked: Option<(i32, Instant)> = None;
    let mut passed_on = false;
    loop {
        if let Some(status) = child.try_wait()? {
            if let Some((signal, _)) = asked {
                interrupt.set(usize::try_from(signal).unwrap_or_default());
            }
            return Ok(status);
        }
        match (interrupt.check(), asked) {
            (Err(Interrupted(signal)), None) => {
                // Cleared to detect a second signal; set again at the end.
                interrupt.set(0);
                asked = Some((signal, Instant::now()));
            }
            (Err(_), Some(_)) => pass_on(child, KILL)?,
            (Ok(()), Some((signal, since))) if !passed_on && since.elapsed() >= GRACE => {
                pass_on(child, signal)?;
                passed_on = true;
            }
            _ if started.elapsed() >= limit => pass_on(child, KILL)?,
            _ => {}
        }
        wake.wait(BETWEEN_LOOKS);
    }
}

/// Reads a pipe to its end, and drops `open` there; returns what was read so far.
fn gather(mut pipe: impl Read + Send + 'static, open: mpsc::Sender<()>) -> Arc<Mutex<Vec<u8>>> {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&kept);
    thread::spawn(move || {
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
    kept
}

/// Asks watchman where its server listens; it starts one if there is none.
///
/// # Errors
/// Why that is not known.
pub fn watchman_socket(interrupt: &Interrupt, limit: Duration) -> Result<Vec<u8>, Malformed> {
    let mut command = Command::new("watchman");
    command
        .args(["--no-pretty", "get-sockname"])
        // It has to be the server of the user's own.
        .env_remove("WATCHMAN_SOCK")
        .env_remove("WATCHMAN_CONFIG_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    match run(&mut command, interrupt, limit, None) {
        Ok(end) if end.status.success() => Ok(end.stdout),
        Ok(_) => Err("'watchman get-sockname' failed".into()),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Err("it is not installed".into()),
        Err(why) => Err(why.to_string().into()),
    }
}

/// Runs a database command in the system's shell, with files as stdin and stdout. The caller holds
/// a shield.
///
/// # Errors
/// As [`Children::shell`].
pub fn database_command(interrupt: &Interrupt, fed: FedCommand<'_>) -> Result<CommandEnd> {
    let or_nothing = |file: Option<std::fs::File>| file.map_or_else(Stdio::null, Stdio::from);
    let mut command = shell_command(OsStr::new(fed.line));
    command
        .current_dir(fed.dir)
        .stdin(or_nothing(fed.stdin))
        .stdout(or_nothing(fed.stdout))
        .stderr(fed.stderr);
    run_to_end(&mut command, Path::new("the shell"), interrupt)
}

/// Settings of git at a remote: nothing that a project or a template may bring, nothing that goes on
/// afterwards. What is fetched is checked and flushed by us; a server flushes by its own settings.
const REMOTE_SETTINGS: &str = "core.alternateRefsPrefixes=refs/none core.fsync=none \
    core.hooksPath=/dev/null core.fsmonitor=false core.useReplaceRefs=true \
    fetch.fsckObjects=false fetch.unpackLimit=1 fetch.writeCommitGraph=false gc.auto=0 \
    maintenance.auto=false push.gpgSign=false transfer.fsckObjects=false transfer.unpackLimit=1";

/// Runs git at a remote, with the user's own settings and keys. Without a terminal it asks nothing.
/// The caller holds a shield.
///
/// # Errors
/// Git cannot be started or takes too long, or a signal came; it has ended then.
pub fn git(interrupt: &Interrupt, asked: &GitCommand<'_>) -> Result<GitEnd> {
    let may_ask = asked.may_ask && std::io::stdin().is_terminal();
    let started = Instant::now();
    let mut command = remote_git(asked, may_ask);
    let end = run(&mut command, interrupt, asked.limit, None);
    let end = end.map_err(|why| match why.kind() {
        std::io::ErrorKind::NotFound => git_missing(),
        _ => Error::io("start", Path::new("git"))(why),
    })?;
    interrupt.check()?;
    if !may_ask && end.status.code() == Some(NO_PROGRAM) {
        return Err(git_missing());
    }
    if started.elapsed() >= asked.limit && !end.status.success() {
        let what = format!("git did not end within {} s", asked.limit.as_secs());
        let next = "nothing was changed here; '--timeout SECONDS' gives it more time";
        return Err(Error::new(Code::GIT_TOO_SLOW, what).advise(next));
    }
    let mut stderr = String::from_utf8_lossy(&end.stderr).into_owned();
    if let CommandEnd::Signal(signal) = ended(end.status) {
        stderr.push_str(&format!("\ngit died of signal {signal}"));
    }
    Ok(GitEnd {
        is_success: end.status.success(),
        stdout: String::from_utf8_lossy(&end.stdout).into_owned(),
        stderr,
    })
}

fn git_missing() -> Error {
    let what = "there is no git on PATH, which alone reaches remotes; nothing was changed";
    Error::new(Code::GIT_MISSING, what)
        .advise("install git, or carry a file: 'checkpoint export -o FILE' needs none")
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
    for setting in REMOTE_SETTINGS.split(' ') {
        command.args(["-c", setting]);
    }
    // Settings in the environment are the user's own; a repository there is another.
    let places = GIT_PLACES.split(' ');
    for name in places.filter(|name| !name.starts_with("GIT_CONFIG")) {
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
        if cfg!(unix) {
            command.stdin(Stdio::piped());
        }
        lead_group(&mut command);
    }
    command
}

/// Runs the user's command line in the system's shell with `input` as stdin, and returns what it
/// wrote to stdout within the limit; then it is killed.
///
/// # Errors
/// The shell cannot be started.
pub fn filtered(line: &OsStr, input: Vec<u8>, limit: Duration) -> std::io::Result<Vec<u8>> {
    let mut command = shell_command(line);
    lead_group(&mut command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Ok(run(&mut command, &Interrupt::default(), limit, Some(input))?.stdout)
}

/// Starts this program for a reader: it reads its command from a pipe, since other users see the words
/// of every program, and writes its answer to another. It ends if what is returned is dropped.
///
/// # Errors
/// The system does not tell which file this program is, or cannot start it.
#[cfg(feature = "ui")]
pub fn this_program(words: &[OsString]) -> std::io::Result<tokio::process::Child> {
    tokio::process::Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
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

/// Lets a child lead a group, so that what it starts ends with it.
fn lead_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Stops this process if a child has stopped by itself and stays so: the shell that waits for us is to
/// notice. Both go on together.
#[cfg(unix)]
fn stop_with(child: &mut Child) {
    use crate::shell::signals;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
    /// Time in which what stopped both of us, or lets both go on, reaches both.
    const MOMENT: Duration = Duration::from_millis(20);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let is_stopped =
        || pid.is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))));
    let stays = || {
        thread::sleep(MOMENT);
        is_stopped()
    };
    if is_stopped() && stays() && stays() {
        signals::stop();
        let _ = pass_on(child, Signal::CONT.as_raw());
    }
}

#[cfg(not(unix))]
fn stop_with(_: &mut Child) {}

/// Signals a child, and what it started if it leads a group.
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
