//! The only file that prints. Results go to stdout, talk to stderr; a reader that went away is no failure.
//!
//! What people read loses here what could act on their terminal; only data of the user's own go out as they are.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use crate::cli::global::{Color, GlobalArgs};
use crate::cli::terminal::progress;
use crate::view::format::Paint;
use crate::view::place::placed;
use crate::view::terminal::{Escaper, harmless};

/// What may be said, and in which colours; decided once.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    pub json: bool,
    pub quiet: bool,
    out_paint: Paint,
    err_paint: Paint,
    out_is_terminal: bool,
}

impl Printer {
    pub fn new(global: &GlobalArgs, no_color: bool) -> Self {
        let out_is_terminal = std::io::stdout().is_terminal();
        let coloured = |is_terminal: bool| match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !no_color,
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            out_paint: Paint { enabled: coloured(out_is_terminal) && !global.json },
            err_paint: Paint { enabled: coloured(std::io::stderr().is_terminal()) },
            out_is_terminal,
        }
    }

    /// A person reads the results, not a program.
    pub fn for_a_person(&self) -> bool {
        self.out_is_terminal
    }

    /// A person reads the talk, and has not asked for silence.
    pub fn talks_to_a_person(&self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    pub fn out_paint(&self) -> Paint {
        self.out_paint
    }

    pub fn err_paint(&self) -> Paint {
        self.err_paint
    }

    pub fn result(&self, text: &str) {
        to_stdout(&harmless(text, self.out_paint));
    }

    /// A result that is the user's own data, or a program: as it is, but for a person.
    pub fn data(&self, text: &str) {
        if self.out_is_terminal {
            self.result(text);
        } else {
            to_stdout(text);
        }
    }

    /// A result that may be anything but text.
    ///
    /// # Errors
    /// Nobody reads it any more, or it cannot be written.
    pub fn bytes(&self, bytes: &[u8]) -> std::io::Result<()> {
        let _hidden = progress::hide();
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush())
    }

    /// Talk beside the result; none with `--quiet` or `--json`.
    pub fn talk(&self, text: &str) {
        if !self.quiet && !self.json {
            to_stderr(&placed(text), self.err_paint);
        }
    }

    /// What must be seen whatever was asked for.
    pub fn failure(&self, text: &str) {
        to_stderr(&placed(text), self.err_paint);
    }
}

/// Stdout for content that comes in pieces: raw for programs, harmless on a terminal.
pub struct StdoutSink {
    printer: Printer,
    escaper: Escaper,
}

impl StdoutSink {
    pub fn new(printer: Printer) -> Self {
        Self { printer, escaper: Escaper::default() }
    }

    /// Writes what was held back.
    pub fn finish(mut self) {
        to_stdout(&self.escaper.finish());
    }
}

impl Write for StdoutSink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.printer.for_a_person() {
            self.printer.bytes(self.escaper.push(bytes).as_bytes())?;
        } else {
            self.printer.bytes(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes to stdout as it is. What was done is done, so nothing depends on whether anybody reads it; see [`lost`].
pub fn to_stdout(text: &str) {
    let _hidden = progress::hide();
    let mut out = std::io::stdout().lock();
    if let Err(cause) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && cause.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(cause.to_string());
    }
}

/// Why a result did not reach whoever was to get it, such as a full disk. A reader that went away is no reason.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

static LOST: OnceLock<String> = OnceLock::new();

pub fn to_stderr(text: &str, paint: Paint) {
    let _hidden = progress::hide();
    last_words(text, paint);
}

/// For the caller that has cleared the line of progress away and keeps it so.
pub fn last_words(text: &str, paint: Paint) {
    let _ = std::io::stderr().lock().write_all(harmless(text, paint).as_bytes());
}
