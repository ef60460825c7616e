//! Lets a user choose a checkpoint or a prompt from a list, with what going back to it would change
//! beside it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::base::interrupt::Interrupt;
use crate::cli::terminal::keyboard::{self, FullScreen, Key};
use crate::error::{Error, Result};
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::view::format::Paint;
use crate::view::picker::{PickerChoice, PickerFrame, Preview};

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
    /// The plan to restore it, if the screen showed the whole of it.
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
    let mut screen = FullScreen::open(interrupt, paint).map_err(refused)?;
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let mut picker = Picker {
            question,
            choices,
            show,
            shows_whole_plan: false,
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
            let end = picker.step(&mut screen, interrupt, paint).transpose();
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
    shows_whole_plan: bool,
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
            Some(Preview::Plan(plan)) if self.shows_whole_plan => Some(plan),
            _ => None,
        };
        Some(PickedItem { at, seen })
    }

    /// Takes what is ready; returns the preview to start next, if none is under way. One that is
    /// not wanted any more is interrupted.
    fn next_preview(&mut self) -> Option<(ObjectId, Interrupt)> {
        while let Ok((id, preview)) = self.receiver.try_recv() {
            self.computing = None;
            if !matches!(preview, Preview::Failed(Error::Interrupted { .. })) {
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
        paint: Paint,
    ) -> Result<Option<PickedItem>> {
        self.draw(screen, paint)?;
        let key = screen.key(BETWEEN_LOOKS);
        interrupt.check()?;
        let key = key.map_err(refused)?;
        if let (Some(Key::Right), Some(show), Some(id)) = (key, self.show, self.selected()) {
            screen.aside(|| show(id)).map_err(refused)?;
        }
        key.map_or(Ok(None), |key| self.take(key))
    }

    fn stop(&self) {
        if let Some((_, stop)) = &self.computing {
            stop.set(1);
        }
    }

    fn draw(&mut self, screen: &mut FullScreen, paint: Paint) -> Result<()> {
        let matching = self.matching();
        let selected = matching.get(self.at);
        let preview = selected.and_then(|choice| self.previews.get(&choice.id));
        let (columns, rows) = keyboard::size();
        let frame = PickerFrame {
            question: self.question,
            has_lines: self.show.is_some(),
            has_restores: self.choices.iter().any(|choice| choice.is_restore),
            typed: &self.typed,
            choices: &matching,
            at: self.at,
            preview: preview.unwrap_or(&self.unready),
            columns,
            rows,
            paint,
        };
        let (lines, shows_whole_plan) = frame.lines();
        self.shows_whole_plan = shows_whole_plan;
        screen.draw(lines).map_err(refused)
    }

    /// Obeys a key; an error ends the choice without a checkpoint.
    fn take(&mut self, key: Key) -> Result<Option<PickedItem>> {
        let last = self.matching().len().saturating_sub(1);
        match key {
            Key::Enter => return Ok(self.chosen()),
            Key::Leave => return Err(Error::Declined),
            Key::Interrupt => return Err(Error::Interrupted { signal: SIGINT }),
            Key::Move(by) => self.at = self.at.saturating_add_signed(by).min(last),
            Key::First => self.at = 0,
            Key::Last => self.at = last,
            Key::Char(typed) => self.filter(|text| text.push(typed)),
            Key::Backspace => self.filter(|text| {
                let _ = text.pop();
            }),
            Key::ClearAll => self.filter(String::clear),
            Key::Tab => {
                let selected = self.selected();
                self.shows_restores = !self.shows_restores;
                let place = self.matching().iter().position(|c| Some(c.id) == selected);
                self.at = place.unwrap_or_default();
            }
            Key::Right | Key::Other => {}
        }
        Ok(None)
    }

    fn filter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.typed);
        self.at = 0;
    }
}
