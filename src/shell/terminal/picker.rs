//! Lets a user choose a checkpoint or a prompt from a list, with what going back to it would change
//! beside it; on the whole terminal for a while, which is as before when this ends, also by a panic.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, ErrorKind, IsTerminal as _, Stderr, Write as _, stderr, stdin};
use std::path::Path;
use std::sync::Once;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, is_raw_mode_enabled,
};
use ratatui::prelude::{
    Color, Constraint, CrosstermBackend, Frame, Layout, Line, Modifier, Rect, Style, Terminal,
};
use ratatui::widgets::{Block, Borders, List, ListState, Paragraph};
use ratatui::{TerminalOptions, Viewport};

use crate::answer::Tense;
use crate::answer::format::Paint;
use crate::answer::plan;
use crate::answer::table::{aligned, change_words, cut, state_words, width, wrapped};
use crate::answer::words::count_files;
use crate::base::text::escape;
use crate::base::time::{ago, local_minutes};
use crate::base::{Interrupt, Shield};
use crate::error::{Code, Error, Result};
use crate::model::{Checkpoint, ObjectId, PromptNote, RestorePlan};
use crate::ops::{Context, ListOutcome, PromptsOutcome};
use crate::shell::Hidden;
use crate::shell::terminal::printer;
use crate::shell::terminal::progress;

/// Screens as wide as this show the changes beside the list, others below it.
const SIDE_BY_SIDE_COLUMNS: u16 = 100;
/// Lines that a page key moves by.
const PAGE_LINES: isize = 10;
/// Shortest time in which a screen is read: a plan that was whole on it for that long has been seen,
/// and a pager that ended sooner showed nothing.
const READING_TIME: Duration = Duration::from_millis(400);
/// A blank at which no line is broken.
const TIED: &str = "\u{a0}";
/// Interval of checks for a signal, and for a plan that is ready.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The signal that a typed Ctrl-C stands for.
const SIGINT: i32 = 2;
/// Widths of a list from which it also shows ages, and times and sources.
const WITH_AGES_COLUMNS: u16 = 50;
const WITH_TIMES_COLUMNS: u16 = 70;
/// Maximum width of a source in a row.
const SOURCE_COLUMNS: usize = 10;

/// A checkpoint to choose, or the one before a prompt.
pub struct PickerChoice {
    pub id: ObjectId,
    is_safety: bool,
    /// Mark and id, day and time without this year, age, source, and words.
    cells: [String; 5],
    /// Further text about it.
    about: String,
    /// Text that the filter looks at, in lower case.
    searched: String,
}

impl PickerChoice {
    /// The choices of a list, in its order.
    pub fn all(outcome: &ListOutcome, now_ms: i64) -> Vec<Self> {
        let position = outcome.position.as_ref().map(|here| here.id);
        let choices = outcome.checkpoints.iter().map(|checkpoint| {
            let record = &checkpoint.record;
            let words = outcome.stories.get(&checkpoint.id).map_or_else(
                || escape(&record.reason),
                |(story, reason)| state_words(story, reason.as_deref()),
            );
            let about = format!("{}, {}", escape(&record.source), count_files(record.files));
            let is_here = position == Some(checkpoint.id);
            Self::new(checkpoint, is_here, (record.time_ms, now_ms), words, &about)
        });
        choices.collect()
    }

    /// The prompts of a session before which a state is kept, with their places, newest first.
    pub fn prompts(outcome: &PromptsOutcome, now_ms: i64) -> Vec<(u32, Self)> {
        let choices = outcome.prompts.iter().filter_map(|prompt| {
            let (note, before) = (&prompt.note, prompt.before.as_ref()?);
            let words = format!("{}  {}", note.number, line_of(note));
            let mut about = prompt.changes.map(change_words).unwrap_or_default();
            for warning in outcome.also_before(note.number) {
                about.push_str(&format!("; {warning}"));
            }
            let is_here = outcome.position == Some(note.number);
            let choice = Self::new(before, is_here, (note.time_ms, now_ms), words, &about);
            Some((note.number, choice))
        });
        choices.collect()
    }

