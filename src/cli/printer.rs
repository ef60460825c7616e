//! The only file that prints. Results go to stdout, talk to stderr; a reader that went away is no failure.

use std::io::{IsTerminal, Write};

use crate::cli::args::{Color, GlobalArgs};
use crate::view::format::Paint;

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

    pub fn out_paint(&self) -> Paint {
        self.out_paint
    }

    pub fn err_paint(&self) -> Paint {
        self.err_paint
    }

    pub fn result(&self, text: &str) {
        to_stdout(text);
    }

    /// Talk beside the result; none with `--quiet` or `--json`.
    pub fn talk(&self, text: &str) {
        if !self.quiet && !self.json {
            to_stderr(text);
        }
    }

    /// What must be seen whatever was asked for.
    pub fn failure(&self, text: &str) {
        to_stderr(text);
    }
}

/// Writes to stdout. What was done is done, so nothing depends on whether anybody reads it.
pub fn to_stdout(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

pub fn to_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
