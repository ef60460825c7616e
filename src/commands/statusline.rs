//! `statusline`: one line about the store, and never a failure.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::thread;
use std::time::Duration;

use crate::agent::{NamedDirs, dialect};
use crate::answer::Answer;
use crate::answer::place::PlaceWords;
use crate::commands::prelude::*;
use crate::commands::status::brief_line;
use crate::model::TextAnswer;
use crate::ops::browse::status::status;
use crate::shell::terminal::printer;
use crate::shell::{GlobalArgs, Printer, child, command_context};
use crate::workflow::Runs;

/// Print one line for the status line of Claude Code
///
/// Reads the document that Claude Code writes to standard input, and prints the number of
/// checkpoints, the latest with its reason and age, and the phase of an unfinished workflow; nothing
/// where there is no store. Always ends with 0.
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
    fn run(self, cmd: &mut CommandContext<'_>, _: Environment) -> Result<u8> {
        self.answer(cmd.global);
        Ok(exit_code::DONE)
    }
}

impl StatuslineArgs {
    pub fn answer(self, global: &GlobalArgs) {
        let line = self.line(global);
        if global.json {
            let text = TextAnswer { text: line };
            let place = PlaceWords::default();
            let answer = Answer::new("statusline", 0, Some(&text), None, (&[], &place));
            Printer::for_a_program(true, None).document(&answer);
        } else if !line.is_empty() {
            printer::to_stdout(&format!("{line}\n"));
        }
    }

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
        let dirs = dialect::dirs(&document);
        let wrapped = self
            .wrap
            .map(|line| thread::spawn(move || child::filtered(&line, document, WRAPPED_LIMIT)));
        let ours = read_store(global, &dirs).unwrap_or_default();
        let wrapped = wrapped.and_then(|thread| thread.join().ok()?.ok());
        let theirs = String::from_utf8_lossy(&wrapped.unwrap_or_default()).into_owned();
        let theirs = theirs.trim_end();
        // What another command printed may have colours.
        let is_coloured = theirs.contains('\u{1b}');
        let end = if is_coloured { "\u{1b}[0m" } else { "" };
        if theirs.is_empty() || ours.is_empty() {
            return format!("{theirs}{ours}");
        }
        format!("{theirs}{end} | {ours}")
    }
}

/// Reads the store of the place that the command line or the document names.
fn read_store(global: &GlobalArgs, dirs: &NamedDirs) -> Option<String> {
    let environment = environment::read();
    let mut place = command_context::place(global, &environment).ok()?;
    if !place.is_exact {
        place = dirs.places(None, &place.dir).pop()?;
    }
    let context = command_context::open(&place, global, environment, "statusline");
    let context = context.ok()?;
    let runs = Runs::open(&context.find_store().ok()??).ok()?;
    let (outcome, _) = status(&context, true).ok()?;
    let line = brief_line(&outcome, runs.first(), context.now_ms);
    Some(line.trim_end().to_owned())
}
