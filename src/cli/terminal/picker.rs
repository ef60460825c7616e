//! Lets a user choose a checkpoint or a prompt from a list, with what going back to it would change
//! beside it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::prelude::{Alignment, Color, Constraint, Frame, Layout, Line, Modifier, Style};
use ratatui::widgets::{Block, Borders, List, ListState, Paragraph};

use crate::base::interrupt::Interrupt;
use crate::base::text::escape;
use crate::cli::terminal::keyboard::FullScreen;
use crate::error::{Code, Error, Result};
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::view::format::Paint;
use crate::view::picker::{PickerChoice, Preview, rows};

/// Screens as wide as this show the changes beside the list, others below it.
const SIDE_BY_SIDE_COLUMNS: u16 = 100;
/// Lines that a page key moves by.
const PAGE_LINES: isize = 10;
/// Interval of checks for a signal, and for a plan that is ready.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The signal that a typed Ctrl-C stands for.
const SIGINT: i32 = 2;

/// Plans a restore of a checkpoint until it is interrupted.
pub type PlanPreview<'p> = dyn Fn(ObjectId, &Interrupt) -> Result<RestorePlan> + Sync + 'p;

/// Shows the lines in which the directory differs from a checkpoint.
pub type ShowLines<'p> = dyn Fn(ObjectId) + 'p;

/// What the user chose.
pub struct PickedItem {
    /// Its place among all choices.
    pub at: usize,
    /// The plan to restore it, if the screen showed it.
    pub seen: Option<RestorePlan>,
}

/// Returns what the user chooses.
///
/// # Errors
/// The user leaves, a signal comes, or the terminal refuses.
pub fn choose(
    question: &str,
    choices: &[PickerChoice],
    interrupt: &Interrupt,
    paint: Paint,
    plan: Option<&PlanPreview<'_>>,
    show: Option<&ShowLines<'_>>,
) -> Result<PickedItem> {
    let mut screen = FullScreen::open(interrupt).map_err(refused)?;
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let mut picker = Picker {
            question,
            choices,
            show,
            paint,
            typed: String::new(),
            at: 0,
            shows_restores: false,
            previews: HashMap::new(),
            computing: None,
            unready: if plan.is_some() {
                Preview::Computing
            } else {
                Preview::Unknown
            },
            receiver,
        };
        let start = |id: ObjectId, stop: Interrupt| {
            let (plan, sender) = (plan?, sender.clone());
            let compute = move || {
                let preview = plan(id, &stop).map_or_else(Preview::Failed, Preview::Plan);
                let _ = sender.send((id, preview));
            };
            thread::Builder::new().spawn_scoped(scope, compute).ok()
        };
        loop {
            if let Some((id, stop)) = picker.next_preview() {
                start(id, stop);
            }
            let end = picker.step(&mut screen, interrupt).transpose();
            if let Some(end) = end {
                picker.stop();
                return end;
            }
        }
    })
}

fn refused(cause: std::io::Error) -> Error {
    Error::io("use", Path::new("the terminal"))(cause)
}

struct Picker<'c> {
    question: &'c str,
    choices: &'c [PickerChoice],
    /// If a pager can be used.
    show: Option<&'c ShowLines<'c>>,
    paint: Paint,
    typed: String,
    /// Index of the selected one among those that match.
    at: usize,
    shows_restores: bool,
    previews: HashMap<ObjectId, Preview>,
    computing: Option<(ObjectId, Interrupt)>,
    /// Shown as long as a preview is not ready.
    unready: Preview,
    receiver: Receiver<(ObjectId, Preview)>,
}