    fn new(
        of: &Checkpoint,
        is_here: bool,
        (time_ms, now_ms): (i64, i64),
        words: String,
        about: &str,
    ) -> Self {
        let (time, now) = (local_minutes(time_ms), local_minutes(now_ms));
        let this_year = now.get(..5).unwrap_or_default();
        let short_time = time.strip_prefix(this_year).unwrap_or(&time).to_owned();
        let mark = if is_here { "*" } else { " " };
        let is_safety = of.is_safety();
        let source = if is_safety { "" } else { &of.record.source };
        let source = cut(&escape(source), SOURCE_COLUMNS);
        let gap = if about.is_empty() { "" } else { ", " };
        let age = ago(time_ms, now_ms);
        let about = format!("{time}{gap}{about}, {age}");
        Self {
            id: of.id,
            is_safety,
            searched: format!("{words} {about}").to_lowercase(),
            cells: [
                format!("{mark} {}", of.id.short()),
                short_time,
                age,
                source,
                words,
            ],
            about,
        }
    }

    /// Whether each word that was typed occurs in it, or begins its id.
    fn matches(&self, typed: &str) -> bool {
        let typed = typed.to_lowercase();
        let id = self.id.to_hex();
        let mut words = typed.split_whitespace();
        words.all(|word| self.searched.contains(word) || id.starts_with(word))
    }
}

/// The first line of a prompt.
pub fn line_of(prompt: &PromptNote) -> String {
    match prompt.line.as_str() {
        "" => "(not recorded)".to_owned(),
        line => escape(line),
    }
}

/// What the user chose.
pub struct PickedItem {
    /// Its place among all choices.
    pub at: usize,
    /// The plan to restore it, if the screen showed it.
    pub seen: Option<RestorePlan>,
}

/// What is chosen from, and how.
pub struct Picker<'c, P, S> {
    pub question: &'c str,
    pub choices: &'c [PickerChoice],
    pub paint: Paint,
    pub context: &'c Context,
    /// Plans a restore of a checkpoint until it is interrupted.
    pub plan: Option<&'c P>,
    /// Shows in a pager the lines in which the directory differs from a checkpoint.
    pub show: Option<&'c S>,
}

/// The state of the list.
#[derive(Default)]
struct PickerState {
    is_drawn: bool,
    typed: String,
    /// Index of the selected one among those that match.
    at: usize,
    has_safety: bool,
    plans: HashMap<ObjectId, Result<RestorePlan>>,
    computing: Option<(ObjectId, Interrupt)>,
    /// The choice whose whole plan is on the screen, and since when.
    read_since: Cell<Option<(ObjectId, Instant)>>,
}

