//! The whole terminal for a while: keys as they are typed, and a screen that is drawn at once. The
//! terminal is as before when this ends, also by a panic.

use std::io::{self, ErrorKind, IsTerminal as _, Stderr, Write as _, stderr, stdin};
use std::sync::Once;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, is_raw_mode_enabled,
};
use ratatui::prelude::{CrosstermBackend, Frame, Rect, Terminal};
use ratatui::{TerminalOptions, Viewport};

use crate::base::interrupt::{Interrupt, Shield};
use crate::shell::terminal::printer;
use crate::shell::terminal::progress::{self, Hidden};

/// What ended sooner was no pager that somebody closed.
const READING_TIME: Duration = Duration::from_millis(400);

/// Terminal in raw mode with a screen of its own, until dropped.
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    keys: Keys,
    _shield: Shield,
    _hidden: Hidden,
}

impl FullScreen {
    /// # Errors
    /// The terminal refuses.
    pub fn open(interrupt: &Interrupt) -> io::Result<Self> {
        static AT_PANIC: Once = Once::new();
        AT_PANIC.call_once(|| {
            let next = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |what| {
                leave();
                next(what);
            }));
        });
        let screen = Self {
            terminal: terminal()?,
            keys: Keys::start()?,
            _shield: interrupt.shield(),
            _hidden: progress::hide(),
        };
        enter()?;
        Ok(screen)
    }

    /// Gives the terminal to something else for a while, and waits for a key where that may have
    /// ended at once.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn aside(&mut self, other: impl FnOnce()) -> io::Result<()> {
        leave();
        let begun = Instant::now();
        other();
        if begun.elapsed() < READING_TIME {
            enable_raw_mode()?;
            stderr().write_all(b"(any key: back)")?;
            while self.key(Duration::from_secs(1))?.is_none() {}
        }
        self.terminal = terminal()?;
        enter()
    }

    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        if self.terminal.get_frame().area() != area() {
            execute!(stderr(), Clear(ClearType::All))?;
            self.terminal = terminal()?;
        }
        self.terminal.draw(draw).map(|_| ())
    }

    /// Waits for a key; `None` if none was typed in this time.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn key(&mut self, wait: Duration) -> io::Result<Option<KeyEvent>> {
        let event = self.keys.next(wait)?;
        Ok(event
            .and_then(|event| event.as_key_event())
            .filter(|key| key.kind != KeyEventKind::Release))
    }
}

/// A thread that reads a key whenever one is wanted. Nothing waits for its end, because crossterm
/// reads on for ever once the terminal is gone.
struct Keys {
    wanted: Sender<()>,
    read: Receiver<io::Result<Event>>,
    is_wanted: bool,
}

impl Keys {
    fn start() -> io::Result<Self> {
        let (wanted, wishes) = mpsc::channel();
        let (sender, read) = mpsc::channel();
        let answer = move || wishes.iter().all(|()| sender.send(event::read()).is_ok());
        thread::Builder::new().spawn(answer)?;
        Ok(Self {
            wanted,
            read,
            is_wanted: false,
        })
    }

    fn next(&mut self, wait: Duration) -> io::Result<Option<Event>> {
        if !std::mem::replace(&mut self.is_wanted, true) {
            // Without the thread, nothing comes back either.
            let _ = self.wanted.send(());
        }
        match self.read.recv_timeout(wait) {
            Ok(event) => {
                self.is_wanted = false;
                event.map(Some)
            }
            Err(RecvTimeoutError::Timeout) if stdin().is_terminal() => Ok(None),
            Err(_) => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave();
    }
}

/// A screen on which nothing is drawn yet.
fn terminal() -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    let viewport = Viewport::Fixed(area());
    Terminal::with_options(
        CrosstermBackend::new(stderr()),
        TerminalOptions { viewport },
    )
}

/// The whole terminal; one that knows no size has the usual one.
fn area() -> Rect {
    let (columns, rows) = printer::size_of(&stderr());
    let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
    Rect::new(0, 0, short(columns), short(rows))
}

/// Forgets what was typed for a screen that is gone, so that it answers no question after it.
pub fn forget_typed() {
    // Without raw mode, a line that has no end yet would stay.
    let _ = enable_raw_mode();
    while event::poll(Duration::ZERO).unwrap_or(false) {
        if event::read().is_err() {
            break;
        }
    }
    let _ = disable_raw_mode();
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stderr(), EnterAlternateScreen, Hide)
}

fn leave() {
    if is_raw_mode_enabled().unwrap_or(false) {
        let _ = execute!(stderr(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