impl<'c> Picker<'c> {
    fn matching(&self) -> Vec<&'c PickerChoice> {
        let is_shown = |choice: &&PickerChoice| {
            (self.shows_restores || !choice.is_restore) && choice.matches(&self.typed)
        };
        self.choices.iter().filter(is_shown).collect()
    }

    fn selected(&self) -> Option<ObjectId> {
        self.matching().get(self.at).map(|choice| choice.id)
    }

    fn chosen(&mut self) -> Option<PickedItem> {
        let chosen = self.matching().get(self.at).copied()?;
        let at = self.choices.iter().position(|c| std::ptr::eq(c, chosen))?;
        let seen = match self.previews.remove(&chosen.id) {
            Some(Preview::Plan(plan)) => Some(plan),
            _ => None,
        };
        Some(PickedItem { at, seen })
    }

    /// Takes what is ready; returns the preview to start next, if none is under way. One that is
    /// not wanted any more is interrupted.
    fn next_preview(&mut self) -> Option<(ObjectId, Interrupt)> {
        while let Ok((id, preview)) = self.receiver.try_recv() {
            self.computing = None;
            if !matches!(&preview, Preview::Failed(error) if error.code == Code::INTERRUPTED) {
                self.previews.insert(id, preview);
            }
        }
        let wanted = self.selected().filter(|id| !self.previews.contains_key(id));
        if let Some((id, stop)) = &self.computing {
            if wanted != Some(*id) {
                stop.set(1);
            }
            return None;
        }
        let next = (wanted?, Interrupt::default());
        self.computing = Some(next.clone());
        Some(next)
    }

    /// Draws, and obeys the next key; returns what was chosen.
    fn step(
        &mut self,
        screen: &mut FullScreen,
        interrupt: &Interrupt,
    ) -> Result<Option<PickedItem>> {
        screen.draw(|frame| self.draw(frame)).map_err(refused)?;
        let key = screen.key(BETWEEN_LOOKS);
        interrupt.check()?;
        let Some(key) = key.map_err(refused)? else {
            return Ok(None);
        };
        if let (KeyCode::Right, Some(show), Some(id)) = (key.code, self.show, self.selected()) {
            screen.aside(|| show(id)).map_err(refused)?;
        }
        self.take(key)
    }

    fn stop(&self) {
        if let Some((_, stop)) = &self.computing {
            stop.set(1);
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let matching = self.matching();
        let one = Constraint::Length(1);
        let [head, body, foot] =
            Layout::vertical([one, Constraint::Min(0), one]).areas(frame.area());
        let is_wide = body.width >= SIDE_BY_SIDE_COLUMNS;
        let (halves, border) = if is_wide {
            (
                Layout::horizontal(Constraint::from_percentages([60, 40])),
                Borders::LEFT,
            )
        } else {
            let above = u16::try_from(matching.len())
                .unwrap_or(u16::MAX)
                .min(body.height / 2);
            let halves = [Constraint::Length(above.max(1)), Constraint::Min(0)];
            (Layout::vertical(halves), Borders::TOP)
        };
        let [list, changes] = halves.areas(body);
        let question = format!("{} {}_", self.question, escape(&self.typed));
        let place = format!("{}/{}", matching.len().min(self.at + 1), matching.len());
        frame.render_widget(
            Line::styled(place, self.faint()).alignment(Alignment::Right),
            head,
        );
        frame.render_widget(Line::styled(question, self.bold()), head);
        let lines = rows(&matching)
            .into_iter()
            .zip(&matching)
            .map(|(row, choice)| {
                let style = if choice.is_restore {
                    self.faint()
                } else {
                    Style::new()
                };
                Line::styled(row, style)
            });
        let shown = List::new(lines)
            .highlight_symbol(">")
            .highlight_style(self.bold());
        let mut state = ListState::default().with_selected(Some(self.at));
        frame.render_stateful_widget(shown, list, &mut state);
        let text: Vec<Line<'_>> = match matching.get(self.at) {
            None => vec!["nothing matches".into()],
            Some(choice) => {
                let preview = self.previews.get(&choice.id).unwrap_or(&self.unready);
                let room = usize::from(changes.height).saturating_sub(5);
                let planned = preview
                    .lines(room)
                    .into_iter()
                    .map(|line| self.painted(line));
                let about = [choice.words.clone().into(), choice.about.clone().into()];
                about.into_iter().chain(planned).collect()
            }
        };
        let block = Block::new().borders(border).border_style(self.faint());
        frame.render_widget(Paragraph::new(text).block(block), changes);
        frame.render_widget(Line::styled(self.keys(), self.faint()), foot);
    }

    fn keys(&self) -> String {
        let has_restores = self.choices.iter().any(|choice| choice.is_restore);
        let [right, tab] = [
            (self.show.is_some(), "   right: lines"),
            (has_restores, "   tab: states saved before restores"),
        ]
        .map(|(is_shown, key)| if is_shown { key } else { "" });
        format!("enter: choose{right}   esc: cancel   type: filter{tab}")
    }

    fn bold(&self) -> Style {
        self.style(Style::new().add_modifier(Modifier::BOLD))
    }

    fn faint(&self) -> Style {
        self.style(Style::new().add_modifier(Modifier::DIM))
    }

    fn style(&self, style: Style) -> Style {
        if self.paint.enabled {
            style
        } else {
            Style::new()
        }
    }

    /// A line of a plan in the colour of its verb.
    fn painted(&self, line: String) -> Line<'static> {
        let verb = line
            .strip_prefix("  ")
            .and_then(|rest| rest.split(' ').next());
        let color = match verb {
            Some("write" | "mode") => Color::Yellow,
            Some("add" | "mkdir") => Color::Green,
            Some("delete" | "rmdir" | "blocked") => Color::Red,
            _ => Color::Reset,
        };
        Line::styled(line, self.style(Style::new().fg(color)))
    }

    /// Obeys a key; an error ends the choice without a checkpoint.
    fn take(&mut self, key: KeyEvent) -> Result<Option<PickedItem>> {
        match (key.code, key.modifiers.contains(KeyModifiers::CONTROL)) {
            (KeyCode::Enter, _) => return Ok(self.chosen()),
            (KeyCode::Esc, _) | (KeyCode::Char('d'), true) => return Err(Error::declined()),
            (KeyCode::Char('c'), true) => return Err(Error::interrupted(SIGINT)),
            (KeyCode::Up, _) | (KeyCode::Char('p' | 'k'), true) => self.move_by(-1),
            (KeyCode::Down, _) | (KeyCode::Char('n' | 'j'), true) => self.move_by(1),
            (KeyCode::PageUp, _) => self.move_by(-PAGE_LINES),
            (KeyCode::PageDown, _) => self.move_by(PAGE_LINES),
            (KeyCode::Home, _) => self.at = 0,
            (KeyCode::End, _) => self.move_by(isize::MAX),
            (KeyCode::Char(typed), false) => self.filter(|text| text.push(typed)),
            (KeyCode::Char('u'), true) => self.filter(String::clear),
            (KeyCode::Backspace, _) | (KeyCode::Char('h'), true) => self.filter(|text| {
                let _ = text.pop();
            }),
            (KeyCode::Tab, _) => {
                let selected = self.selected();
                self.shows_restores = !self.shows_restores;
                let place = self.matching().iter().position(|c| Some(c.id) == selected);
                self.at = place.unwrap_or_default();
            }
            _ => {}
        }
        Ok(None)
    }

    fn move_by(&mut self, lines: isize) {
        let last = self.matching().len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(lines).min(last);
    }

    fn filter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.typed);
        self.at = 0;
    }
}
