//! The program: the arguments go to the command line's front-end, its exit code to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "mcp")]
    let serve = Some(checkpoint::mcp::serve as checkpoint::shell::command_context::Serve);
    #[cfg(not(feature = "mcp"))]
    let serve = None;
    checkpoint::cli::entry::run(std::env::args_os(), serve)
}
