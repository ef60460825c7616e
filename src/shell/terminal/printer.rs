//! The only file that prints. Results go to stdout, talk to stderr; a closed pipe is no failure.
//!
//! Text for a terminal is escaped; only the user's own data are printed as they are.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::OnceLock;

use crate::answer::format::{Escaper, Paint, harmless};
use crate::answer::place::PlaceWords;
use crate::answer::{Out, words};
use crate::base::json::{self, Serialize};
use crate::config::{ColorChoice, Environment};
use crate::error::Error;
use crate::ops::{Context, Warning};
use crate::shell::terminal::progress;
use crate::shell::{Color, GlobalArgs, Showing};

/// Columns and rows of a terminal that does not tell its own.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// What is printed, and with which colours; decided once.
#[expect(clippy::struct_excessive_bools, reason = "each is asked alone")]
#[derive(Clone, Debug)]
pub struct Printer {
    pub json: bool,
    pub quiet: bool,
    out_paint: Paint,
    err_paint: Paint,
    out_is_terminal: bool,
    is_dumb: bool,
    /// What advice depends on.
    pub place: Rc<PlaceWords>,
    /// What is not printed, but kept for a program.
    kept: Option<AnswerBuffer>,
}

/// What a command would have printed to stdout.
pub type AnswerBuffer = Rc<RefCell<Vec<u8>>>;

impl Printer {
    pub fn new(global: &GlobalArgs, environment: &Environment) -> Self {
        let out_is_terminal = io::stdout().is_terminal();
        let coloured = |is_terminal: bool| match (global.color, environment.color) {
            (Color::Always, _) | (Color::Auto, ColorChoice::Always(_)) => true,
            (Color::Never, _) | (Color::Auto, ColorChoice::Never) => false,
            (Color::Auto, ColorChoice::Auto) => is_terminal && !environment.is_dumb,
        };
        Self {
            quiet: global.quiet,
            out_paint: Paint {
                enabled: coloured(out_is_terminal) && !global.json,
            },
            err_paint: Paint {
                enabled: coloured(io::stderr().is_terminal()),
            },
            out_is_terminal,
            is_dumb: environment.is_dumb,
            ..Self::for_a_program(global.json, None)
        }
    }

    /// Prints results alone, for a program, or keeps them.
    pub fn for_a_program(json: bool, kept: Option<AnswerBuffer>) -> Self {
        Self {
            json,
            quiet: true,
            out_paint: Paint::default(),
            err_paint: Paint::default(),
            out_is_terminal: false,
            is_dumb: true,
            place: Rc::default(),
            kept,
        }
    }

    /// Whether results go to a terminal.
    pub fn for_a_person(&self) -> bool {
        self.out_is_terminal
    }

    /// Whether results go to a terminal that a pager can use.
    pub fn can_page(&self) -> bool {
        self.out_is_terminal && !self.is_dumb && !self.json
    }

    /// Whether talk goes to a terminal and is not silenced.
    pub fn talks_to_a_person(&self) -> bool {
        !self.quiet && !self.json && io::stderr().is_terminal()
    }

    /// Returns an empty text for an answer.
    pub fn out<'c>(&'c self, context: &'c Context) -> Out<'c> {
        Out {
            result: String::new(),
            remark: String::new(),
            talk: String::new(),
            paint: self.out_paint,
            talk_paint: self.err_paint,
            is_for_a_person: self.out_is_terminal,
            columns: self.columns(),
            context,
            place: &self.place,
        }
    }

    /// Width of the terminal to which results go; a pipe has no end.
    pub fn columns(&self) -> usize {
        let width = || size_of(&io::stdout()).0;
        self.out_is_terminal.then(width).unwrap_or(usize::MAX)
    }

    pub fn out_paint(&self) -> Paint {
        self.out_paint
    }

    pub fn err_paint(&self) -> Paint {
        self.err_paint
    }

    pub fn result(&self, text: &str) {
        self.write(&harmless(text, self.out_paint));
    }

    /// Prints an answer as JSON.
    pub fn document(&self, answer: &impl Serialize) {
        let document = json::document(answer, false);
        if self.kept.is_some() {
            let _ = self.bytes(document.as_bytes());
        } else {
            self.result(&document);
        }
    }

