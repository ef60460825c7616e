//! `statusline`: one line about the store, and never a failure.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::panic;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use crate::agent::dialect::read;
use crate::agent::event_place::NamedDirs;
use crate::agent::glance::{self, Glance};
use crate::cli::command_context::{self, CommandContext};
use crate::cli::commands::{AnyCommand, OtherCommand};
use crate::cli::global::GlobalArgs;
use crate::cli::run::RunAnywhere;
use crate::cli::terminal::printer;
use crate::cli::{child, environment, exit_code, parse, signals};
use crate::config::environment::Environment;
use crate::config::settings::OwnFile;
use crate::error::Result;
use crate::view::{envelope, glance as glance_view};

/// Print one line for the status line of Claude Code
///
/// Reads the document that Claude Code writes to standard input, and prints the number of
/// checkpoints, the age of the latest, and its reason or the phase of an unfinished workflow;
/// nothing where there is no store. Always ends with 0.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StatuslineArgs {
    /// Shell command that made the status line before; its output comes first
    #[arg(long, value_name = "COMMAND")]
    pub wrap: Option<OsString>,
}

/// Upper bound on the document of Claude Code in bytes; a larger one names no directory.
const LARGEST_DOCUMENT: u64 = 8 << 20;
/// Time for a wrapped command; Claude Code waits for the line.
const WRAPPED_LIMIT: Duration = Duration::from_secs(1);

impl RunAnywhere for StatuslineArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        answer(cmd.global, &self.line(cmd.global));
        Ok(exit_code::DONE)
    }
}

/// Runs `statusline`; the exit code is 0 whatever happens.
pub fn run(args: &[OsString]) -> ExitCode {
    panic::set_hook(Box::new(|_| signals::end_at_once()));
    if let Ok(cli) = parse::parse(args)
        && let Some(AnyCommand::Anywhere(OtherCommand::Statusline(args))) = cli.command
    {
        answer(&cli.global, &args.line(&cli.global));
    }
    // A wrapped command may still hold its pipes.
    signals::end_at_once()
}

fn answer(global: &GlobalArgs, line: &str) {
    if global.json {
        printer::to_stdout(&envelope::text_answer("statusline", line));
    } else if !line.is_empty() {
        printer::to_stdout(&format!("{line}\n"));
    }
}

impl StatuslineArgs {
    fn line(self, global: &GlobalArgs) -> String {
        let mut document = Vec::new();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            // What was read until a failure may do.
            let _ = stdin
                .lock()
                .take(LARGEST_DOCUMENT)
                .read_to_end(&mut document);
        }
        let dirs = read::dirs(&document);
        let wrapped = self
            .wrap
            .map(|line| thread::spawn(move || child::filtered(&line, document, WRAPPED_LIMIT)));
        let found = read_store(global, &dirs);
        let ours = found.map_or_else(String::new, |(glance, now_ms)| {
            glance_view::status_line(&glance, now_ms)
        });
        let wrapped = wrapped.and_then(|thread| thread.join().ok()?.ok());
        let theirs = String::from_utf8_lossy(&wrapped.unwrap_or_default()).into_owned();
        glance_view::joined(theirs.trim_end(), &ours)
    }
}

/// Reads the store of the place that the command line or the document names, and the time.
fn read_store(global: &GlobalArgs, dirs: &NamedDirs) -> Option<(Glance, i64)> {
    let environment = environment::read();
    let mut place = command_context::place(global, &environment).ok()?;
    if !place.is_exact {
        place = dirs.places(None, &place.dir).pop()?;
    }
    let own_file = OwnFile::MayBeBad;
    let context =
        command_context::open(&place, global, environment, "statusline", own_file).ok()?;
    Some((glance::glance(&context).ok()??, context.now_ms))
}
