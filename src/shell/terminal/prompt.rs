//! Questions before a change, for a user at a terminal.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::answer::format::Paint;
use crate::base::Interrupt;
use crate::error::{Error, Result};
use crate::shell::GlobalArgs;
use crate::shell::terminal::{printer, progress};

/// Interval of checks for a signal while waiting for an answer.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Whether questions can be asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    pub is_at_terminal: bool,
    pub may_ask: bool,
    /// Whether the command has `--dry-run`.
    pub can_look: bool,
    pub paint: Paint,
}

impl Prompt {
    pub fn new(global: &GlobalArgs, can_look: bool, paint: Paint) -> Self {
        let is_at_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self {
            is_at_terminal,
            may_ask: is_at_terminal && !global.json && !global.no_input,
            can_look,
            paint,
        }
    }

    /// Asks one question. `what` summarizes what would be done.
    ///
    /// # Errors
    /// The user cannot be asked, a signal came instead, or the answer was not yes.
    pub fn ask(&self, interrupt: &Interrupt, what: &str, question: &str) -> Result<()> {
        if !self.may_ask {
            return Err(Error::consent_needed(what, self.can_look));
        }
        let answer = self.words(interrupt, question)?;
        let yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
        if yes { Ok(()) } else { Err(Error::declined()) }
    }

    /// Asks a user who may be asked for a line of text.
    ///
    /// # Errors
    /// A signal or the end of the input came instead of an answer.
    pub fn words(&self, interrupt: &Interrupt, question: &str) -> Result<String> {
        let _hidden = progress::hide();
        let _shield = interrupt.shield();
        printer::to_stderr(question, self.paint);
        let answer = answer(interrupt).and_then(|line| {
            // Not even a line break: the input has ended.
            let typed = Some(line).filter(|line| !line.is_empty());
            typed.ok_or_else(Error::declined)
        });
        answer.inspect_err(|_| printer::to_stderr("\n", self.paint))
    }
}

/// Returns the next line of standard input, or an empty one on failure. A thread reads, because a
/// signal does not interrupt that.
fn answer(interrupt: &Interrupt) -> Result<String> {
    let (sender, receiver) = mpsc::channel();
    // Without a thread the channel is closed, and the answer is empty.
    let _ = thread::Builder::new().spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        sender.send(read.map(|_| line))
    });
    loop {
        let read = receiver.recv_timeout(BETWEEN_LOOKS);
        interrupt.check()?;
        match read {
            Ok(line) => return Ok(line.unwrap_or_default()),
            Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// How the terminal is set, which a program that fails may leave otherwise.
#[derive(Debug)]
pub struct TerminalSettings(#[cfg(unix)] Option<rustix::termios::Termios>);

impl TerminalSettings {
    #[cfg(unix)]
    pub fn now() -> Self {
        Self(rustix::termios::tcgetattr(std::io::stdin()).ok())
    }

    /// Sets it so again, and forgets what was typed meanwhile. The caller is in the foreground.
    #[cfg(unix)]
    pub fn set(&self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(settings) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, settings);
        }
    }

    #[cfg(not(unix))]
    pub fn now() -> Self {
        Self()
    }

    #[cfg(not(unix))]
    pub fn set(&self) {}
}