impl<P, S> Picker<'_, P, S>
where
    P: Fn(ObjectId, &Interrupt) -> Result<RestorePlan> + Sync,
    S: Fn(ObjectId),
{
    /// Returns what the user chooses.
    ///
    /// # Errors
    /// The user leaves, a signal comes, or the terminal refuses.
    pub fn choose(&self, interrupt: &Interrupt) -> Result<PickedItem> {
        let mut screen = FullScreen::open(interrupt).map_err(refused)?;
        let (sender, receiver) = mpsc::channel::<(ObjectId, Result<RestorePlan>)>();
        let mut shown = PickerState::default();
        thread::scope(|scope| {
            loop {
                while let Ok((id, plan)) = receiver.try_recv() {
                    (shown.computing, shown.is_drawn) = (None, false);
                    if !matches!(&plan, Err(error) if error.code == Code::INTERRUPTED) {
                        shown.plans.insert(id, plan);
                    }
                }
                if let (Some(plan), Some((id, stop))) = (self.plan, self.next_plan(&mut shown)) {
                    let sender = sender.clone();
                    let compute = move || drop(sender.send((id, plan(id, &stop))));
                    // Without a thread, no plan is shown.
                    let _ = thread::Builder::new().spawn_scoped(scope, compute);
                }
                if let Some(end) = self.step(&mut shown, &mut screen, interrupt).transpose() {
                    shown.stop();
                    return end;
                }
            }
        })
    }

    fn matching(&self, shown: &PickerState) -> Vec<&PickerChoice> {
        let is_shown = |choice: &&PickerChoice| {
            (shown.has_safety || !choice.is_safety) && choice.matches(&shown.typed)
        };
        self.choices.iter().filter(is_shown).collect()
    }

    fn selected(&self, shown: &PickerState) -> Option<&PickerChoice> {
        self.matching(shown).get(shown.at).copied()
    }

    /// Returns the plan to make next, if none is under way; one that is not wanted any more is
    /// interrupted.
    fn next_plan(&self, shown: &mut PickerState) -> Option<(ObjectId, Interrupt)> {
        let selected = self.selected(shown).map(|choice| choice.id);
        let wanted = selected.filter(|id| !shown.plans.contains_key(id));
        if let Some((id, _)) = &shown.computing {
            if wanted != Some(*id) {
                shown.stop();
            }
            return None;
        }
        shown.computing = Some((wanted?, Interrupt::default()));
        shown.computing.clone()
    }

    /// Draws, and obeys the next key; returns what was chosen.
    fn step(
        &self,
        shown: &mut PickerState,
        screen: &mut FullScreen,
        interrupt: &Interrupt,
    ) -> Result<Option<PickedItem>> {
        let is_new = !std::mem::replace(&mut shown.is_drawn, true);
        let drawn = screen.draw(is_new, |frame| self.draw(shown, frame));
        drawn.map_err(refused)?;
        let key = screen.key(BETWEEN_LOOKS);
        interrupt.check()?;
        let Some(key) = key.map_err(refused)? else {
            return Ok(None);
        };
        shown.is_drawn = false;
        let selected = self.selected(shown).map(|choice| choice.id);
        if let (KeyCode::Right, Some(show), Some(id)) = (key.code, self.show, selected) {
            screen.aside(|| show(id)).map_err(refused)?;
        }
        self.obey(key, shown)
    }

    /// Obeys a key; an error ends the choice without a checkpoint.
    fn obey(&self, key: KeyEvent, shown: &mut PickerState) -> Result<Option<PickedItem>> {
        let selected = self.selected(shown);
        let last = self.matching(shown).len().saturating_sub(1);
        let mut go = |lines: isize| shown.at = shown.at.saturating_add_signed(lines).min(last);
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Enter, _) => {
                let is_it =
                    |choice: &PickerChoice| selected.is_some_and(|one| std::ptr::eq(one, choice));
                let at = self.choices.iter().position(is_it);
                return Ok(at.map(|at| {
                    let id = self.choices[at].id;
                    let is_read = shown
                        .read_since
                        .get()
                        .is_some_and(|(read, since)| read == id && since.elapsed() >= READING_TIME);
                    let plan = shown.plans.remove(&id).and_then(Result::ok);
                    PickedItem {
                        at,
                        seen: plan.filter(|_| is_read),
                    }
                }));
            }
            (KeyCode::Esc, _) | (KeyCode::Char('d'), true) => return Err(Error::declined()),
            (KeyCode::Char('c'), true) => return Err(Error::interrupted(SIGINT)),
            (KeyCode::Up, _) | (KeyCode::Char('p'), true) => go(-1),
            (KeyCode::Down, _) | (KeyCode::Char('n'), true) => go(1),
            (KeyCode::PageUp, _) => go(-PAGE_LINES),
            (KeyCode::PageDown, _) => go(PAGE_LINES),
            (KeyCode::Home, _) => go(isize::MIN),
            (KeyCode::End, _) => go(isize::MAX),
            (KeyCode::Tab, _) => {
                shown.has_safety = !shown.has_safety;
                let is_it = |choice: &&PickerChoice| Some(choice.id) == selected.map(|one| one.id);
                let at = self.matching(shown).iter().position(is_it);
                shown.at = at.unwrap_or_default();
            }
            (code, is_control) => {
                match code {
                    KeyCode::Char(typed) if !is_control => shown.typed.push(typed),
                    KeyCode::Char('u') => shown.typed.clear(),
                    KeyCode::Backspace => drop(shown.typed.pop()),
                    _ => return Ok(None),
                }
                shown.at = 0;
            }
        }
        Ok(None)
    }

    fn draw(&self, shown: &PickerState, frame: &mut Frame<'_>) {
        let (bold, faint) = (self.style(Modifier::BOLD), self.style(Modifier::DIM));
        let matching = self.matching(shown);
        let is_long = self.keys(shown).chars().count() > frame.area().width.into();
        let [one, rows] = [1, 1 + u16::from(is_long)].map(Constraint::Length);
        let [head, body, foot] =
            Layout::vertical([one, Constraint::Min(0), rows]).areas(frame.area());
        let (halves, border) = if body.width >= SIDE_BY_SIDE_COLUMNS {
            let halves = Constraint::from_percentages([60, 40]);
            (Layout::horizontal(halves), Borders::LEFT)
        } else {
            let above = u16::try_from(matching.len()).unwrap_or(u16::MAX);
            let above = Constraint::Length(above.min(body.height / 2).max(1));
            (Layout::vertical([above, Constraint::Min(0)]), Borders::TOP)
        };
        let [list, changes] = halves.areas(body);
        let place = format!("{}/{}", matching.len().min(shown.at + 1), matching.len());
        let typed = format!("{}_", escape(&shown.typed));
        let room = usize::from(head.width).saturating_sub(width(&place) + width(&typed) + 2);
        let question = format!("{} {typed}", cut(self.question, room));
        frame.render_widget(Line::styled(place, faint).right_aligned(), head);
        frame.render_widget(Line::styled(question, bold), head);
        let cells = matching.iter().map(|choice| match &choice.cells {
            [id, .., words] if list.width < WITH_AGES_COLUMNS => vec![id.clone(), words.clone()],
            [id, _, age, _, words] if list.width < WITH_TIMES_COLUMNS => {
                [id, age, words].map(String::clone).to_vec()
            }
            all => all.to_vec(),
        });
        let cells: Vec<_> = cells.collect();
        let rows = aligned(&cells, &[]);
        let rows = rows.lines().zip(&matching).map(|(row, choice)| {
            let style = if choice.is_safety {
                faint
            } else {
                Style::new()
            };
            let room = usize::from(list.width).saturating_sub(1);
            Line::styled(cut(row, room), style)
        });
        let rows = List::new(rows).highlight_symbol(">").highlight_style(bold);
        let mut state = ListState::default().with_selected(Some(shown.at));
        frame.render_stateful_widget(rows, list, &mut state);
        let block = Block::new().borders(border).border_style(faint);
        let room = block.inner(changes);
        let text = match matching.get(shown.at) {
            None => vec!["nothing matches".into()],
            Some(choice) => {
                let about = [&choice.cells[4], &choice.about].into_iter();
                let about = about.flat_map(|text| wrapped(text, room.width.into()));
                let about = about.map(|line| Line::from(line.to_owned()));
                about.chain(self.plan_lines(choice, shown)).collect()
            }
        };
        let is_whole = text.len() <= usize::from(room.height);
        let read = matching.get(shown.at).map(|choice| choice.id);
        let read = read.filter(|id| is_whole && matches!(shown.plans.get(id), Some(Ok(_))));
        if read != shown.read_since.get().map(|(id, _)| id) {
            shown.read_since.set(read.map(|id| (id, Instant::now())));
        }
        frame.render_widget(Paragraph::new(fitted(text, room)).block(block), changes);
        let keys = self.keys(shown);
        let keys = wrapped(&keys, foot.width.into());
        let keys = keys.iter().map(|line| line.trim()).collect::<Vec<_>>();
        let keys = keys.join("\n").replace(TIED, " ");
        frame.render_widget(Paragraph::new(keys).style(faint), foot);
    }

    /// What a restore of a choice would change, one path a line, each in the colour of its change.
    fn plan_lines(&self, choice: &PickerChoice, shown: &PickerState) -> Vec<Line<'static>> {
        let text = match (shown.plans.get(&choice.id), self.plan) {
            (None, None) => String::new(),
            (None, Some(_)) => "looking for changes …".to_owned(),
            (Some(Err(error)), _) => escape(&error.to_string()),
            (Some(Ok(found)), _) => {
                let blocked = found.conflicts.iter();
                let blocked = blocked.map(|(path, _)| self.context.shown(path));
                let blocked = blocked.map(|path| format!("  blocked  {path}\n"));
                let counts = plan::counts(found, &[], Tense::Planned);
                let listed = plan::listing(found, self.context, usize::MAX, Paint::default());
                format!("would {counts}\n{}{listed}", blocked.collect::<String>())
            }
        };
        let lines = text.lines().map(|line| {
            let rest = line.strip_prefix("  ");
            let word = rest.and_then(|rest| rest.split(' ').next());
            let color = match word.filter(|_| self.paint.enabled) {
                Some("modified" | "mode") => Color::Yellow,
                Some("added") => Color::Green,
                Some("deleted" | "blocked") => Color::Red,
                _ => Color::Reset,
            };
            Line::styled(line.to_owned(), color)
        });
        lines.collect()
    }

    /// The keys in one line, to be broken between two of them only; the two that end it come first.
    fn keys(&self, shown: &PickerState) -> String {
        let enter = match shown.read_since.get() {
            Some(_) => "enter: restore",
            None => "enter: choose ",
        };
        let has_safety = self.choices.iter().any(|choice| choice.is_safety);
        let keys = [
            Some(enter),
            Some("esc: cancel"),
            Some("up, down: move"),
            self.show.map(|_| "right: diff"),
            Some("type: filter"),
            has_safety.then_some("tab: safety checkpoints"),
        ];
        let keys = keys.into_iter().flatten().map(|key| key.replace(' ', TIED));
        keys.collect::<Vec<_>>().join("  ")
    }

    fn style(&self, modifier: Modifier) -> Style {
        if self.paint.enabled {
            modifier.into()
        } else {
            Style::new()
        }
    }
}

