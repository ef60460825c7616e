//! The whole terminal for a while: keys as they are typed, and a screen that is drawn at once. The
//! terminal is as before when this ends, also by a panic.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _, stderr, stdin};
use std::sync::Once;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};

use crate::base::interrupt::{Interrupt, Shield};
use crate::cli::terminal::printer;
use crate::cli::terminal::progress::{self, Hidden};
use crate::view::format::Paint;
use crate::view::terminal::harmless;

/// A key that was typed, or another reason to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// Moves by this number of lines.
    Move(isize),
    First,
    Last,
    Backspace,
    ClearAll,
    Enter,
    Tab,
    Right,
    Leave,
    Interrupt,
    Other,
}

/// Lines that a page key moves by.
const PAGE_LINES: isize = 10;

/// What ended sooner was no pager that somebody closed.
const READING_TIME: Duration = Duration::from_millis(400);

/// Terminal in raw mode with a screen of its own, until dropped.
pub struct FullScreen {
    paint: Paint,
    drawn: Vec<String>,
    keys: Keys,
    _shield: Shield,
    _hidden: Hidden,
}

impl FullScreen {
    /// # Errors
    /// The terminal refuses.
    pub fn open(interrupt: &Interrupt, paint: Paint) -> io::Result<Self> {
        static AT_PANIC: Once = Once::new();
        AT_PANIC.call_once(|| {
            let next = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |what| {
                leave();
                next(what);
            }));
        });
        let screen = Self {
            paint,
            drawn: Vec::new(),
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
        self.drawn.clear();
        enter()
    }

    /// Draws all lines of the screen, unless they are there already.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, lines: Vec<String>) -> io::Result<()> {
        if lines == self.drawn {
            return Ok(());
        }
        let mut out = stderr().lock();
        for (row, line) in lines.iter().enumerate() {
            let row = u16::try_from(row).unwrap_or(u16::MAX);
            queue!(out, MoveTo(0, row))?;
            out.write_all(harmless(line, self.paint).as_bytes())?;
            queue!(out, Clear(ClearType::UntilNewLine))?;
        }
        queue!(out, Clear(ClearType::FromCursorDown))?;
        self.drawn = lines;
        out.flush()
    }

    /// Waits for a key; `None` if none was typed in this time.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn key(&mut self, wait: Duration) -> io::Result<Option<Key>> {
        let event = self.keys.next(wait)?;
        Ok(event.map(key_of))
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
    if crossterm::terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = execute!(stderr(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

fn key_of(event: Event) -> Key {
    let Event::Key(key) = event else {
        return Key::Other;
    };
    if key.kind == KeyEventKind::Release {
        return Key::Other;
    }
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if with_control => Key::Interrupt,
        KeyCode::Char('d') if with_control => Key::Leave,
        KeyCode::Char('u') if with_control => Key::ClearAll,
        KeyCode::Char('h') if with_control => Key::Backspace,
        KeyCode::Char('p' | 'k') if with_control => Key::Move(-1),
        KeyCode::Char('n' | 'j') if with_control => Key::Move(1),
        KeyCode::Char(typed) if !with_control => Key::Char(typed),
        KeyCode::Up => Key::Move(-1),
        KeyCode::Down => Key::Move(1),
        KeyCode::PageUp => Key::Move(-PAGE_LINES),
        KeyCode::PageDown => Key::Move(PAGE_LINES),
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::Tab,
        KeyCode::Esc => Key::Leave,
        _ => Key::Other,
    }
}

/// Columns and rows of the terminal.
pub fn size() -> (usize, usize) {
    printer::size_of(&stderr())
}
