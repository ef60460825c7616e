//! The tracer: counts started programs, and kills or disturbs a run at a chosen system call.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Run, Sandbox, limit, os};

const PROGRAM: &str = "/usr/bin/strace";

/// Whether a process can be traced here; prints a line if not.
pub fn available() -> bool {
    let calm = "-f --seccomp-bpf -qq -e trace=execve -o /dev/null /bin/true";
    let works = Path::new(PROGRAM).is_file()
        && limit::output(Command::new(PROGRAM).args(calm.split(' ')))
            .is_ok_and(|run| run.status.success() && run.stderr.is_empty());
    if !works {
        super::skipped("needs strace");
    }
    works
}

/// Runs the program; returns its result and each call that starts a program (its own start
/// included), makes a process or uses the network.
pub fn reaching_out(sandbox: &Sandbox, args: &[&str]) -> (Run, Vec<String>) {
    const CALLS: &str = "trace=execve,execveat,?fork,?vfork,clone,?clone3,%network";
    let log = log_file(sandbox);
    let log_name = log.display().to_string();
    let run = sandbox.run_under(
        &[
            PROGRAM,
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-e",
            CALLS,
            "-o",
            &log_name,
        ],
        args,
    );
    let text = std::fs::read_to_string(&log).expect("the tracer wrote its log");
    let is_call = |line: &&str| line.contains('(') && !line.contains("CLONE_THREAD");
    (
        run,
        text.lines().filter(is_call).map(str::to_owned).collect(),
    )
}

/// A command with what is injected into these system calls, such as `delay_enter=300000:when=2`.
pub fn command(sandbox: &Sandbox, calls: &str, what: &str, args: &[&str]) -> Command {
    limited(sandbox, None, calls, what, args)
}

/// The same at calls that name a path, or a file in this directory by its descriptor; at all without one.
fn limited(
    sandbox: &Sandbox,
    path: Option<&Path>,
    calls: &str,
    what: &str,
    args: &[&str],
) -> Command {
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let (log, path) = (text(&log_file(sandbox)), path.map(text));
    let [trace, inject] = [format!("trace={calls}"), format!("inject={calls}:{what}")];
    let mut words = vec![PROGRAM, "-f", "-qq", "-o", &log];
    // At no other calls than those traced it stops only where it sends no signal.
    words.extend((!what.starts_with("signal=")).then_some("--seccomp-bpf"));
    words.extend(path.iter().flat_map(|path| ["-P", path]));
    words.extend(["-e", &trace, "-e", &inject]);
    sandbox.command(&words, args)
}

/// Runs the program and kills it when it enters the `nth` of these system calls.
pub fn kill_at(sandbox: &Sandbox, calls: &str, nth: usize, args: &[&str]) -> Run {
    let log = log_file(sandbox);
    let words = holding(&log, calls, nth);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    killed(sandbox.command(&words, args), &log, nth)
}

/// Words of the tracer that hold back the `nth` of these calls of a thread, for [`killed`]. It stops at
/// no others, which is several times as fast as to send a signal.
pub fn holding(log: &Path, calls: &str, nth: usize) -> Vec<String> {
    let line = format!(
        "{PROGRAM} -f --seccomp-bpf -qq -e trace={calls} -e inject={calls}:delay_enter=1000000:when={nth} -o"
    );
    let words = line.split(' ').map(str::to_owned);
    words.chain([log.display().to_string()]).collect()
}

/// Runs a command behind [`holding`], and kills the process whose call is held back.
pub fn killed(mut command: Command, log: &Path, nth: usize) -> Run {
    let _ = std::fs::remove_file(log);
    let shown_command = format!("{command:?}");
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let child = piped.stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("cannot start {shown_command}: {error}"));
    let (tracer, log) = (child.id(), log.to_path_buf());
    std::thread::spawn(move || {
        while Path::new(&format!("/proc/{tracer}")).exists() {
            let Some(pid) = held_back(&log, nth) else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let is_all = is_all_there_is(pid, tracer);
            os::kill(pid);
            if is_all {
                os::kill(tracer);
            }
            break;
        }
    });
    Run::ended(shown_command, child)
}