    fn write(&self, text: &str) {
        progress::note_answer();
        let _ = note_lost(self.bytes(text.as_bytes()));
    }

    /// Prints user data or a script: escaped on a terminal, else unchanged.
    pub fn data(&self, text: &str) {
        if self.out_is_terminal {
            self.result(text);
        } else {
            self.write(text);
        }
    }

    /// Prints a result that may be binary.
    ///
    /// # Errors
    /// The reader is gone, or the write failed.
    pub fn bytes(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(kept) = &self.kept {
            kept.borrow_mut().extend_from_slice(bytes);
            return Ok(());
        }
        write_out(bytes)
    }

    /// Prints a part of a result that may be binary; breaks if no more of it can be printed.
    pub fn part(&self, bytes: &[u8]) -> ControlFlow<()> {
        note_lost(self.bytes(bytes))
    }

    /// Prints talk; nothing with `--quiet` or `--json`.
    pub fn talk(&self, text: &str) {
        if !self.quiet && !self.json {
            self.failure(text);
        }
    }

    /// Prints what must always be seen.
    pub fn failure(&self, text: &str) {
        if self.kept.is_none() {
            to_stderr(&self.place.advice(text), self.err_paint);
        }
    }

    /// Prints what failed, in one line.
    pub fn error(&self, error: &Error) {
        self.failure(&words::error(error, &self.place, self.err_paint));
    }

    /// Shows what is done while it takes long.
    pub fn show_progress(&self, context: &Context) -> Option<Showing> {
        let interrupted = Error::interrupted(0);
        let said = words::error(&interrupted, &self.place, self.err_paint);
        progress::show(context, self.err_paint, said, last_words)
    }

    /// Prints a warning that must always be seen.
    pub fn warning(&self, warning: &Warning) {
        self.failure(&words::warning(warning, &self.place, self.err_paint));
    }
}

/// Writes content in pieces to stdout: raw for programs, escaped on a terminal.
pub struct StdoutSink {
    printer: Printer,
    escaper: Escaper,
}

impl StdoutSink {
    pub fn new(printer: Printer) -> Self {
        Self {
            printer,
            escaper: Escaper::default(),
        }
    }

    /// Writes an incomplete UTF-8 sequence that was held back.
    pub fn finish(mut self) {
        self.printer.write(&self.escaper.finish());
    }
}

impl Write for StdoutSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.printer.for_a_person() {
            self.printer.bytes(self.escaper.push(bytes).as_bytes())?;
        } else {
            self.printer.bytes(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Columns and rows of a terminal.
#[cfg(unix)]
pub fn size_of(terminal: &impl std::os::fd::AsFd) -> (usize, usize) {
    known_size(terminal_size::terminal_size_of(terminal))
}

#[cfg(windows)]
pub fn size_of(terminal: &impl std::os::windows::io::AsHandle) -> (usize, usize) {
    known_size(terminal_size::terminal_size_of(terminal))
}

fn known_size(found: Option<(terminal_size::Width, terminal_size::Height)>) -> (usize, usize) {
    found.map_or(USUAL_SIZE, |(width, height)| {
        (width.0.into(), height.0.into())
    })
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let _hidden = progress::hide();
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Writes text unchanged to stdout. A failure does not undo the command; see [`lost`].
pub fn to_stdout(text: &str) {
    progress::note_answer();
    let _ = note_lost(write_out(text.as_bytes()));
}

/// Notes why a result could not be written.
fn note_lost(written: io::Result<()>) -> ControlFlow<()> {
    let Err(cause) = written else {
        return ControlFlow::Continue(());
    };
    if cause.kind() != ErrorKind::BrokenPipe {
        let _ = LOST.set(cause.to_string());
    }
    ControlFlow::Break(())
}

/// Returns why a result could not be written, such as a full disk; a closed pipe does not count.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

static LOST: OnceLock<String> = OnceLock::new();

pub fn to_stderr(text: &str, paint: Paint) {
    let _hidden = progress::hide();
    last_words(text, paint);
}

/// As [`to_stderr`], for a caller that keeps the progress line hidden.
pub fn last_words(text: &str, paint: Paint) {
    let text = harmless(text, paint);
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