impl PickerState {
    fn stop(&self) {
        if let Some((_, stop)) = &self.computing {
            stop.set(1);
        }
    }
}

/// Cuts lines to the room for them, and says how many are left out.
fn fitted(mut lines: Vec<Line<'_>>, room: Rect) -> Vec<Line<'_>> {
    let most = usize::from(room.height);
    if lines.len() > most {
        let shown = most.saturating_sub(1);
        let more = format!("… and {} more lines", lines.len() - shown);
        lines.truncate(shown);
        lines.push(more.into());
    }
    let fit =
        |line: Line<'_>| Line::styled(cut(&line.to_string(), usize::from(room.width)), line.style);
    lines.into_iter().map(fit).collect()
}

fn refused(cause: std::io::Error) -> Error {
    Error::io("use", Path::new("the terminal"))(cause)
}

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
            stderr().write_all(b"\r\x1b[K")?;
        }
        self.terminal = terminal()?;
        enter()
    }

    /// Draws what is new, or all anew if the size has changed; ratatui would write something each
    /// time.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, is_new: bool, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let is_resized = self.terminal.get_frame().area() != area();
        if is_resized {
            execute!(stderr(), Clear(ClearType::All))?;
            self.terminal = terminal()?;
        }
        if is_new || is_resized {
            self.terminal.draw(draw)?;
        }
        Ok(())
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

/// Begins with nothing on the screen: not every terminal has another one, and no blank is drawn.
fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stderr(), EnterAlternateScreen, Clear(ClearType::All), Hide)
}

/// Leaves the usual screen as it was, or else a new line at its end.
fn leave() {
    if is_raw_mode_enabled().unwrap_or(false) {
        let end = MoveTo(0, area().height);
        let _ = execute!(stderr(), end, Print("\n"), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}
