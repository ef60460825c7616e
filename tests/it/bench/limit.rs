//! A time limit for each child: one that hangs is killed and fails its test, instead of blocking
//! all others.

use std::io::{self, Write as _};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Upper bound on any command of the tests.
pub const LIMIT: Duration = Duration::from_mins(5);
/// Upper bound on the time a killed child takes to close its pipes.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs a command to its end with nothing on its standard input.
///
/// # Errors
/// It cannot be started.
#[track_caller]
pub fn output(command: &mut Command) -> io::Result<Output> {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(output_of(&format!("{command:?}"), child))
}

/// The same with `input` on its standard input, as far as it reads that.
///
/// # Errors
/// It cannot be started.
#[track_caller]
pub fn output_fed(command: &mut Command, input: &[u8]) -> io::Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (mut pipe, input) = (child.stdin.take().expect("it is piped"), input.to_vec());
    std::thread::spawn(move || pipe.write_all(&input));
    Ok(output_of(&format!("{command:?}"), child))
}

/// Waits for the end of a child that is already started; returns what it wrote to pipes.
#[track_caller]
pub fn output_of(shown_command: &str, child: Child) -> Output {
    output_within(LIMIT, shown_command, child)
}

#[track_caller]
fn output_within(limit: Duration, shown_command: &str, child: Child) -> Output {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    if let Ok(output) = receiver.recv_timeout(limit) {
        return output.expect("the output of a child can be read");
    }
    super::os::kill(pid);
    let so_far = match receiver.recv_timeout(LAST_WORDS) {
        Ok(Ok(output)) => [output.stdout, output.stderr].concat(),
        _ => b"(not to be had: a child of it keeps its pipes open)".to_vec(),
    };
    panic!(
        "{shown_command} did not end within {limit:?}, and said:\n{}",
        String::from_utf8_lossy(&so_far)
    );
}

#[cfg(unix)]
#[test]
#[should_panic(expected = "said:\nbegun\n")]
fn a_child_that_hangs_fails_its_test_with_what_it_said() {
    let mut hanging = Command::new("/bin/sh");
    hanging
        .args(["-c", "echo begun; exec sleep 60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = hanging.spawn().expect("a shell can be started");
    output_within(Duration::from_millis(500), "a command that hangs", child);
}

#[test]
fn no_test_waits_for_a_child_without_a_limit() {
    const UNLIMITED: [&str; 4] = [".wait_with_output(", ".wait()", ".output()", ".status()."];
    let tests = crate::source::package().join("tests");
    let files = ["it", "siege"].map(|suite| super::fixtures::files_below(&tests.join(suite)));
    let is_source =
        |path: &std::path::PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    for path in files
        .into_iter()
        .flatten()
        .filter(|path| is_source(path) && !path.ends_with(file!()))
    {
        let text = std::fs::read_to_string(&path).expect("the source can be read");
        let found = UNLIMITED.iter().find(|words| text.contains(**words));
        assert!(
            found.is_none(),
            "{}: {found:?} goes on for ever if the child does; see bench/limit.rs",
            path.display()
        );
    }
}
