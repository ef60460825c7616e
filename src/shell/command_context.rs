//! The context of a command: printer, prompt and global options, with shared output helpers.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Command as Grammar;

use crate::answer::format::harmless;
use crate::answer::{Answer, Done, ErrorJson, Text, words};
use crate::base::{Interrupt, Progress};
use crate::config::Environment;
use crate::config::environment::base;
use crate::config::settings;
use crate::error::{Error, Result, exit_code};
use crate::model::TextAnswer;
use crate::model::json::Serialize;
use crate::ops::browse::diff::file_diff::LARGEST_TEXT_BYTES;
use crate::ops::context::PendingWarnings;
use crate::ops::{Context, Place, RootSearch, Warning};
use crate::shell::child::{self, Children};
use crate::shell::environment;
use crate::shell::watchman;
use crate::shell::{GlobalArgs, PagerOutput, Printer, Prompt};

/// Serves the commands to agents, in a directory and others that are allowed.
pub type Serve = fn(&CommandContext<'_>, Environment, Option<&Path>, &[PathBuf]) -> Result<u8>;

/// Serves the page of a directory to the user's browser; calls back with its address and the root.
pub type ServePage =
    fn(&CommandContext<'_>, Environment, &PageOptions, &dyn Fn(&str, &Path)) -> Result<u8>;

/// How the page of a directory is served.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// `None` for any that is free.
    pub port: Option<u16>,
    /// Whether the browser is opened, if there is a terminal.
    pub opens: bool,
    pub may_change: bool,
    /// Time without a page after which the server ends; `None` for never.
    pub idle: Option<Duration>,
    /// Whether one command of a server is answered in its place.
    pub is_reader: bool,
}

/// Makes a page that needs no server of checkpoints, by their ids, newest first; `--base` is given.
pub type MakeReport = fn(&Context, Option<&Path>, &[String]) -> Result<ReportPage>;

/// A page with its data inside.
#[derive(Clone, Debug)]
pub struct ReportPage {
    pub html: String,
    pub checkpoint_count: usize,
    pub patch_count: usize,
    pub patch_bytes: u64,
    /// How many patches were too large.
    pub left_out_count: usize,
}

/// What the layers above the commands add; each is `None` in a program without its feature.
#[derive(Clone, Copy, Debug, Default)]
pub struct Services {
    pub mcp: Option<Serve>,
    pub page: Option<ServePage>,
    pub report: Option<MakeReport>,
}

/// Context of a command.
pub struct CommandContext<'g> {
    /// Name in the JSON schema.
    pub name: &'static str,
    pub printer: Printer,
    pub prompt: Prompt,
    pub global: &'g GlobalArgs,
    /// The whole command line, beginning with the program name.
    pub words: &'g [OsString],
    /// Grammar of all commands.
    pub grammar: fn() -> Grammar,
    pub services: Services,
    pub started: Instant,
    /// Whether warnings about settings were shown already.
    pub warned_of_settings: Cell<bool>,
    /// Where parts of the answer were written to already.
    pub pages: RefCell<Option<PagerOutput>>,
}

