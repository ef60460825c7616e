//! The program at a terminal, made by `script` of util-linux.

use std::path::Path;
use std::process::Command;

use super::{Run, Sandbox};

const PROGRAM: &str = "/usr/bin/script";

/// Runs a shell command line in which `$checkpoint` is the program, at a terminal; what it shows is in `stdout`, without
/// the carriage returns that a terminal adds. `None`, with a printed line, where no terminal can be made.
pub fn at_a_terminal(sandbox: &Sandbox, line: &str) -> Option<Run> {
    let version = Command::new(PROGRAM).arg("--version").output();
    if !Path::new(PROGRAM).is_file() || !version.is_ok_and(|told| told.stdout.starts_with(b"script from util-linux")) {
        super::skipped("needs script of util-linux");
        return None;
    }
    let mut command = sandbox.command(&["/usr/bin/env"], &[]);
    command.env("checkpoint", Sandbox::binary()).env("TERM", "xterm");
    let mut at_it = Command::new(PROGRAM);
    at_it.args(["-qec", line, "/dev/null"]).env_clear().current_dir(command.get_current_dir().expect("a directory"));
    for (name, value) in command.get_envs() {
        at_it.env(name, value.expect("a value"));
    }
    let mut run = Run::of(at_it);
    run.stdout = run.stdout.replace("\r\n", "\n");
    Some(run)
}
