//! Shows long results on a terminal with the user's pager.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::Child;

use crate::base::{Interrupt, Shield};
use crate::shell::terminal::progress;
use crate::shell::{Hidden, Printer, child};

/// Exits silently with 127 if there is no `less`, so that no pager is used.
const DEFAULT_PAGER: &str = "command -v less >/dev/null 2>&1 || exit 127; exec less";
/// Bytes kept to repeat them without a pager; more than a pipe holds, so a pager that read as much
/// has started.
const REPEATABLE_BYTES: usize = 1 << 20;

/// Stdout, possibly through a pager, which is started on the first write.
pub struct PagerOutput {
    printer: Printer,
    interrupt: Interrupt,
    command: Option<OsString>,
    pager: Option<Pager>,
    /// Whether the user has closed the pager.
    is_over: bool,
}

/// A running pager, and the bytes written so far while it may have failed to start.
struct Pager {
    child: Child,
    kept: Option<Vec<u8>>,
    /// Ctrl-C belongs to the pager, which must not be left alone on the terminal.
    _shield: Shield,
    _hidden: Hidden,
}

impl PagerOutput {
    /// Uses a pager only if input and output are a terminal.
    pub fn new(printer: Printer, chosen: Option<&OsStr>, interrupt: &Interrupt) -> Self {
        let for_a_person = printer.can_page() && std::io::stdin().is_terminal();
        let chosen = chosen.unwrap_or_else(|| DEFAULT_PAGER.as_ref());
        let is_one = !chosen.is_empty() && chosen != "cat";
        Self {
            printer,
            interrupt: interrupt.clone(),
            command: (for_a_person && is_one).then(|| chosen.to_owned()),
            pager: None,
            is_over: false,
        }
    }

    /// Writes bytes; breaks if the reader is gone, or what was read last could not be written.
    pub fn write(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        if self.is_over {
            return ControlFlow::Break(());
        }
        if bytes.is_empty() {
            return ControlFlow::Continue(());
        }
        if let Some(command) = self.command.take() {
            self.pager = start(&command, &self.interrupt);
        }
        let Some(pager) = &mut self.pager else {
            return self.printer.part(bytes);
        };
        if pager.write(bytes) {
            return ControlFlow::Continue(());
        }
        if let Some(unseen) = self.pager.take().and_then(Pager::end) {
            return self.printer.part(&[unseen.as_slice(), bytes].concat());
        }
        self.is_over = true;
        ControlFlow::Break(())
    }
}

/// Waits until the user closes the pager, which owns the terminal until then, even after an error.
impl Drop for PagerOutput {
    fn drop(&mut self) {
        if let Some(unseen) = self.pager.take().and_then(Pager::end) {
            let _ = self.printer.part(&unseen);
        }
    }
}

fn start(command: &OsString, interrupt: &Interrupt) -> Option<Pager> {
    let (shield, hidden) = (interrupt.shield(), progress::hide());
    let child = child::reader(command).ok()?;
    Some(Pager {
        child,
        kept: Some(Vec::new()),
        _shield: shield,
        _hidden: hidden,
    })
}

impl Pager {
    fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(stdin) = &mut self.child.stdin else {
            return false;
        };
        if stdin.write_all(bytes).is_err() {
            return false;
        }
        match &mut self.kept {
            Some(kept) if kept.len() + bytes.len() <= REPEATABLE_BYTES => {
                kept.extend_from_slice(bytes);
            }
            kept => *kept = None,
        }
        true
    }

    /// Waits for the end; returns the bytes written if the pager failed, or could not be started.
    fn end(mut self) -> Option<Vec<u8>> {
        drop(self.child.stdin.take());
        let has_failed = !self.child.wait().is_ok_and(|status| status.success());
        self.kept.take().filter(|_| has_failed)
    }
}