impl CommandContext<'_> {
    /// Prints an answer as JSON or as text; returns its exit code.
    pub fn print<A: Text>(&self, context: &Context, done: &Done<A>) -> u8 {
        let (answer, warnings, error) = (&done.answer, &done.warnings, done.error.as_ref());
        if self.printer.json {
            self.document(done.exit, answer, warnings, error);
            self.warn_late(warnings);
        } else {
            let mut out = self.printer.out(context);
            answer.write(&mut out);
            if self.pages.borrow().is_some() {
                let rest = harmless(&out.result, self.printer.out_paint());
                let _ = self.page(context, rest.as_bytes());
                self.close_pages();
            } else {
                self.printer.result(&out.result);
            }
            self.printer.failure(&out.remark);
            self.printer.talk(&out.talk);
            self.warn(warnings);
        }
        let failures = answer.failures(self.printer.err_paint());
        self.printer.failure(&failures);
        if let Some(error) = error {
            self.printer.error(error);
        }
        done.exit
    }

    /// Prints an answer as JSON.
    pub fn document<D: Serialize>(
        &self,
        exit: u8,
        data: &D,
        warnings: &[Warning],
        error: Option<&Error>,
    ) {
        let place = &self.printer.place;
        let error = error.map(|error| ErrorJson::new(error, None, place));
        let told = (warnings, &**place);
        let answer = Answer::new(self.name, exit, Some(data), error, told);
        self.printer.document(&answer);
    }

    /// Writes a part of the text of an answer before the rest, through a pager on a terminal; breaks
    /// if the reader is gone.
    pub fn page(&self, context: &Context, part: &[u8]) -> ControlFlow<()> {
        let pager = context.environment.pager.as_deref();
        let start = || PagerOutput::new(self.printer.clone(), pager, &context.interrupt);
        let mut opened = self.pages.borrow_mut();
        opened.get_or_insert_with(start).write(part)
    }

    /// Waits until the user closes the pager.
    pub fn close_pages(&self) {
        drop(self.pages.take());
    }

    /// Prints an answer that is one text, perhaps a script.
    pub fn print_text(&self, text: &str) {
        if self.printer.json {
            let text = text.to_owned();
            self.document(exit_code::DONE, &TextAnswer { text }, &[], None);
        } else {
            self.printer.data(text);
        }
    }

    pub fn warn(&self, warnings: &[Warning]) {
        let (place, paint) = (&self.printer.place, self.printer.err_paint());
        for warning in warnings {
            if matches!(warning, Warning::Config { .. }) {
                self.warned_of_settings.set(true);
            }
            self.printer.talk(&words::warning(warning, place, paint));
        }
    }

    /// Prints and returns warnings that have no place in the answer, or that remain after a failure.
    pub fn print_pending_warnings(&self, context: &Context) -> Vec<Warning> {
        let pending = context.pending_warnings.take();
        for warning in &pending {
            self.printer.warning(warning);
        }
        pending
    }

    /// Prints warnings that arose after the JSON document was written.
    pub fn warn_late(&self, warnings: &[Warning]) {
        let is_late = |warning: &&Warning| self.printer.json && warning.is_late();
        for warning in warnings.iter().filter(is_late) {
            self.printer.warning(warning);
        }
    }

    /// Asks a question; `summary` is what would be done, for a refusal.
    pub fn ask(&self, context: &Context, summary: &str, question: &str) -> Result<()> {
        let question = format!("{question} [y/N] ");
        self.prompt.ask(&context.interrupt, summary, &question)
    }

    /// Returns how this command starts other programs.
    pub fn children<'i>(&self, context: &'i Context) -> Children<'i> {
        let may_read_stdin = !self.global.json && !self.global.no_input;
        Children {
            interrupt: &context.interrupt,
            may_read_stdin,
        }
    }
}

/// Returns where a command acts.
///
/// # Errors
/// The current directory is gone, and `PWD` does not name it.
pub fn place(global: &GlobalArgs, environment: &Environment) -> Result<Place> {
    let dir = environment::directory(global.dir.as_deref(), environment)?;
    let is_exact = global.dir.is_some() || global.here;
    Ok(Place { dir, is_exact })
}

/// Makes the context of an operation; the environment is read once, here.
///
/// # Errors
/// The directory is refused or missing, or the settings are bad.
pub fn open(
    place: &Place,
    global: &GlobalArgs,
    environment: Environment,
    command: &str,
) -> Result<Context> {
    let base = environment::absolute(&base(global.base.as_deref(), &environment)?)?;
    let home = environment.home.as_deref();
    let root = RootSearch { base: &base, home }.find(place)?;
    Ok(Context {
        settings: settings::load(root.path(), &environment),
        root,
        base,
        environment,
        now_ms: environment::now_ms()?,
        lock_wait: Duration::from_secs(global.lock_timeout),
        interrupt: Interrupt::default(),
        progress: Progress::default(),
        largest_text_bytes: LARGEST_TEXT_BYTES,
        run_database_command: child::database_command,
        run_git: child::git,
        ask_monitor: watchman::changes,
        holder: environment::holder(command),
        pending_warnings: PendingWarnings::default(),
        workflows: crate::workflow::port::PORT,
        input: None,
        is_named: place.is_exact,
    })
}
