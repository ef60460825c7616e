//! The program at a terminal, made by `script` of util-linux.

use std::path::Path;
use std::process::Command;

use super::{Run, Sandbox, limit};

const PROGRAM: &str = "/usr/bin/script";

/// Runs a shell command line, in which `$checkpoint` is the program, at a terminal. Its output is
/// in `stdout`, without the carriage returns that a terminal adds, and meanwhile in the file
/// `$typescript`. `None`, with a printed line, where no terminal is available.
pub fn at_a_terminal(sandbox: &Sandbox, line: &str) -> Option<Run> {
    with_keyboard(sandbox, ":", line)
}

/// The same, with the output of the shell command line `typing` typed at the terminal.
pub fn with_keyboard(sandbox: &Sandbox, typing: &str, line: &str) -> Option<Run> {
    let version = limit::output(Command::new(PROGRAM).arg("--version"));
    if !Path::new(PROGRAM).is_file()
        || !version.is_ok_and(|told| told.stdout.starts_with(b"script from util-linux"))
    {
        super::skipped("needs script of util-linux");
        return None;
    }
    let typescript = sandbox.top().join("typescript");
    let pipe = format!("{{ {typing}\n}} | exec {PROGRAM} -qefc \"$line\" \"$typescript\"");
    let mut command = sandbox.command(&["/bin/sh"], &[]);
    command
        .env("checkpoint", Sandbox::binary())
        .env("TERM", "xterm")
        .env("typescript", typescript)
        .env("line", line);
    let mut at_it = Command::new("/bin/sh");
    at_it
        .args(["-c", &pipe])
        .env_clear()
        .current_dir(command.get_current_dir().expect("a directory"));
    for (name, value) in command.get_envs() {
        at_it.env(name, value.expect("a value"));
    }
    let mut run = Run::of(at_it);
    run.stdout = run.stdout.replace("\r\n", "\n");
    Some(run)
}

/// Answers the questions of a command: each answer is typed once its question is shown, for a
/// repeated question only once it is asked again; one that is not asked fails the test. After the
/// last one the input ends. `printf` reads an answer, so `y\ ` is a line.
pub fn dialogue(sandbox: &Sandbox, line: &str, answers: &[(&str, &str)]) -> Option<Run> {
    let mut typing = ":\n".to_owned();
    for (at, (question, answer)) in answers.iter().enumerate() {
        let times = answers[..=at]
            .iter()
            .filter(|(other, _)| other == question)
            .count();
        let is_asked = format!(
            "[ \"$(grep -oF -- '{question}' \"$typescript\" | wc -l)\" -ge {times} ] 2>/dev/null"
        );
        typing.push_str(&format!(
            "tries=0; until {is_asked}; do sleep 0.05; tries=$((tries+1)); [ $tries -lt 400 ] || \
             {{ echo '{question}' >>\"$typescript.unasked\"; break; }}; done 2>/dev/null\n\
             printf '{answer}'\n"
        ));
    }
    sandbox.env("NO_COLOR", "1");
    // Output of an earlier dialogue answers nothing here.
    super::fixtures::remove(&sandbox.top().join("typescript"));
    let unasked = sandbox.top().join("typescript.unasked");
    super::fixtures::remove(&unasked);
    let mut run = with_keyboard(sandbox, &typing, &format!("{line}; echo code $?"))?;
    if let Ok(question) = std::fs::read_to_string(unasked) {
        panic!("never asked: {question}{run}");
    }
    let code = run
        .stdout
        .trim_end()
        .rsplit("code ")
        .next()
        .and_then(|code| code.parse().ok());
    run.code = code.unwrap_or_else(|| panic!("no exit code was shown\n{run}"));
    Some(run)
}

/// Types answers to a command, each once it waits at the end of a line; then the input ends.
pub fn typed(sandbox: &Sandbox, command: &str, answers: &[&str]) -> Option<Run> {
    let waits = "tries=0; until [ \"$(tail -c1 \"$typescript\")\" = ' ' ] \
                 || [ $tries -ge 400 ]; do sleep 0.05; tries=$((tries+1)); done 2>/dev/null";
    let typing = answers
        .iter()
        .map(|answer| format!("{waits}\nprintf '%s\\n' '{answer}'; sleep 0.2\n"));
    let typing: String = [":\n".to_owned()].into_iter().chain(typing).collect();
    sandbox.env("NO_COLOR", "1");
    super::fixtures::remove(&sandbox.top().join("typescript"));
    // A progress line, where the disk is slow, is no part of an answer.
    let line =
        format!("TERM=dumb $checkpoint {command}; code=$?; [ $code = 0 ] || echo exit $code");
    with_keyboard(sandbox, &typing, &line)
}
