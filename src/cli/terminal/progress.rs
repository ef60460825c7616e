//! The line on a terminal that shows how far long work has come. A thread of its own draws it, and it is gone before
//! anything else is printed or asked.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::interrupt::{Interrupt, Shield};
use crate::base::progress::{Figures, Progress, WorkPhase};
use crate::cli::signals;
use crate::error::Error;
use crate::ops::context::Context;
use crate::view::format::Paint;
use crate::view::{progress as progress_view, words};

/// What takes no longer than this is not worth a line.
const PATIENCE: Duration = Duration::from_millis(400);
const BETWEEN_TICKS: Duration = Duration::from_millis(100);
/// So many ticks after a signal the work is known not to look for one by itself.
const TICKS_TO_STOP: u32 = 3;

/// There is one terminal, so there is one line.
static LINE: OnceLock<Mutex<ProgressLine>> = OnceLock::new();

struct ProgressLine {
    progress: Progress,
    interrupt: Interrupt,
    paint: Paint,
    say: fn(&str, Paint),
    drawn: Option<Drawn>,
    /// How many wait for the line to stay away.
    holds: usize,
    quiet_until: Instant,
    /// What was known when the line went away: it comes back for news only.
    last: Option<Figures>,
    ticks_since_signal: u32,
    is_over: bool,
}

/// The line while it stands there.
struct Drawn {
    bar: ProgressBar,
    /// The first figures of this phase, and when they were met.
    first: (Figures, Instant),
    /// While there is a line, a signal must not end the process before it is gone; see [`ProgressLine::obey`].
    _shield: Shield,
}

/// Ends the showing when it goes.
pub struct Showing(());

/// Shows a line from now on, once the work has taken a while, where the terminal can show one. `say` prints to stderr.
pub fn show(context: &Context, paint: Paint, say: fn(&str, Paint)) -> Option<Showing> {
    let wanted = !ProgressDrawTarget::stderr().is_hidden();
    let line = ProgressLine {
        progress: context.progress.clone(),
        interrupt: context.interrupt.clone(),
        paint,
        say,
        drawn: None,
        holds: 0,
        quiet_until: Instant::now(),
        last: None,
        ticks_since_signal: 0,
        is_over: false,
    };
    if !wanted || LINE.set(Mutex::new(line)).is_err() {
        return None;
    }
    clear_at_panic();
    thread::Builder::new().name("progress".into()).spawn(draw_on).ok().map(|_| Showing(()))
}

impl Drop for Showing {
    fn drop(&mut self) {
        if let Some(mut line) = lock() {
            line.is_over = true;
            line.clear();
        }
    }
}

/// Clears the line away, and keeps it away for as long as this lives and a while longer.
#[must_use = "the line comes back when this goes"]
pub struct Hidden(bool);

pub fn hide() -> Hidden {
    let Some(mut line) = lock() else { return Hidden(false) };
    line.clear();
    line.holds += 1;
    Hidden(true)
}

impl Drop for Hidden {
    fn drop(&mut self) {
        if let Some(mut line) = lock().filter(|_| self.0) {
            line.holds -= 1;
            line.quiet_until = Instant::now() + PATIENCE;
        }
    }
}

fn lock() -> Option<MutexGuard<'static, ProgressLine>> {
    LINE.get().map(|line| line.lock().unwrap_or_else(PoisonError::into_inner))
}

fn draw_on() {
    thread::sleep(PATIENCE);
    while let Some(mut line) = lock().filter(|line| !line.is_over) {
        line.tick(Instant::now());
        drop(line);
        thread::sleep(BETWEEN_TICKS);
    }
}

/// What a panic says stands on a line of its own. Whoever holds the lock may be the one that panics.
fn clear_at_panic() {
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |what| {
        if let Some(Ok(mut line)) = LINE.get().map(Mutex::try_lock) {
            line.clear();
        }
        say(what);
    }));
}

impl ProgressLine {
    fn tick(&mut self, now: Instant) {
        if self.holds > 0 {
            return;
        }
        self.obey();
        let figures = self.progress.figures();
        if figures.phase == WorkPhase::Idle {
            self.clear();
        } else if self.drawn.is_some() || (now >= self.quiet_until && self.last != Some(figures)) {
            self.draw(figures, now);
        }
    }

    fn draw(&mut self, figures: Figures, now: Instant) {
        let drawn = self.drawn.get_or_insert_with(|| Drawn {
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style()),
            first: (figures, now),
            _shield: self.interrupt.shield(),
        });
        if !goes_on(drawn.first.0, figures) {
            drawn.first = (figures, now);
        }
        let (first, since) = drawn.first;
        drawn.bar.set_message(progress_view::line(figures, first, now.saturating_duration_since(since)));
        self.last = Some(figures);
    }

    fn clear(&mut self) {
        if let Some(drawn) = self.drawn.take() {
            drawn.bar.finish_and_clear();
            self.last = Some(self.progress.figures());
        }
    }

    /// Where the line alone keeps a signal from ending the process, it does so itself once the line is gone. Work that
    /// looks for signals gets a moment to say so in its own words.
    fn obey(&mut self) {
        let ours = usize::from(self.drawn.is_some());
        let Some(signal) = self.interrupt.check().err().filter(|_| self.interrupt.shields() <= ours) else {
            self.ticks_since_signal = 0;
            return;
        };
        self.ticks_since_signal += 1;
        if self.ticks_since_signal >= TICKS_TO_STOP {
            self.clear();
            (self.say)(&words::error(&Error::Interrupted { signal }, self.paint), self.paint);
            signals::end_by(signal);
        }
    }
}

/// Whether both are of one piece of work.
fn goes_on(first: Figures, now: Figures) -> bool {
    let what = |figures: Figures| (figures.phase, figures.files_in_all, figures.bytes_in_all);
    what(first) == what(now) && first.files <= now.files && first.bytes <= now.bytes
}

/// One line, cut off at the width of the terminal.
fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}