/// Returns the thread that makes its `nth` call.
fn held_back(log: &Path, nth: usize) -> Option<u32> {
    let log = std::fs::read(log).unwrap_or_default();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let text = String::from_utf8_lossy(&log);
    text.lines().find_map(|line| {
        let (call, _) = line.split_once('(')?;
        let count = counts.entry(call).or_default();
        *count += 1;
        let is_it = *count == nth && !call.contains('<');
        is_it.then(|| call.split(' ').next()?.parse().ok())?
    })
}

/// Whether this is the program that the tracer started, and no child of it goes on.
fn is_all_there_is(pid: u32, tracer: u32) -> bool {
    let of_process = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let has_no_child = |thread: std::fs::DirEntry| {
        std::fs::read(thread.path().join("children")).is_ok_and(|children| children.is_empty())
    };
    of_process("status").is_ok_and(|status| status.contains(&format!("\nPPid:\t{tracer}\n")))
        && threads.is_ok_and(|threads| threads.flatten().all(has_no_child))
}

fn log_file(sandbox: &Sandbox) -> PathBuf {
    sandbox.top().join("strace.log")
}

/// Runs the program with a pause before each of these system calls.
pub fn slowed(sandbox: &Sandbox, calls: &str, micros: u64, args: &[&str]) -> Run {
    Run::of(limited(
        sandbox,
        None,
        calls,
        &format!("delay_enter={micros}"),
        args,
    ))
}

/// Runs the program and lets the `nth` and all later ones of these system calls fail with an error.
pub fn failing_from(sandbox: &Sandbox, calls: &str, error: &str, nth: usize, args: &[&str]) -> Run {
    let what = format!("error={error}:when={nth}+");
    Run::of(limited(sandbox, None, calls, &what, args))
}

/// Runs the program and lets only the `nth` of these system calls fail with an error.
pub fn failing_nth(sandbox: &Sandbox, calls: &str, error: &str, nth: usize, args: &[&str]) -> Run {
    let what = format!("error={error}:when={nth}");
    Run::of(limited(sandbox, None, calls, &what, args))
}

/// Runs the program; each thread writes a wrong first byte by its `nth` call of `write`.
pub fn corrupting_write(sandbox: &Sandbox, nth: usize, args: &[&str]) -> Run {
    let what = format!("poke_enter=@arg2=00:when={nth}");
    Run::of(limited(sandbox, None, "write", &what, args))
}

/// Runs the program and sends it a signal when it enters the `nth` of these system calls.
pub fn signal_at(sandbox: &Sandbox, calls: &str, signal: &str, nth: usize, args: &[&str]) -> Run {
    let what = format!("signal={signal}:when={nth}");
    Run::of(limited(sandbox, None, calls, &what, args))
}

/// The same, but only for calls that name this path, or a file in this directory by its descriptor.
pub fn signal_at_path(
    sandbox: &Sandbox,
    path: &Path,
    calls: &str,
    signal: &str,
    nth: usize,
    args: &[&str],
) -> Run {
    let what = format!("signal={signal}:when={nth}");
    Run::of(limited(sandbox, Some(path), calls, &what, args))
}

/// Lets calls fail that name this path, or a file in this directory by its descriptor. `when`
/// selects them as the tracer does: `2` is the second alone, `2+` all from the second on.
pub fn failing_at_path(
    sandbox: &Sandbox,
    path: &Path,
    calls: &str,
    error: &str,
    when: &str,
    args: &[&str],
) -> Run {
    let what = format!("error={error}:when={when}");
    Run::of(limited(sandbox, Some(path), calls, &what, args))
}

/// Whether a call failed as injected in the last run; otherwise there is nothing more to try.
pub fn has_struck(sandbox: &Sandbox) -> bool {
    let log = std::fs::read(log_file(sandbox)).expect("the tracer wrote its log");
    String::from_utf8_lossy(&log).contains("(INJECTED)")
}

/// How many of its calls the last run made.
pub fn traced(sandbox: &Sandbox) -> usize {
    let log = std::fs::read(log_file(sandbox)).expect("the tracer wrote its log");
    log.split(|byte| *byte == b'\n')
        .filter(|line| line.contains(&b'('))
        .count()
}
