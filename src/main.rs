//! The program: the arguments go to the command line's front-end, its exit code to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    checkpoint::cli::entry::run(std::env::args_os())
}
