//! The program: the arguments go to the command line's front-end, its exit code to the system.

use std::process::ExitCode;

use checkpoint::shell::command_context::Services;

fn main() -> ExitCode {
    let services = Services {
        #[cfg(feature = "mcp")]
        mcp: Some(checkpoint::mcp::serve),
        #[cfg(not(feature = "mcp"))]
        mcp: None,
        #[cfg(feature = "ui")]
        page: Some(checkpoint::ui::serve),
        #[cfg(feature = "ui")]
        report: Some(checkpoint::ui::report::make),
        #[cfg(not(feature = "ui"))]
        page: None,
        #[cfg(not(feature = "ui"))]
        report: None,
    };
    checkpoint::cli::entry::run(std::env::args_os(), services)
}
